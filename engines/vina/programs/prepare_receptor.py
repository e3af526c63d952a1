"""Prepares a receptor for docking: checks it, protonates it at a pH, writes PDBQT, and finds and checks the box.

Reads request.json and in/receptor (PDB, mmCIF or PDBQT, told apart by content); writes out/receptor.pdbqt, out/receptor.pdb (the
same residues with all hydrogens), out/serials.json (the given file's serial numbers), out/box.json, out/native.json (the native
ligand, where the request names one), out/receptor.json (what was removed, added and found) and out/result.json. A PDB or mmCIF is
cleaned, protonated with PDB2PQR and PROPKA (or left to Meeko) and converted with Meeko; a PDBQT is taken as prepared and only
checked. An earlier preparation in in/prepared* is taken over when it fits. Nothing is ever fetched from the internet.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from box import GIVEN, check_box, find_ligand, note_left_out, place_entries, resolve_box
from components import Prepared, Site, choose_components, component_filter, stays, with_linked
from given_pdbqt import is_pdbqt, read_pdbqt, take_pdbqt
from plans import main
from residues import HYDROGENS, MAX_LISTED, METALS, Numbering, chain_members, choose_alternates, report_chain
from reuse import FILES, hashes_of, identity_of, preparation_of, take_over
from structure import Atom, Residue, Structure, read_structure, unreadable
from task import IN, OUT, Progress, program_versions, sha256, user_error, write_json, write_text

MAX_RECEPTOR_BYTES = 64 << 20
CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\v"))  # in no text

SCHEMA = "molfabric.docking.receptor/v1"
SERIALS_SCHEMA = "molfabric.docking.serials/v1"
FORMATS = {"pdb": "PDB", "mmcif": "mmCIF", "pdbqt": "PDBQT"}
PROGRAMS = ("rdkit", "meeko", "pdb2pqr", "propka", "gemmi")
SUMMARY = (
    "format",
    "atomCount",
    "atomsInBox",
    "protonation",
    "notes",
    "reused",
    "hashes",
    "identity",
    "preparation",
    "site",
    "waters",
)


def read_receptor(path: Path) -> tuple[bytes, str]:
    """The file's bytes, and its text with Unix line ends."""
    if path.stat().st_size > MAX_RECEPTOR_BYTES:
        raise user_error(
            "RECEPTOR_TOO_LARGE", f"The receptor has {path.stat().st_size} bytes; at most {MAX_RECEPTOR_BYTES} are allowed."
        )
    content = path.read_bytes()
    if not content.strip():
        raise unreadable("The receptor's file is empty; give a PDB, mmCIF or PDBQT file with ATOM records.")
    if content[:2] == b"\x1f\x8b" or content[:4] == b"PK\x03\x04":
        raise unreadable("The receptor is a compressed file; upload it uncompressed, as PDB, mmCIF or PDBQT.")
    if len(content.translate(None, CONTROL_BYTES)) != len(content):
        raise unreadable("The receptor is a binary file; it must be PDB, mmCIF or PDBQT text.")
    return content, content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def sniff(text: str) -> str:
    """mmCIF begins with a data block, after comments; PDBQT has charges and AutoDock types."""
    first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
    if first.lower().startswith("data_"):
        return "mmcif"
    return "pdbqt" if is_pdbqt(text) else "pdb"


class Given(NamedTuple):
    """The receptor's selection, and the ligands in it that the request names."""

    structure: Structure
    lines: list[str]  # of a PDBQT's atoms
    pocket: Residue | None
    native: Residue | None
    findings: dict[str, Any]  # for the report


