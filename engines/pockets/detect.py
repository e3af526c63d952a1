"""Finds pockets with fpocket where it is installed, else with its reimplementation fpocket-rs, and gives both one shape."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from structure import Residue, Structure, working_pdb, working_residue
from task import Failure, one_line, sha256

NATIVE = "fpocket"
REIMPLEMENTATION = "fpocket-rs"
INPUT_NAME = "protein"

MAX_POCKETS_READ = 5000  # far more than a structure of structure.MAX_ATOMS has
MAX_OUTPUT_BYTES = 64 << 20  # one file of fpocket
MAX_TOLD_CHARS = 300  # of what fpocket printed, in a failure
BANNER = re.compile(r"fpocket (\d+[0-9A-Za-z.]*)")
# How far from a sphere's radius an atom that defines the sphere may lie, in Å. fpocket-rs gives unrounded numbers.
CONTACT_TOLERANCE = 1e-3


class Pocket(NamedTuple):
    score: float | None
    druggability_score: float | None
    volume: float | None  # Å³
    descriptors: dict[str, float | int | None]
    spheres: list[tuple[float, float, float, float]]  # x, y, z and radius in Å
    atoms: list[int]  # places in the structure of the atoms that the spheres touch, ascending


class Found(NamedTuple):
    pockets: list[Pocket]  # best score first
    total: int  # before they were cut to the number asked for
    programs: dict[str, str]
    program: dict[str, Any]  # for the provenance
    notes: list[str]


def detect(structure: Structure, most: int) -> Found:
    """The best pockets, at most `most` of them."""
    path = shutil.which(NATIVE)
    return with_native(path, structure, most) if path else with_reimplementation(structure, most)


# --- fpocket ---


def native_version(path: str) -> str:
    """The version in the banner, which fpocket prints when it is given nothing to do."""
    printed = run([path], Path.cwd())
    match = BANNER.search(printed)
    if not match:
        raise Failure(
            "EXECUTOR",
            "PROGRAM_UNKNOWN",
            "The program fpocket on this worker does not say its version; install fpocket 4 or remove it.",
        )
    return match[1]


def run(argv: list[str], folder: Path) -> str:
    """What the program printed, both streams together. fpocket says nothing with its exit status that its files do not say."""
    done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout[-MAX_OUTPUT_BYTES:].decode("utf-8", errors="replace")


def with_native(path: str, structure: Structure, most: int) -> Found:
    version = native_version(path)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / f"{INPUT_NAME}.pdb").write_text(working_pdb(structure)[0], encoding="ascii")
        printed = run([path, "-f", f"{INPUT_NAME}.pdb"], folder)
        if "POCKET HUNTING ENDS" not in printed:
            said = one_line(" ".join(line for line in printed.splitlines() if "POCKET HUNTING" not in line), MAX_TOLD_CHARS)
            raise Failure("EXECUTOR", "PROGRAM_FAILED", f"fpocket stopped before it ended{': ' + said if said else ''}.")
        pockets, total = read_native(folder / f"{INPUT_NAME}_out", len(structure.atoms), most)
    program = {
        "name": NATIVE,
        "version": version,
        "sha256": sha256(Path(path).read_bytes()),
        "reason": "the program fpocket is installed",
    }
    return Found(pockets, total, {NATIVE: version}, program, [])


def read_native(folder: Path, atom_count: int, most: int) -> tuple[list[Pocket], int]:
    """The pockets in an output folder of fpocket, and how many there are. fpocket leaves no folder, or a file that says nothing,
    when it finds none."""
    info = folder / f"{INPUT_NAME}_info.txt"
    if not info.exists():
        return [], 0
    blocks = read_info(read_output(info))
    pockets = []
    for rank, figures in enumerate(blocks[:most], start=1):
        spheres = read_spheres(read_output(folder / "pockets" / f"pocket{rank}_vert.pqr"))
        atoms = read_contacts(read_output(folder / "pockets" / f"pocket{rank}_atm.pdb"), atom_count)
        if not spheres or not atoms or len(spheres) != figures.get("Number of Alpha Spheres"):
            raise wrong_output(f"the files of pocket {rank} do not agree with each other")
        pockets.append(
            Pocket(
                figures.get("Score"),
                figures.get("Druggability Score"),
                figures.get("Volume"),
                {ours: figures.get(theirs) for ours, theirs in NATIVE_DESCRIPTORS.items()},
                spheres,
                atoms,
            )
        )
    return pockets, len(blocks)


NATIVE_DESCRIPTORS = {
    "alphaSphereCount": "Number of Alpha Spheres",
    "surfaceSquareAngstrom": "Total SASA",
    "polarSurfaceSquareAngstrom": "Polar SASA",
    "apolarSurfaceSquareAngstrom": "Apolar SASA",
    "meanLocalHydrophobicDensity": "Mean local hydrophobic density",
    "meanAlphaSphereRadiusAngstrom": "Mean alpha sphere radius",
    "apolarAlphaSphereProportion": "Apolar alpha sphere proportion",
    "hydrophobicityScore": "Hydrophobicity score",
    "polarityScore": "Polarity score",
    "chargeScore": "Charge score",
    "alphaSphereDensity": "Alpha sphere density",
}
WHOLE_NUMBERS = frozenset(("alphaSphereCount", "polarityScore", "chargeScore"))


def wrong_output(what: str) -> Failure:
    return Failure("EXECUTOR", "PROGRAM_OUTPUT", f"fpocket's output is wrong: {what}.")


def read_output(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_OUTPUT_BYTES:
            raise wrong_output(f"{path.name} has more than {MAX_OUTPUT_BYTES} bytes")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise wrong_output(f"{path.name} is missing") from None


def read_info(text: str) -> list[dict[str, float | None]]:
    """The figures of each pocket in fpocket's *_info.txt, by the name that stands there."""
    pockets: list[dict[str, float | None]] = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        name = name.strip()
        if not colon or not name:
            continue
        if line.startswith("Pocket "):
            pockets.append({})
            if name != f"Pocket {len(pockets)}" or len(pockets) > MAX_POCKETS_READ:
                raise wrong_output("the pockets in its summary are not numbered one after the other")
        elif pockets:
            pockets[-1][name] = finite(value.strip())
    return pockets


