"""Finds the docking box: given, around a ligand of the structure, around residues, or around the best pocket that fpocket finds."""

from __future__ import annotations

import math
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from components import class_of
from pdbqt import MAX_COORDINATE, is_atom, pdbqt_atom
from pdbtext import Line, text_of
from residues import HYDROGENS, MAX_WORKING_NUMBER, WATERS, is_polymer
from structure import CHAIN_LETTERS, Atom, Residue, Structure, named
from task import Failure, one_line, read_json, user_error, write_json

SCHEMA = "molfabric.docking.box/v1"
LIGAND_MARGIN_ANGSTROM = 5.0  # on each side, so that a ligand of the same size can turn
RESIDUE_MARGIN_ANGSTROM = 4.0  # the residues themselves line the pocket
MIN_EDGE_ANGSTROM, MAX_EDGE_ANGSTROM = 15.0, 40.0  # of a box whose size is not given
GIVEN = ("explicit", "ligandFile")  # sources whose box comes with its numbers
CONTACT_ANGSTROM = 4.0  # a box farther than this from every atom touches nothing
NEAR_BOX_ANGSTROM = 8.0  # Vina's interaction cutoff: a residue closer than this to the box takes part in the docking
LARGE_BOX_CUBIC_ANGSTROM = 27_000.0  # above this Vina's manual advises more exhaustiveness
SMALL_EDGE_ANGSTROM = 10.0  # a drug has about this length

# The engine fpocket's programs lie beside these ones where a deployment has them.
FIND_POCKETS = Path(__file__).resolve().parent / "fpocket" / "find_pockets.py"
POCKET_CPU_SECONDS = 600  # 1UYD takes 1 s
MAX_POCKETS = 20  # that are looked at, the best by fpocket's own score
DRUGGABLE_SCORE = 0.5  # of 1: Schmidtke and Barril 2010 (doi:10.1021/jm100574m) take pockets above it for druggable


class Place(NamedTuple):
    """Where the box is to be, before its size is settled."""

    low: list[float]
    high: list[float]
    detail: dict[str, Any]
    notes: list[str]


def ligands_in(structure: Structure) -> list[Residue]:
    """What is neither water nor a part of a chain."""
    return [r for r in structure.residues() if r.name not in WATERS and not is_polymer(r.name)]


def find_ligand(structure: Structure, wanted: dict[str, Any], field: str, code: str) -> tuple[Residue, list[Residue]]:
    """The first residue by chain and number that is meant, and all of them. Raises a failure that lists the ligands there are."""
    name = wanted["componentId"].upper()
    found = sorted(
        residue
        for residue in structure.residues()
        if residue.name == name
        and wanted.get("chain") in (None, residue.chain)
        and wanted.get("residue") in (None, residue.number)
        and wanted.get("insertionCode") in (None, residue.insertion_code)
    )
    if not found:
        where = "".join(
            f", {text} {one_line(str(wanted[key]), 16)}"
            for key, text in (("chain", "chain"), ("residue", "residue"), ("insertionCode", "insertion code"))
            if wanted.get(key) is not None
        )
        there = named(sorted(ligands_in(structure), key=lambda r: (r.chain, r.number)))
        raise user_error(code, f"{field} names {one_line(name, 8)}{where}, which the receptor does not have; its ligands: {there}.")
    return found[0], found


def place_of(request: dict[str, Any], structure: Structure) -> Place:
    """The extent of what the box is to hold, with its margin."""
    source = request["source"]
    if source == "pocketLigand":
        residue, found = find_ligand(structure, request, "pocketLigand", "POCKET_LIGAND_MISSING")
        notes = [f"{len(found)} places hold {residue.name}; the box lies around {residue}"] if len(found) > 1 else []
        return around(structure.residues()[residue], LIGAND_MARGIN_ANGSTROM, {**residue.record(), "places": len(found)}, notes)
    if source == "pocketResidues":
        atoms, records = pocket_residues(structure, request["residues"])
        return around(atoms, RESIDUE_MARGIN_ANGSTROM, {"residues": records}, [])
    if source == "fpocket":
        return best_pocket(structure)
    raise Failure("EXECUTOR", "BOX_SOURCE", f"The box's source {one_line(str(source), 20)} is unknown.")


def around(atoms: list[Atom], margin: float, detail: dict[str, Any], notes: list[str]) -> Place:
    positions = [atom.position for atom in atoms if atom.element not in HYDROGENS] or [atom.position for atom in atoms]
    low = [min(p[i] for p in positions) - margin for i in range(3)]
    high = [max(p[i] for p in positions) + margin for i in range(3)]
    return Place(low, high, {**detail, "marginAngstrom": margin}, notes)


