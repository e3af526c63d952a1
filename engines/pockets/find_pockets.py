"""Finds the pockets of a protein and suggests a docking box around each.

Reads request.json ({"maxPockets": 10, "citations": [...]}) and in/structure (PDB, PDBQT or mmCIF, told apart by content); writes
out/pockets.json and out/pockets.csv (every pocket, best first), out/pockets/NN.pdb (the atoms that line pocket NN) and NN.pqr (its
alpha spheres), out/structure-with-pockets.pdb, out/provenance.json and out/result.json. Runs the program fpocket where it is on the
PATH, else the package fpocket-rs. Nothing is ever fetched from the internet.
"""

from __future__ import annotations

import csv
import io
import sys
from importlib import metadata
from typing import Any

import numpy as np

from detect import REIMPLEMENTATION, Found, Pocket, detect
from structure import AuthorPdb, Residue, Structure, read_structure
from task import IN, OUT, Progress, main, python_version, sha256, write_json, write_text

SCHEMA = "molfabric.pockets/v1"
MAX_LISTED = 50  # components and chains in the report

# The suggested box holds the centres of all alpha spheres with this much around them, for the part of a ligand that leaves the
# pocket's core, and is never so small that a drug-sized ligand cannot turn in it.
BOX_MARGIN_ANGSTROM = 5.0
MIN_EDGE_ANGSTROM, MAX_EDGE_ANGSTROM = 15.0, 100.0

CSV_COLUMNS = (
    "rank score druggabilityScore volumeCubicAngstrom centerX centerY centerZ boxCenterX boxCenterY boxCenterZ boxSizeX boxSizeY "
    "boxSizeZ "
    "alphaSphereCount residues atoms alphaSpheres"
).split()


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "reading the structure")
    structure = read_structure(IN / "structure")
    progress(0.1, f"finding pockets among {len(structure.atoms)} atoms", milestone=True)
    found = detect(structure, request["maxPockets"])
    progress(0.9, f"writing {len(found.pockets)} pockets", milestone=True)
    author = AuthorPdb(structure.residues())
    records = [describe(rank, pocket, structure) for rank, pocket in enumerate(found.pockets, start=1)]
    document = {
        "schema": SCHEMA,
        "engine": {key: found.program[key] for key in ("name", "version")},
        "maxPockets": request["maxPockets"],
        "pocketsFound": found.total,
        "structure": describe_structure(structure, author),
        "pockets": records,
        "notes": found.notes + notes(structure, records),
    }
    names = write_outputs(document, found, structure, author)
    programs = versions(found, structure)
    write_provenance(request, document, found, programs, names)
    summary = {key: document[key] for key in ("engine", "pocketsFound", "notes")}
    brief = ("rank", "score", "druggabilityScore", "volumeCubicAngstrom", "centerAngstrom", "dockingBox", "boundComponents")
    summary["pockets"] = [{key: record[key] for key in brief} for record in records]
    return {"summary": summary, "programs": programs}


def describe(rank: int, pocket: Pocket, structure: Structure) -> dict[str, Any]:
    spheres = np.array(pocket.spheres)
    lining = dict.fromkeys(structure.atoms[i].residue for i in pocket.atoms)
    return {
        "rank": rank,
        "score": rounded(pocket.score),
        "druggabilityScore": rounded(pocket.druggability_score),
        "volumeCubicAngstrom": rounded(pocket.volume),
        "centerAngstrom": [rounded(c) for c in spheres[:, :3].mean(0)],
        "descriptors": {name: rounded(value) for name, value in pocket.descriptors.items()},
        "residues": [residue_record(residue) for residue in lining],
        "boundComponents": [residue_record(residue) for residue in components_inside(structure, spheres)],
        "dockingBox": docking_box(spheres),
        "files": {"atoms": f"pockets/{rank:02d}.pdb", "alphaSpheres": f"pockets/{rank:02d}.pqr"},
    }


