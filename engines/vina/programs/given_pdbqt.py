"""Takes a receptor that comes as PDBQT: it is prepared already and only checked."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from components import component_filter
from pdbqt import RECEPTOR_TYPES, PdbqtAtom, is_atom, pdbqt_atom
from pdbtext import Line, text_of
from residues import WATERS, listed
from structure import Atom, Residue, Structure, choose_chains, unreadable
from task import one_line, user_error

MAX_ATOMS = 99_999
RESIDUE_NUMBER = re.compile(r"(-?[0-9]{1,4})([A-Za-z]?)")

# Elements of the AutoDock types that are not spelled like their element.
ELEMENTS = {"A": "C", "NA": "N", "NS": "N", "OA": "O", "OS": "O", "SA": "S", "HD": "H", "HS": "H"}


def is_pdbqt(text: str) -> bool:
    """Whether every one of the first atoms has a charge and an AutoDock type in PDBQT's columns."""
    atoms = [line for line in text.splitlines() if is_atom(line)][:50]
    return bool(atoms) and all(is_charge(line[70:76]) and line[77:79].strip() for line in atoms)


def is_charge(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def element_of(atom_type: str) -> str:
    """The element of an AutoDock type; Na is sodium, NA a nitrogen."""
    return ELEMENTS.get(atom_type, atom_type).upper()


def residue_of(number: int, line: str, atom: PdbqtAtom) -> Residue:
    match = RESIDUE_NUMBER.fullmatch(atom.number)
    if not match:
        raise unreadable(f"Line {number} of the receptor: its residue number (columns 23 to 27) is not a number.")
    return Residue(atom.chain, int(match[1]), match[2], atom.residue.upper())


def read_pdbqt(text: str, request: dict[str, Any]) -> tuple[Structure, list[str]]:
    """The atoms of a rigid receptor, and the lines of the file's atoms; an atom's subchain is the place of its line."""
    if request.get("assemblyId") is not None:
        raise user_error(
            "RECEPTOR_ASSEMBLY_MISSING",
            "receptorAssemblyId is given, but a PDBQT receptor says nothing of assemblies; leave it out.",
        )
    if request.get("model") not in (None, 1):
        raise user_error(
            "RECEPTOR_MODEL_MISSING",
            f"receptorModel is {request['model']}, which the receptor does not have; a PDBQT receptor has model 1 only.",
        )
    atoms, lines = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        keyword = line[:6].strip()
        if keyword in ("ROOT", "BRANCH", "TORSDO", "BEGIN_"):
            raise unreadable(
                f"Line {number} of the receptor is {line.split()[0]}: this is a ligand or a flexible residue, not a rigid receptor."
            )
        if keyword == "MODEL" and line.split()[1:] not in ([], ["1"]):
            raise unreadable(f"Line {number} of the receptor starts another model; give one model.")
        if not is_atom(line):
            continue
        try:
            atom = pdbqt_atom(line)
        except ValueError as error:
            raise unreadable(f"Line {number} of the receptor is not a PDBQT atom: {error}.") from None
        if atom.type not in RECEPTOR_TYPES:
            raise unreadable(
                f"Line {number} of the receptor has the atom type {one_line(atom.type, 20)}, which AutoDock Vina does not know."
            )
        residue = residue_of(number, line, atom)
        atoms.append(
            Atom(
                residue,
                atom.name,
                element_of(atom.type),
                "",
                (atom.x, atom.y, atom.z),
                1.0,
                atom.serial,
                line.startswith("ATOM"),
                str(len(lines)),
            )
        )
        lines.append(line.rstrip()[:80])
        if len(atoms) > MAX_ATOMS:
            raise user_error("RECEPTOR_TOO_LARGE", f"The receptor has more than {MAX_ATOMS} atoms.")
    atoms = choose_chains(atoms, request.get("chains"))
    selected = {key: request.get(key) for key in ("assemblyId", "model", "chains")}
    return Structure("pdbqt", atoms, [], None, selected, []), lines


def take_pdbqt(
    structure: Structure, lines: list[str], preparation: dict[str, Any], leave_out: set[Residue], report: dict[str, Any]
) -> tuple[str, str, dict[str, int]]:
    """The PDBQT as Vina may read it, its PDB, and the serial numbers: atoms as given, without waters and removed components."""
    remove, retain = component_filter(preparation)
    kept, removed = [], Counter()
    for atom in structure.atoms:
        name = atom.residue.name
        if name in remove or (name in WATERS and name not in retain) or atom.residue in leave_out:
            removed[name] += 1
        else:
            kept.append(atom)
    report["removedAtoms"] = dict(sorted(removed.items()))
    listed(report, "removedComponents", [{"component": name, "atoms": count} for name, count in sorted(removed.items())])
    report["protonation"] = "as given"
    if not any(atom.element == "H" for atom in kept):
        report["notes"].append("the receptor has no hydrogens; AutoDock Vina expects polar hydrogens")
    written, chain = [], None
    for atom in kept:
        if chain not in (None, atom.residue.chain):
            written.append("TER")
        chain = atom.residue.chain
        written.append(lines[int(atom.subchain)])
    pdb = text_of(
        Line(a.name, a.element, r.name, r.chain, r.number, r.insertion_code, a.position, a.polymer)
        for a in kept
        for r in [a.residue]
    )
    serials: dict[str, int] = {}
    for a in kept:
        if a.element != "H":
            serials.setdefault(f"{a.residue.chain}:{a.residue.number}:{a.residue.insertion_code}:{a.name}", a.serial)
    return "\n".join(written) + "\n", pdb, serials