def pocket_residues(structure: Structure, wanted: list[dict[str, Any]]) -> tuple[list[Atom], list[dict[str, Any]]]:
    present: dict[tuple[str, int, str], list[Atom]] = {}
    for atom in structure.atoms:
        if atom.residue.name not in WATERS:
            present.setdefault(atom.residue[:3], []).append(atom)
    atoms: list[Atom] = []
    missing, records = [], []
    for item in wanted:
        key = (item["chain"], item["residue"], (item.get("insertionCode") or "").strip())
        if key in present:
            atoms += present[key]
            records.append(present[key][0].residue.record())
        else:
            missing.append(f"{key[1]}{key[2]} of chain {key[0]}")
    if missing:
        chains = dict.fromkeys(atom.residue.chain for atom in structure.atoms)
        raise user_error(
            "POCKET_RESIDUE_MISSING",
            f"pocketResidues names {named(missing)}, which the receptor does not have; its chains: {named(chains)}.",
        )
    return atoms, records


def best_pocket(structure: Structure) -> Place:
    """The most druggable pocket that the engine fpocket finds in the structure's chains with their cofactors and metals."""
    if not FIND_POCKETS.exists():
        raise no_pocket("this worker has no pocket finder")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "in").mkdir()
        (folder / "in" / "structure").write_text(pocket_pdb(structure), encoding="ascii")
        write_json(folder / "request.json", {"maxPockets": MAX_POCKETS, "citations": []})
        try:
            done = subprocess.run(
                [sys.executable, "-B", str(FIND_POCKETS)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                preexec_fn=bound_cpu,
                check=False,
            )
        except OSError as error:
            raise no_pocket(f"the pocket finder cannot be run ({one_line(str(error), 100)})") from None
        if done.returncode == -signal.SIGXCPU:
            raise no_pocket(f"the pocket finder took more than {POCKET_CPU_SECONDS} s of a processor")
        if done.returncode != 0:
            failure = folder / "out" / "failure.json"
            said = read_json(failure)["message"] if failure.exists() else done.stderr[-300:].decode("utf-8", "replace")
            raise no_pocket(f"the pocket finder failed ({one_line(said, 300)})")
        document = read_json(folder / "out" / "pockets.json")
    if not document["pockets"]:
        raise no_pocket("the pocket finder found no pocket")
    pocket = max(document["pockets"], key=lambda pocket: (pocket["druggabilityScore"] or 0.0, -pocket["rank"]))
    box, engine = pocket["dockingBox"], document["engine"]
    center, size = box["boxCenterAngstrom"], box["boxSizeAngstrom"]
    detail = {
        "program": engine["name"],
        "programVersion": engine["version"],
        "rank": pocket["rank"],
        "marginAngstrom": LIGAND_MARGIN_ANGSTROM,
    }
    detail |= {key: pocket[key] for key in ("score", "druggabilityScore", "volumeCubicAngstrom")}
    low, high = ([c + sign * s / 2 for c, s in zip(center, size)] for sign in (-1, 1))
    druggability = pocket["druggabilityScore"] or 0.0
    notes = [
        f"the box lies around the most druggable of the {len(document['pockets'])} best pockets that {engine['name']} "
        f"{engine['version']} found, its score {druggability:.2f}"
    ]
    if druggability < DRUGGABLE_SCORE:
        notes.append(
            f"no pocket looks druggable (the best has {druggability:.2f} of 1; {DRUGGABLE_SCORE:g} is the usual bound): name the "
            f"site by a ligand, by residues or by a box"
        )
    return Place(low, high, detail, notes)


def bound_cpu() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (POCKET_CPU_SECONDS, POCKET_CPU_SECONDS + 5))


def no_pocket(why: str) -> Failure:
    return user_error(
        "POCKET_NOT_FOUND",
        f"No box is given and {why}; give boxCenterAngstrom and boxSizeAngstrom, pocketLigand, or pocketResidues.",
    )


def pocket_pdb(structure: Structure) -> str:
    """The heavy atoms of chains, cofactors and metals, residues numbered anew: the pocket finder need not know the author's ids."""
    lines, place = [], {}  # type: ignore[var-annotated]
    for atom in structure.atoms:
        name = atom.residue.name
        if atom.element in HYDROGENS or not (is_polymer(name) or class_of(name) in ("cofactor", "metal", "modified")):
            continue
        letter, number = divmod(place.setdefault(atom.residue, len(place)), MAX_WORKING_NUMBER)
        if letter >= len(CHAIN_LETTERS):
            raise user_error(
                "RECEPTOR_TOO_LARGE", "The receptor has too many residues for the pocket finder; choose chains with receptorChains."
            )
        lines.append(Line(atom.name, atom.element, name, CHAIN_LETTERS[letter], number + 1, "", atom.position))
    return text_of(lines).encode("ascii", "replace").decode()