def rounded(value: float | None) -> float | int | None:
    """Three digits after the point, as fpocket writes; a whole number stays one."""
    if value is None:
        return None
    short = round(float(value), 3)
    return int(short) if short == int(short) else short


def residue_record(residue: Residue) -> dict[str, Any]:
    record: dict[str, Any] = {"chain": residue.chain, "residue": residue.number, "residueName": residue.name}
    if residue.insertion_code:
        record["insertionCode"] = residue.insertion_code
    return record


def components_inside(structure: Structure, spheres: np.ndarray) -> list[Residue]:
    """HETATM components with an atom inside an alpha sphere: what is bound in the pocket."""
    inside: dict[Residue, None] = {}
    for atom in structure.atoms:
        if not atom.polymer and atom.residue not in inside:
            distances = np.linalg.norm(spheres[:, :3] - np.array(atom.position), axis=1)
            if (distances < spheres[:, 3] - 0.1).any():
                inside[atom.residue] = None
    return list(inside)[:MAX_LISTED]


def docking_box(spheres: np.ndarray) -> dict[str, Any]:
    """A box in the members and units of a docking request, around the centres of the alpha spheres."""
    low, high = spheres[:, :3].min(0), spheres[:, :3].max(0)
    wanted = high - low + 2 * BOX_MARGIN_ANGSTROM
    size = np.clip(wanted, MIN_EDGE_ANGSTROM, MAX_EDGE_ANGSTROM)
    return {
        "boxCenterAngstrom": [round(float(c), 3) for c in (low + high) / 2],
        "boxSizeAngstrom": [round(float(s), 3) for s in size],
        "holdsWholePocket": bool((wanted <= MAX_EDGE_ANGSTROM).all()),
    }


def describe_structure(structure: Structure, author: AuthorPdb) -> dict[str, Any]:
    components = dict.fromkeys(atom.residue for atom in structure.atoms if not atom.polymer)
    return {
        "format": structure.format,
        "sha256": sha256((IN / "structure").read_bytes()),
        "atomCount": len(structure.atoms),
        "residueCount": len(structure.residues()),
        "chains": [{"chain": chain, "chainInPdbFiles": letter} for chain, letter in list(author.chains.items())[:MAX_LISTED]],
        "components": [residue_record(residue) for residue in list(components)[:MAX_LISTED]],
        **{key: value for key, value in structure.report.items() if key != "notes"},
    }


def notes(structure: Structure, records: list[dict[str, Any]]) -> list[str]:
    told = list(structure.report["notes"])
    if not records:
        told.append("no pocket was found: nothing in the protein is lined by 15 alpha spheres of 3.4 to 6.2 Å")
    bound = dict.fromkeys(component["residueName"] for record in records for component in record["boundComponents"])
    if bound:
        names = ", ".join(list(bound)[:MAX_LISTED])
        told.append(
            f"bound in the pockets: {names}; they are no part of the walls, but cover surface in the scores, as in fpocket; leave "
            f"them out of the file to score the empty protein"
        )
    return told


# --- files ---


def write_outputs(document: dict[str, Any], found: Found, structure: Structure, author: AuthorPdb) -> list[str]:
    """Writes the result files and returns their names."""
    for record, pocket in zip(document["pockets"], found.pockets):
        write_text(OUT / record["files"]["atoms"], pocket_pdb(record, pocket, structure, author))
        write_text(OUT / record["files"]["alphaSpheres"], pocket_pqr(record, pocket))
    write_text(OUT / "structure-with-pockets.pdb", whole_pdb(document, found, structure, author))
    write_text(OUT / "pockets.csv", csv_text(document["pockets"]))
    write_json(OUT / "pockets.json", document)
    return [
        "pockets.json",
        "pockets.csv",
        "structure-with-pockets.pdb",
        *(name for record in document["pockets"] for name in record["files"].values()),
    ]