def parse(text: str, found: str, request: dict[str, Any]) -> Given:
    findings: dict[str, Any] = {"notes": []}
    lines: list[str] = []
    if found == "pdbqt":
        structure, lines = read_pdbqt(text, request)
    else:
        structure = read_structure(text, found, request)
        structure = structure._replace(atoms=choose_alternates(structure.atoms, findings))
    findings["notes"] += structure.notes
    box, native = request["box"], request.get("nativeReference")
    pocket = find_ligand(structure, box, "pocketLigand", "POCKET_LIGAND_MISSING")[0] if box["source"] == "pocketLigand" else None
    residue = None
    if native:
        wanted = {**native, "insertionCode": (native.get("insertionCode") or "").strip()}
        residue = find_ligand(structure, wanted, "dockingValidation.nativeReference", "NATIVE_LIGAND_MISSING")[0]
    return Given(structure, lines, pocket, residue, findings)


def to_leave_out(given: Given, preparation: dict[str, Any], notes: list[str]) -> set[Residue]:
    """The named ligands that would stay in the receptor if nothing were done, with what is bonded to them. What is prepared depends
    on them."""
    _, retain = component_filter(preparation)
    found = {given.native} if given.native else set()
    pocket = given.pocket
    if pocket and pocket.name in retain and pocket != given.native:
        notes.append(f"{pocket} stays in the receptor, because retainComponents names it; it fills the box")
    elif pocket:
        found.add(pocket)
    residues = given.structure.residues()
    whole = set[Residue]().union(*(with_linked(residues, residue, notes) for residue in sorted(found)))
    kept = {residue for residue in whole - found if residue.name in retain}
    in_chain = chain_members(residues)
    return {
        residue
        for residue in whole - kept
        if given.structure.format == "pdbqt" or stays(residue, residues[residue], in_chain, preparation)
    }


def prepare(
    given: Given, request: dict[str, Any], leave_out: set[Residue], progress: Progress
) -> tuple[dict[str, str], dict[str, Any]]:
    """Prepares anew: the files by the names that take_over gives them, and the report of the preparation."""
    preparation, structure = request["preparation"], given.structure
    report = {**given.findings, "selection": structure.selected, "leftOutResidues": []}
    document: dict[str, Any]
    if structure.format == "pdbqt":
        pdbqt, pdb, serials = take_pdbqt(structure, given.lines, preparation, leave_out, report)
        document = {"serials": serials, "renamed": {}, "molecules": []}
    else:
        residues = structure.residues()
        report_chain(residues, structure.missing, report)
        prepared, site = choose_components(residues, preparation, leave_out, report)
        numbering = Numbering(prepared.kept)
        report["notes"] += numbering.note()
        pdbqt, pdb, document = hydrogenate_and_convert(prepared, site, numbering, request, progress, report)
        site.report(report)
    document = {"schema": SERIALS_SCHEMA, **document}
    files = {
        "prepared.pdbqt": pdbqt,
        "prepared.pdb": pdb,
        "prepared-serials.json": json.dumps(document, sort_keys=True, ensure_ascii=False) + "\n",
    }
    report |= {key: sha256(files[name].encode()) for name, key in FILES.items()}
    return files, report


