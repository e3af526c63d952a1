"""Prepares a receptor for docking: checks it, protonates it at a pH, writes PDBQT, and checks the box against it.

Reads request.json and in/receptor (PDB or PDBQT, told apart by content), writes out/receptor.pdbqt, out/receptor.json (what
was removed, added and found) and out/result.json. A PDB is cleaned, protonated with PDB2PQR and PROPKA (or left to Meeko) and
converted with Meeko; a PDBQT is taken as prepared and only checked. Nothing is ever fetched from the internet.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from common import (
    IN, MAX_COORDINATE, OUT, RECEPTOR_TYPES, Failure, Progress, is_atom, main, one_line, pdbqt_atom, program_versions, sha256,
    user_error, write_json, write_text,
)

MAX_RECEPTOR_BYTES = 64 << 20
MAX_ATOMS = 100_000  # the PDB format's five-digit serial number
MAX_LISTED = 50  # of removed or repaired things, in the report
CONTACT_ANGSTROM = 4.0  # a box farther than this from every atom touches nothing
NEAR_BOX_ANGSTROM = 8.0  # Vina's interaction cutoff: a residue closer than this to the box takes part in the docking
LARGE_BOX_CUBIC_ANGSTROM = 27_000.0  # above this Vina's manual advises more exhaustiveness

WATERS = frozenset("HOH WAT DOD H2O SOL TIP TIP3 TP3".split())
HISTIDINES = frozenset("HIS HID HIE HIP HSD HSE HSP".split())
AMINO_ACIDS = frozenset(
    "ALA ARG ASN ASP CYS GLN GLU GLY ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL ASH GLH LYN CYX CYM MSE".split()
) | HISTIDINES
NUCLEOTIDES = frozenset("A C G U DA DC DG DT".split())
IONS = frozenset("BR CA CL CU F FE I MG MN ZN".split())  # what Meeko has a template for
FIXED_TEMPLATES = {("ASP", "anionic"): "ASP", ("ASP", "neutral"): "ASH", ("GLU", "anionic"): "GLU", ("GLU", "neutral"): "GLH"}


class PdbAtom(NamedTuple):
    line: str
    name: str
    altloc: str
    residue: str
    chain: str
    number: str  # residue number and insertion code
    position: tuple[float, float, float]
    occupancy: float
    element: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.chain, self.number, self.residue


def read_receptor(path: Path) -> str:
    content = path.read_bytes()
    if len(content) > MAX_RECEPTOR_BYTES:
        raise user_error("RECEPTOR_TOO_LARGE", f"The receptor has {len(content)} bytes; at most {MAX_RECEPTOR_BYTES} are allowed.")
    if content[:2] == b"\x1f\x8b" or content[:4] == b"PK\x03\x04":
        raise user_error("RECEPTOR_UNREADABLE", "The receptor is a compressed file; upload it uncompressed, as PDB or PDBQT.")
    if b"\0" in content:
        raise user_error("RECEPTOR_UNREADABLE", "The receptor is a binary file; it must be PDB or PDBQT text.")
    text = content.decode("utf-8", errors="replace")
    if text.lstrip().startswith("data_") or "_atom_site." in text[:200_000]:
        raise user_error("RECEPTOR_UNREADABLE", "The receptor is an mmCIF file; convert it to PDB or PDBQT.")
    return text


def sniff(text: str) -> str:
    """pdbqt when every one of the first atoms has a charge and an AutoDock type in PDBQT's columns, else pdb."""
    atoms = [line for line in text.splitlines() if is_atom(line)][:50]
    if not atoms:
        raise user_error("RECEPTOR_UNREADABLE", "The receptor has no ATOM records; it must be a PDB or PDBQT file.")
    for line in atoms:
        try:
            float(line[70:76])
        except ValueError:
            return "pdb"
        if not line[77:79].strip():
            return "pdb"
    return "pdbqt"