def remark(record: dict[str, Any]) -> str:
    return (
        f"REMARK 900 POCKET {record['rank']} SCORE {record['score']} DRUGGABILITY {record['druggabilityScore']} VOLUME "
        f"{record['volumeCubicAngstrom']} A3"
    )


def pocket_pdb(record: dict[str, Any], pocket: Pocket, structure: Structure, author: AuthorPdb) -> str:
    """The atoms that line a pocket, with the serial numbers they have in structure-with-pockets.pdb."""
    lines = [author.line(i + 1, structure.atoms[i]) for i in pocket.atoms]
    return "\n".join([remark(record), *author.remarks(), *lines, "TER", "END"]) + "\n"


def pocket_pqr(record: dict[str, Any], pocket: Pocket) -> str:
    """The alpha spheres of a pocket: no charges, the radius in Å in the last column."""
    lines = [
        f"ATOM  {serial:5d}  C   STP  {record['rank']:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  0.0000 {radius:7.4f}"
        for serial, (x, y, z, radius) in enumerate(pocket.spheres, start=1)
    ]
    return "\n".join([remark(record), *lines, "TER", "END"]) + "\n"


def whole_pdb(document: dict[str, Any], found: Found, structure: Structure, author: AuthorPdb) -> str:
    """The structure with the alpha spheres of the pockets: component STP, the residue number is the rank, the B factor the
    radius."""
    lines = [author.line(serial, atom) for serial, atom in enumerate(structure.atoms, start=1)]
    spheres = [
        f"HETATM{(len(lines) + i) % 100_000:5d}  C   STP  {rank:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00{radius:6.2f}           C  "
        for i, (rank, (x, y, z, radius)) in enumerate(
            ((rank, sphere) for rank, pocket in enumerate(found.pockets, start=1) for sphere in pocket.spheres), start=1
        )
    ]
    return "\n".join([*map(remark, document["pockets"]), *author.remarks(), *lines, "TER", *spheres, "END"]) + "\n"


def csv_text(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for record in records:
        box = record["dockingBox"]
        residues = " ".join(
            f"{r['residueName']}:{r['chain']}:{r['residue']}{r.get('insertionCode', '')}" for r in record["residues"]
        )
        figures = [record[key] for key in ("rank", "score", "druggabilityScore", "volumeCubicAngstrom")]
        figures += (
            record["centerAngstrom"]
            + box["boxCenterAngstrom"]
            + box["boxSizeAngstrom"]
            + [record["descriptors"]["alphaSphereCount"]]
        )
        writer.writerow(["" if value is None else value for value in (*figures, residues, *record["files"].values())])
    return stream.getvalue()


def versions(found: Found, structure: Structure) -> dict[str, str]:
    names = (
        ["numpy"] + (["gemmi"] if structure.format == "mmcif" else []) + (["scipy"] if REIMPLEMENTATION in found.programs else [])
    )
    return {**found.programs, "python": python_version(), **{name: metadata.version(name) for name in names}}


def write_provenance(
    request: dict[str, Any], document: dict[str, Any], found: Found, programs: dict[str, str], names: list[str]
) -> None:
    """What made the results: the program that was chosen and why, versions, digests of what went in and came out, and what to
    cite."""
    write_json(
        OUT / "provenance.json",
        {
            "schema": "molfabric.pockets.provenance/v1",
            "program": found.program,
            "programs": programs,
            "parameters": {
                "maxPockets": request["maxPockets"],
                "boxMarginAngstrom": BOX_MARGIN_ANGSTROM,
                "minEdgeAngstrom": MIN_EDGE_ANGSTROM,
            },
            "inputs": {"structure": {key: document["structure"][key] for key in ("format", "sha256")}},
            "outputs": [{"name": name, "sha256": sha256((OUT / name).read_bytes())} for name in names],
            "citations": request["citations"],
        },
    )


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