def hydrogenate_and_convert(
    prepared: Prepared, site: Site, numbering: Numbering, request: dict[str, Any], progress: Progress, report: dict[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    from conversion import convert  # these import PDB2PQR and Meeko, which a reused preparation does without
    from hydrogens import enforce, fixed_states, free_metal_ligands, protonate
    from pdbtext import line_of

    preparation = request["preparation"]
    states = fixed_states(preparation, prepared.kept, numbering)
    lines = [
        line_of(atom, numbering.working[residue], "MET" if residue.name == "MSE" else residue.name)
        for residue, atoms in prepared.kept.items()
        for atom in atoms
    ]
    progress(0.2, "protonating the receptor")
    if preparation["protonationMethod"] == "meeko":
        report["protonation"] = "by Meeko's residue templates"
    else:
        lines = protonate(lines, states, numbering, prepared, preparation, report)
    progress(0.6, "converting the receptor")
    order = {key: place for place, key in enumerate(numbering.author)}
    metals = [atom.position for atoms in prepared.kept.values() for atom in atoms if atom.element in METALS]
    lines = sorted(enforce(free_metal_ligands(lines, metals), states), key=lambda line: order[line.key])
    components = {name.upper(): value for name, value in (request.get("components") or {}).items()}
    found = convert(lines, prepared, numbering, components, preparation, report)
    for residue, why in found.left_out.items():
        site.without(residue, why)
    gone = {residue: prepared.kept[residue] for residue in found.left_out} | prepared.removed_polymer
    report["leftOutResidues"] = [
        {**residue.record(), "positionsAngstrom": heavy_positions(atoms)} for residue, atoms in list(gone.items())[:MAX_LISTED]
    ]
    return found.pdbqt, found.pdb, found.numbering


def heavy_positions(atoms: list[Atom]) -> list[list[float]]:
    return [[round(c, 3) for c in atom.position] for atom in atoms if atom.element not in HYDROGENS]


def needs_structure(request: dict[str, Any]) -> bool:
    return request["box"]["source"] not in GIVEN or bool(request.get("nativeReference"))


def native_document(given: Given, request: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    from native import extract

    assert given.native is not None
    return extract(given.structure, given.native, given.structure.residues()[given.native], request.get("components") or {}, notes)


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "reading the receptor")
    content, text = read_receptor(IN / "receptor")
    found, declared = sniff(text), request.get("declaredFormat")
    if declared and declared != found:
        raise user_error("RECEPTOR_FORMAT_MISMATCH", f"receptorArtifact.format says {declared}, but the file is {FORMATS[found]}.")
    given = parse(text, found, request) if needs_structure(request) else None
    notes: list[str] = []
    leave_out = to_leave_out(given, request["preparation"], notes) if given else set()
    native = native_document(given, request, notes) if given and given.native else None
    identity = identity_of(content, request)
    preparation = preparation_of(request["preparation"], leave_out, request.get("components") or {})
    hashes = hashes_of(identity, preparation)
    earlier = take_over(request["prepared"], hashes, notes) if request.get("prepared") else None
    box = resolve_box(request["box"], given.structure if given else None)
    if earlier:
        progress(0.6, "taking an earlier preparation over")
        files, report = earlier
    else:
        given = given or parse(text, found, request)
        files, report = prepare(given, request, leave_out, progress)
        report["preparationNotes"] = report.pop("notes")
    figures = check_box(files["prepared.pdbqt"], box)
    note_left_out(report["leftOutResidues"], box)
    report["site"] = place_entries(report.get("site", []), box)
    report = {
        **report,
        **figures,
        "schema": SCHEMA,
        "format": found,
        "pdbId": request.get("pdbId"),
        "inputSha256": identity["inputSha256"],
        "hashes": hashes,
        "identity": identity,
        "preparation": preparation,
        "reused": earlier is not None,
        "notes": report["preparationNotes"] + notes + box["notes"],
        "programs": program_versions([] if found == "pdbqt" else PROGRAMS),
    }
    write_outputs(files, box, native, report)
    summary = {key: report.get(key) for key in SUMMARY}
    summary["box"] = {key: box[key] for key in ("source", "centerAngstrom", "sizeAngstrom", "notes")}
    summary["native"] = native and {key: native[key] for key in ("componentId", "chain", "residue", "smiles")}
    return {"summary": summary, "programs": report["programs"]}


def write_outputs(files: dict[str, str], box: dict[str, Any], native: dict[str, Any] | None, report: dict[str, Any]) -> None:
    write_text(OUT / "receptor.pdbqt", files["prepared.pdbqt"])
    write_text(OUT / "receptor.pdb", files["prepared.pdb"])
    write_text(OUT / "serials.json", files["prepared-serials.json"])
    write_json(OUT / "box.json", box)
    if native:
        write_json(OUT / "native.json", native)
    write_json(OUT / "receptor.json", report)


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