def finite(value: Any) -> float | None:
    """A finite number, or None: fpocket writes nan where it divides by nothing."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def read_spheres(text: str) -> list[tuple[float, float, float, float]]:
    """The alpha spheres in a pocketN_vert.pqr."""
    spheres = []
    for line in text.splitlines():
        if line.startswith("ATOM"):
            sphere = tuple(finite(line[start:end]) for start, end in ((30, 38), (38, 46), (46, 54), (62, 71)))
            if None in sphere:
                raise wrong_output("an alpha sphere has no position or radius")
            spheres.append(sphere)
    return spheres  # type: ignore[return-value]


def read_contacts(text: str, atom_count: int) -> list[int]:
    """The places of the atoms in a pocketN_atm.pdb; their serial numbers are ours."""
    serials = set()
    for line in text.splitlines():
        if line.startswith(("ATOM", "HETATM")):
            serial = line[6:11].strip()
            if not serial.isdigit() or not 1 <= int(serial) <= atom_count:
                raise wrong_output("a pocket touches an atom that the structure does not have")
            serials.add(int(serial) - 1)
    return sorted(serials)


# --- fpocket-rs ---


def with_reimplementation(structure: Structure, most: int) -> Found:
    try:
        import fpocket_rs
    except ImportError as error:
        raise Failure(
            "EXECUTOR",
            "PROGRAM_MISSING",
            "Neither the program fpocket nor the Python package fpocket-rs is installed on this worker; install "
            "engines/fpocket/requirements.lock into its scientific Python.",
        ) from error
    from importlib import metadata

    from surface import rescore

    text, _ = working_pdb(structure)
    try:
        found = fpocket_rs.detect_pockets(text)["pockets"]
    except BaseException as error:  # a Rust panic is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        raise Failure("EXECUTOR", "PROGRAM_FAILED", f"fpocket-rs failed: {one_line(str(error), MAX_TOLD_CHARS)}.") from error
    residues, atoms_of = structure.residues(), structure.atoms_by_residue()
    raw = [{**pocket, "atoms": contacts(structure, pocket, residues, atoms_of)} for pocket in found]
    pockets = [
        Pocket(
            finite(pocket["score"]),
            finite(pocket["drug_score"]),
            finite(pocket["volume"]),
            {ours: finite(pocket.get(theirs)) for ours, theirs in REIMPLEMENTED_DESCRIPTORS.items()},
            sorted(tuple(sphere) for sphere in pocket["alpha_spheres"]),
            pocket["atoms"],
        )
        for pocket in rescore(structure, raw)
    ]
    version = metadata.version(REIMPLEMENTATION)
    program = {
        "name": REIMPLEMENTATION,
        "version": version,
        "reason": "the program fpocket is not installed; fpocket-rs is its reimplementation",
    }
    notes = ["found by fpocket-rs, a reimplementation of fpocket; surfaces and scores are computed anew by fpocket's definition"]
    return Found(pockets[:most], len(pockets), {REIMPLEMENTATION: version}, program, notes)


REIMPLEMENTED_DESCRIPTORS = {
    "alphaSphereCount": "n_alpha_spheres",
    "surfaceSquareAngstrom": "total_sasa",
    "polarSurfaceSquareAngstrom": "polar_sasa",
    "apolarSurfaceSquareAngstrom": "apolar_sasa",
    "meanLocalHydrophobicDensity": "mean_local_hydrophobic_density",
    "meanAlphaSphereRadiusAngstrom": "mean_alpha_radius",
    "apolarAlphaSphereProportion": "apolar_alpha_sphere_proportion",
    "hydrophobicityScore": "hydrophobicity_score",
    "polarityScore": "polarity_score",
    "chargeScore": "charge_score",
    "alphaSphereDensity": "alpha_sphere_density",
}


def contacts(
    structure: Structure, pocket: dict[str, Any], residues: list[Residue], atoms_of: dict[Residue, list[int]]
) -> list[int]:
    """The places of the atoms that a pocket's spheres touch. fpocket-rs names only their residues."""
    lining = {residues[working_residue(chain, number)] for chain, number in pocket["residues"]}
    return sorted(
        i
        for residue in lining
        for i in atoms_of[residue]
        if any(
            abs(math.dist(structure.atoms[i].position, sphere[:3]) - sphere[3]) < CONTACT_TOLERANCE
            for sphere in pocket["alpha_spheres"]
        )
    )
