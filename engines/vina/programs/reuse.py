"""Says what a preparation depends on, as hashes, and takes an earlier one over where they are the same.

Everything here is cheap: a reused preparation imports neither PDB2PQR nor Meeko.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from structure import Residue
from task import IN, digest, read_json, sha256, user_error

PACKAGES = ("rdkit", "meeko", "pdb2pqr", "propka", "gemmi", "numpy", "molscrub")
# The programs whose text decides what a prepared receptor looks like.
SOURCES = (
    "components.json",
    "components.py",
    "conversion.py",
    "given_pdbqt.py",
    "hydrogens.py",
    "molecule.py",
    "pdbqt.py",
    "pdbtext.py",
    "poses.py",
    "prepare_receptor.py",
    "protonation.py",
    "residues.py",
    "rigid.py",
    "structure.py",
    "task.py",
)
# The files of a preparation: in/ when it is taken over, and where their digests stand in its report.
FILES = {"prepared.pdbqt": "preparedSha256", "prepared.pdb": "preparedPdbSha256", "prepared-serials.json": "serialsSha256"}
HASHES = ("receptorIdentitySha256", "preparationSha256", "toolchainSha256")
MAX_PREPARED_BYTES = 64 << 20


def number(value: float) -> float | int:
    """7 and 7.0 are one number and get one spelling."""
    return int(value) if float(value).is_integer() else value


def identity_of(content: bytes, request: dict[str, Any]) -> dict[str, Any]:
    chains = request.get("chains")
    return {
        "inputSha256": sha256(content),
        "assemblyId": request.get("assemblyId"),
        "model": request.get("model"),
        "chains": None if chains is None else sorted(set(chains)),
    }


def preparation_of(preparation: dict[str, Any], leave_out: set[Residue], components: dict[str, Any]) -> dict[str, Any]:
    """The preparation as it is used. leaveOut is there only when a residue goes that would otherwise stay, componentSmiles only
    when a retained component has a definition."""
    fixed = [
        {
            "chain": f["chain"],
            "residue": f["residue"],
            "insertionCode": (f.get("insertionCode") or "").strip(),
            "residueName": f["residueName"],
            "state": f["state"],
        }
        for f in preparation.get("fixedProtonationStates", [])
    ]
    used: dict[str, Any] = {
        "protonationPh": number(preparation["protonationPh"]),
        "addHydrogens": preparation.get("addHydrogens", True),
        "protonationMethod": preparation["protonationMethod"],
        "forceField": preparation["forceField"],
        "fixedProtonationStates": sorted(fixed, key=lambda f: (f["chain"], f["residue"], f["insertionCode"])),
        "removeComponents": sorted({name.upper() for name in preparation.get("removeComponents", [])}),
        "retainComponents": sorted({name.upper() for name in preparation.get("retainComponents", [])}),
        "waters": preparation.get("waters", "none"),
    }
    definitions = {name.upper(): value.get("smiles") for name, value in components.items()}
    smiles = {name: definitions[name] for name in used["retainComponents"] if definitions.get(name)}
    if smiles:
        used["componentSmiles"] = smiles
    if leave_out:
        used["leaveOut"] = [residue.record() for residue in sorted(leave_out)]
    return used


def toolchain() -> dict[str, str]:
    folder = Path(__file__).resolve().parent
    sources = {name: sha256((folder / name).read_bytes()) for name in SOURCES}
    return {name: metadata.version(name) for name in PACKAGES} | sources


def hashes_of(identity: dict[str, Any], preparation: dict[str, Any]) -> dict[str, str]:
    found = dict(zip(HASHES, (digest(identity), digest(preparation), digest(toolchain()))))
    return {**found, "cacheKey": sha256("".join(found[name] for name in HASHES).encode())}


def take_over(prepared: dict[str, Any], hashes: dict[str, str], notes: list[str]) -> tuple[dict[str, str], dict[str, Any]] | None:
    """The earlier preparation's files by name, and its report; None when it does not fit. Raises a failure when it must fit."""
    differs = [name for name in HASHES if prepared.get(name) != hashes[name]]
    files, report = {}, {}
    if not differs:
        differs, files, report = read_prepared(hashes)
    if not differs:
        return files, report
    what = ", ".join(differs)
    if prepared.get("required"):
        raise user_error(
            "PREPARED_RECEPTOR_STALE",
            f"dockingExecution.preparedReceptor cannot be used: its {what} differs from this request's or this installation's. "
            f"Leave preparedReceptor out to prepare the receptor anew.",
        )
    notes.append(f"an earlier preparation was not used: its {what} differs")
    return None


def read_prepared(hashes: dict[str, str]) -> tuple[list[str], dict[str, str], dict[str, Any]]:
    """What of the files in in/ does not fit, the files, and their report."""
    try:
        if any((IN / name).stat().st_size > MAX_PREPARED_BYTES for name in (*FILES, "prepared.json")):
            return ["size"], {}, {}
        report = read_json(IN / "prepared.json")
        contents = {name: (IN / name).read_bytes() for name in FILES}
        differs = [key for name, key in FILES.items() if sha256(contents[name]) != report[key]]
        differs += [name for name in HASHES if report["hashes"][name] != hashes[name]]
        return differs, {name: content.decode() for name, content in contents.items()}, report
    except (OSError, ValueError, KeyError, TypeError):
        return ["set of files"], {}, {}