def component_filter(preparation: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Names of components to remove and to retain, in upper case."""
    return tuple({name.upper() for name in preparation.get(key, [])} for key in ("removeComponents", "retainComponents"))  # type: ignore[return-value]


def check_pdbqt(text: str, preparation: dict[str, Any], report: dict[str, Any]) -> str:
    """The PDBQT as Vina may read it: atoms as given, without waters and removed components."""
    remove, retain = component_filter(preparation)
    kept, removed = [], Counter()
    for number, line in enumerate(text.splitlines(), start=1):
        keyword = line[:6].strip()
        if keyword in ("ROOT", "BRANCH", "TORSDO", "BEGIN_"):
            raise user_error("RECEPTOR_UNREADABLE", f"Line {number} of the receptor is {line.split()[0]}: this is a ligand or a flexible residue, not a rigid receptor.")
        if keyword == "MODEL" and line.split()[1:] not in ([], ["1"]):
            raise user_error("RECEPTOR_UNREADABLE", f"Line {number} of the receptor starts another model; give one model.")
        if not is_atom(line):
            if keyword == "TER":
                kept.append("TER")
            continue
        try:
            atom = pdbqt_atom(line)
        except ValueError as error:
            raise user_error("RECEPTOR_UNREADABLE", f"Line {number} of the receptor is not a PDBQT atom: {error}.") from None
        if atom.type not in RECEPTOR_TYPES:
            raise user_error("RECEPTOR_UNREADABLE", f"Line {number} of the receptor has the atom type {one_line(atom.type, 20)}, which AutoDock Vina does not know.")
        if atom.residue in remove or (atom.residue in WATERS and atom.residue not in retain):
            removed[atom.residue] += 1
            continue
        kept.append(line.rstrip())
    report["removedAtoms"] = dict(sorted(removed.items()))
    report["protonation"] = "as given"
    if not any(line[77:].strip() in ("HD", "HS", "H") for line in kept if is_atom(line)):
        report["notes"].append("the receptor has no hydrogens; AutoDock Vina expects polar hydrogens")
    return "\n".join(kept) + "\n"


def parse_pdb(text: str, report: dict[str, Any]) -> list[PdbAtom]:
    """Atoms of the first model."""
    atoms: list[PdbAtom] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("ENDMDL") and atoms:
            if "\nMODEL" in text[text.index("ENDMDL") :]:
                report["notes"].append("the file holds several models; the first is used")
            break
        if not is_atom(line):
            continue
        line = line.rstrip("\r\n").ljust(80)
        try:
            position = tuple(float(line[start : start + 8]) for start in (30, 38, 46))
        except ValueError:
            raise user_error("RECEPTOR_UNREADABLE", f"Line {number} of the receptor: its coordinates are not numbers.") from None
        if not all(math.isfinite(c) and abs(c) <= MAX_COORDINATE for c in position):
            raise user_error("RECEPTOR_UNREADABLE", f"Line {number} of the receptor: its coordinates are out of range.")
        try:
            occupancy = float(line[54:60])
        except ValueError:
            occupancy = 1.0
        name = line[12:16].strip()
        element = line[76:78].strip().upper() or name.lstrip("0123456789")[:1].upper()
        atoms.append(
            PdbAtom(line, name, line[16].strip(), line[17:20].strip().upper(), line[21].strip(), line[22:27].strip(), position, occupancy, element)  # type: ignore[arg-type]
        )
        if len(atoms) > MAX_ATOMS:
            raise user_error("RECEPTOR_TOO_LARGE", f"The receptor has more than {MAX_ATOMS} atoms.")
    if not atoms:
        raise user_error("RECEPTOR_UNREADABLE", "The receptor has no atoms.")
    return atoms


def choose_alternates(atoms: list[PdbAtom], report: dict[str, Any]) -> list[PdbAtom]:
    """One alternate location a residue: the one with the greatest occupancy, then the first letter."""
    weight: dict[tuple[str, str], Counter[str]] = {}
    for atom in atoms:
        if atom.altloc:
            weight.setdefault((atom.chain, atom.number), Counter())[atom.altloc] += atom.occupancy  # type: ignore[assignment]
    chosen = {key: min(counts, key=lambda letter: (-counts[letter], letter)) for key, counts in weight.items()}
    if chosen:
        report["alternateLocations"] = len(chosen)
    kept = [a for a in atoms if not a.altloc or a.altloc == chosen[a.chain, a.number]]
    return [a._replace(line=a.line[:16] + " " + a.line[17:], altloc="") for a in kept]


def selenium_to_sulfur(atom: PdbAtom) -> PdbAtom:
    """Selenomethionine is crystallographers' methionine; no force field here knows it."""
    if atom.residue != "MSE":
        return atom
    line = "ATOM  " + atom.line[6:17] + "MET" + atom.line[20:]
    if atom.element == "SE":
        line = line[:12] + " SD " + line[16:76] + " S" + line[78:]
        return atom._replace(line=line, residue="MET", name="SD", element="S")
    return atom._replace(line=line, residue="MET")


def choose_components(atoms: list[PdbAtom], preparation: dict[str, Any], templates: set[str], report: dict[str, Any]) -> list[PdbAtom]:
    """Drops waters, components to remove, and components that cannot be prepared offline; says which."""
    remove, retain = component_filter(preparation)
    missing = retain - {atom.residue for atom in atoms}
    if missing:
        raise user_error("RECEPTOR_COMPONENT_MISSING", f"receptorPreparation.retainComponents names {', '.join(sorted(missing))}, which the receptor does not have.")
    kept, removed, unknown = [], Counter(), Counter()
    for atom in atoms:
        if atom.residue in remove or (atom.residue in WATERS and atom.residue not in retain):
            removed[atom.residue] += 1
        elif atom.residue in templates or atom.residue in AMINO_ACIDS or atom.residue == "HOH":
            kept.append(atom)
        elif atom.residue in retain:
            raise user_error(
                "RECEPTOR_COMPONENT_UNSUPPORTED",
                f"receptorPreparation.retainComponents names {atom.residue}, for which there is no template here; give a prepared PDBQT receptor that holds it.",
            )
        else:
            unknown[atom.residue or "(no name)"] += 1
    report["removedAtoms"] = dict(sorted((removed + unknown).items()))
    if unknown:
        report["notes"].append("removed components without a template: " + ", ".join(sorted(unknown)[:MAX_LISTED]))
    if not any(atom.residue in AMINO_ACIDS or atom.residue in NUCLEOTIDES for atom in kept):
        raise user_error("RECEPTOR_NO_POLYMER", "The receptor has no protein or nucleic acid residues.")
    return [selenium_to_sulfur(atom) for atom in kept]


def group_residues(atoms: list[PdbAtom]) -> list[PdbAtom]:
    """Atoms of one residue together, residues in the order in which they first appear: PDB2PQR and Meeko both need it."""
    order: dict[tuple[str, str, str], int] = {}
    for atom in atoms:
        order.setdefault(atom.key, len(order))
    return sorted(atoms, key=lambda atom: order[atom.key])


def pdb_text(lines: list[str]) -> str:
    """PDB text with serial numbers counted anew and a TER wherever the chain changes."""
    written, chain = [], None
    for serial, line in enumerate(lines, start=1):
        if chain is not None and line[21] != chain:
            written.append("TER")
        chain = line[21]
        written.append(f"{line[:6]}{serial % 100_000:5d}{line[11:80]}")
    return "\n".join(written) + "\nTER\nEND\n"


def protonate(atoms: list[PdbAtom], preparation: dict[str, Any], report: dict[str, Any]) -> str:
    """PDB text with the hydrogens of the pH: PDB2PQR rebuilds missing atoms and places hydrogens by PROPKA's pKa values.
    Ions and components that PDB2PQR does not know go around it."""
    from pdb2pqr.main import run_pdb2pqr

    polymer = [a for a in atoms if a.residue in AMINO_ACIDS or a.residue in NUCLEOTIDES]
    others = [a for a in atoms if not (a.residue in AMINO_ACIDS or a.residue in NUCLEOTIDES)]
    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(sys.stderr):
        source, hydrogenated, pqr = (Path(scratch) / name for name in ("source.pdb", "hydrogenated.pdb", "receptor.pqr"))
        source.write_text(pdb_text([a.line for a in polymer if a.element not in ("H", "D")]))
        try:
            run_pdb2pqr(
                ["--ff", preparation["forceField"], "--titration-state-method", "propka", "--with-ph", str(preparation["protonationPh"]),
                 "--keep-chain", "--log-level", "ERROR", "--pdb-output", str(hydrogenated), str(source), str(pqr)]
            )  # fmt: skip
        except (Exception, SystemExit) as error:
            raise user_error(
                "RECEPTOR_PROTONATION_FAILED",
                f"PDB2PQR cannot protonate the receptor ({one_line(str(error), 200)}); repair it, or set receptorPreparation.protonationMethod to meeko.",
            ) from error
        lines = [line.rstrip("\n").ljust(80) for line in hydrogenated.read_text().splitlines() if is_atom(line)]
        lines = without_false_termini(lines, atoms)
    heavy_before = sum(1 for a in polymer if a.element not in ("H", "D"))
    heavy_after = sum(1 for line in lines if not line[12:16].strip().lstrip("0123456789").startswith("H"))
    if heavy_after > heavy_before:
        report["rebuiltHeavyAtoms"] = heavy_after - heavy_before
    report["protonation"] = f"PDB2PQR and PROPKA at pH {preparation['protonationPh']:g}, {preparation['forceField']} force field"
    return pdb_text(lines + [a.line for a in others])


def without_false_termini(lines: list[str], atoms: list[PdbAtom]) -> list[str]:
    """PDB2PQR takes a residue beside one that goes around it (a phosphoserine) for a chain's end and caps it. The caps go;
    Meeko adds the hydrogen that belongs there."""
    given = {(a.chain, a.number, a.name) for a in atoms}
    order = list(dict.fromkeys((a.chain, a.number, a.residue) for a in atoms))
    around = [not (residue in AMINO_ACIDS or residue in NUCLEOTIDES) for _, _, residue in order]
    beside = {
        order[i][:2]
        for i in range(len(order))
        for j in (i - 1, i + 1)
        if 0 <= j < len(order) and around[j] and not around[i] and order[i][0] == order[j][0]
    }

    def is_cap(line: str) -> bool:
        chain, number, name = line[21].strip(), line[22:27].strip(), line[12:16].strip()
        return (chain, number) in beside and (name in ("H", "H1", "H2", "H3", "HXT") or (name == "OXT" and (chain, number, name) not in given))

    return [line for line in lines if not is_cap(line)]


def fixed_templates(preparation: dict[str, Any], atoms: list[PdbAtom]) -> dict[str, str]:
    """Meeko's residue id → template, for residues whose state the request gives."""
    present = {(a.chain, a.number): a.residue for a in atoms}
    templates = {}
    for i, fixed in enumerate(preparation.get("fixedProtonationStates", [])):
        number = f"{fixed['residue']}{fixed.get('insertionCode', '').strip()}"
        found = present.get((fixed["chain"], number))
        if found is None or found[:2] != fixed["residueName"][:2]:
            raise user_error(
                "RECEPTOR_RESIDUE_MISSING",
                f"receptorPreparation.fixedProtonationStates[{i}] names {fixed['residueName']} {number} of chain {one_line(fixed['chain'], 16)}, which the receptor does not have.",
            )
        templates[f"{fixed['chain']}:{number}"] = FIXED_TEMPLATES[fixed["residueName"], fixed["state"]]
    return templates


def convert(pdb: str, templates: Any, fixed: dict[str, str], box: dict[str, Any], report: dict[str, Any]) -> str:
    """PDBQT text by Meeko. A residue that matches no template is dropped far from the box and refused near it."""
    from meeko import MoleculePreparation, PDBQTWriterLegacy, Polymer, PolymerCreationError

    try:
        polymer = Polymer.from_pdb_string(pdb, templates, MoleculePreparation(), set_template=fixed or None, allow_bad_res=True)
    except (PolymerCreationError, RuntimeError, ValueError, KeyError) as error:
        raise user_error("RECEPTOR_CONVERSION_FAILED", f"Meeko cannot read the receptor: {one_line(str(error), 300)}") from error
    dropped = []
    for residue, monomer in polymer.get_ignored_monomers().items():
        label = f"{monomer.input_resname} {residue}"
        if monomer.raw_rdkit_mol is not None:
            positions = monomer.raw_rdkit_mol.GetConformer().GetPositions()
            if min(distance_to_box(tuple(p), box) for p in positions) <= NEAR_BOX_ANGSTROM:
                raise user_error(
                    "RECEPTOR_RESIDUE_INCOMPLETE",
                    f"Residue {label} lies in or near the box and matches no residue template (atoms missing or in excess); repair it, or name it in receptorPreparation.removeComponents.",
                )
        dropped.append(label)
    if dropped:
        report["droppedResidues"] = dropped[:MAX_LISTED]
        report["notes"].append(f"dropped {len(dropped)} incomplete residues far from the box")
    return PDBQTWriterLegacy.write_from_polymer(polymer)[0]


def prepare_pdb(text: str, request: dict[str, Any], progress: Progress, report: dict[str, Any]) -> str:
    logging.getLogger().setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    from meeko import ResidueChemTemplates

    preparation = request["preparation"]
    templates = ResidueChemTemplates.create_from_defaults()
    known = set(templates.residue_templates) | set(templates.ambiguous)
    atoms = choose_alternates(parse_pdb(text, report), report)
    atoms = group_residues(choose_components(atoms, preparation, known, report))
    progress(0.2, "protonating the receptor")
    if preparation["protonationMethod"] == "meeko":
        pdb = pdb_text([a.line for a in atoms])
        report["protonation"] = "by Meeko's residue templates"
    else:
        pdb = protonate(atoms, preparation, report)
    progress(0.6, "converting the receptor")
    return convert(pdb, templates, fixed_templates(preparation, atoms), request["box"], report)


def distance_to_box(position: tuple[float, float, float], box: dict[str, Any]) -> float:
    """Distance in Å from a point to the nearest point of the box; 0 inside."""
    outside = (max(abs(p - c) - s / 2, 0.0) for p, c, s in zip(position, box["centerAngstrom"], box["sizeAngstrom"]))
    return math.sqrt(sum(d * d for d in outside))


def check_box(pdbqt: str, box: dict[str, Any], report: dict[str, Any]) -> None:
    positions = [(a.x, a.y, a.z) for a in map(pdbqt_atom, filter(is_atom, pdbqt.splitlines()))]
    if not positions:
        raise user_error("RECEPTOR_EMPTY", "Nothing of the receptor is left after its preparation.")
    low = [min(p[i] for p in positions) for i in range(3)]
    high = [max(p[i] for p in positions) for i in range(3)]
    distances = [distance_to_box(p, box) for p in positions]
    report.update(atomCount=len(positions), extentAngstrom={"low": low, "high": high}, atomsInBox=sum(d == 0 for d in distances))
    nearest = min(distances)
    if nearest > CONTACT_ANGSTROM:
        extent = ", ".join(f"{axis} {a:.1f} to {b:.1f}" for axis, a, b in zip("xyz", low, high))
        raise user_error(
            "BOX_OUTSIDE_RECEPTOR",
            f"boxCenterAngstrom: the box lies {nearest:.1f} Å from the nearest receptor atom, so nothing could bind; the receptor spans {extent} Å.",
        )
    if math.prod(box["sizeAngstrom"]) > LARGE_BOX_CUBIC_ANGSTROM:
        report["notes"].append("the box is larger than 27,000 Å³; raise exhaustiveness or narrow it for a reliable search")


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "reading the receptor")
    text = read_receptor(IN / "receptor")
    found, declared = sniff(text), request.get("declaredFormat")
    if declared and declared != found:
        raise user_error("RECEPTOR_FORMAT_MISMATCH", f"receptorArtifact.format says {declared}, but the file is {found.upper()}.")
    report: dict[str, Any] = {"format": found, "inputSha256": sha256((IN / "receptor").read_bytes()), "notes": []}
    if found == "pdbqt":
        pdbqt = check_pdbqt(text, request["preparation"], report)
    else:
        pdbqt = prepare_pdb(text, request, progress, report)
    check_box(pdbqt, request["box"], report)
    names = [] if found == "pdbqt" else ["rdkit", "meeko", "pdb2pqr", "propka"]
    programs = program_versions(names)
    report.update(schema="molfabric.docking.receptor/v1", preparedSha256=sha256(pdbqt.encode()), programs=programs)
    write_text(OUT / "receptor.pdbqt", pdbqt)
    write_json(OUT / "receptor.json", report)
    return {"summary": {key: report[key] for key in ("format", "atomCount", "atomsInBox", "protonation", "notes")}, "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