def resolve_box(request: dict[str, Any], structure: Structure | None) -> dict[str, Any]:
    """The box's document (schema above). structure is needed for every source but those that are GIVEN."""
    chosen = request.get("notes", [])
    if request["source"] in GIVEN:
        return document_of(request["source"], request["centerAngstrom"], request["sizeAngstrom"], {}, list(chosen))
    assert structure is not None
    place = place_of(request, structure)
    center = [(low + high) / 2 for low, high in zip(place.low, place.high)]
    wanted = [high - low for low, high in zip(place.low, place.high)]
    size, notes = request.get("sizeAngstrom"), [*chosen, *place.notes]
    if size is None:
        size = [min(max(edge, MIN_EDGE_ANGSTROM), MAX_EDGE_ANGSTROM) for edge in wanted]
        if max(wanted) > MAX_EDGE_ANGSTROM:
            notes = [
                *notes,
                f"the box would be {max(wanted):.1f} Å long and is cut to {MAX_EDGE_ANGSTROM:g} Å; give boxSizeAngstrom for a "
                f"larger one",
            ]
    return document_of(request["source"], center, size, place.detail, notes)


def document_of(source: str, center: list[float], size: list[float], detail: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    center, size = [round(float(c), 3) for c in center], [round(float(s), 3) for s in size]
    if not all(math.isfinite(c) and abs(c) <= MAX_COORDINATE for c in center) or not all(0 < s <= MAX_COORDINATE for s in size):
        raise user_error("BOX_INVALID", "The box's centre or size is not a usable number of Å.")
    return {"schema": SCHEMA, "source": source, "centerAngstrom": center, "sizeAngstrom": size, "detail": detail, "notes": notes}


def distance_to_box(position: tuple[float, float, float], box: dict[str, Any]) -> float:
    """Distance in Å from a point to the nearest point of the box; 0 inside."""
    outside = (max(abs(p - c) - s / 2, 0.0) for p, c, s in zip(position, box["centerAngstrom"], box["sizeAngstrom"]))
    return math.sqrt(sum(d * d for d in outside))


def check_box(pdbqt: str, box: dict[str, Any]) -> dict[str, Any]:
    """Figures of the receptor and the box. Raises a failure when nothing could bind; adds notes to the box."""
    positions = [(a.x, a.y, a.z) for a in map(pdbqt_atom, filter(is_atom, pdbqt.splitlines()))]
    if not positions:
        raise user_error("RECEPTOR_EMPTY", "Nothing of the receptor is left after its preparation.")
    low = [min(p[i] for p in positions) for i in range(3)]
    high = [max(p[i] for p in positions) for i in range(3)]
    distances = [distance_to_box(p, box) for p in positions]
    nearest = min(distances)
    if nearest > CONTACT_ANGSTROM:
        field = {"explicit": "boxCenterAngstrom", "ligandFile": "boxLigandArtifact"}.get(box["source"], box["source"])
        extent = ", ".join(f"{axis} {a:.1f} to {b:.1f}" for axis, a, b in zip("xyz", low, high))
        raise user_error(
            "BOX_OUTSIDE_RECEPTOR",
            f"{field}: the box lies {nearest:.1f} Å from the nearest receptor atom, so nothing could bind; the receptor spans "
            f"{extent} Å.",
        )
    if math.prod(box["sizeAngstrom"]) > LARGE_BOX_CUBIC_ANGSTROM:
        box["notes"].append("the box is larger than 27,000 Å³; raise exhaustiveness or narrow it for a reliable search")
    if min(box["sizeAngstrom"]) < SMALL_EDGE_ANGSTROM:
        box["notes"].append(
            f"the box's shortest edge is {min(box['sizeAngstrom']):g} Å; a drug-sized ligand needs about 15 Å to turn"
        )
    return {"atomCount": len(positions), "extentAngstrom": {"low": low, "high": high}, "atomsInBox": sum(d == 0 for d in distances)}


def note_left_out(records: list[dict[str, Any]], box: dict[str, Any]) -> None:
    """Says which residues that are not in the prepared receptor would take part in the docking."""
    for record in records:
        if nearest(record["positionsAngstrom"], box) <= NEAR_BOX_ANGSTROM:
            label = f"{record['residueName']} {record['residue']}{record['insertionCode']} of chain {record['chain'] or '(blank)'}"
            box["notes"].append(f"{label} lies in or near the box and is not in the prepared receptor")


def nearest(positions: list[list[float]], box: dict[str, Any]) -> float:
    return min((distance_to_box(tuple(p), box) for p in positions), default=math.inf)


def place_entries(entries: list[dict[str, Any]], box: dict[str, Any]) -> list[dict[str, Any]]:
    """The components of the structure with their distance from the box in Å, the nearest first; 0 is inside."""
    placed = [{**entry, "distanceToBoxAngstrom": round(nearest(entry["positionsAngstrom"], box), 1)} for entry in entries]
    return sorted(placed, key=lambda entry: entry["distanceToBoxAngstrom"])
