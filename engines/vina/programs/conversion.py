"""Turns a receptor's atoms into PDBQT with Meeko, and into the PDB that shows the same atoms with all hydrogens.

Meeko gets working ids (residues.Numbering) and only residues for which it has a template: it asks the internet for any other.
What it has none for stays as it is (rigid.py).
"""

from __future__ import annotations

import logging
import math
import re
import warnings
from typing import Any, NamedTuple, NoReturn

import meeko.polymer
from meeko import MoleculePreparation, PDBQTWriterLegacy, Polymer, PolymerCreationError, ResidueChemTemplates

from components import Prepared, definition_of, link_orders
from hydrogens import BASE_NAMES, MAX_SET_ASIDE
from pdbqt import is_atom
from pdbtext import Line, text_of
from residues import HYDROGENS, METALS, WATERS, Numbering, is_polymer, listed
from rigid import COORDINATION_ANGSTROM, RigidAtom, Unknown, molecule_of
from structure import Atom, Residue, named
from task import one_line, user_error

WORKING_ID = re.compile(r"\b[A-Za-z0-9]:-?\d+\b")
MAX_SERIAL = 99_999

# Meeko's names of what other programs and people call otherwise.
MEEKO_NAMES = {"HSD": "HID", "HSE": "HIE", "HSP": "HIP", "MSE": "MET"} | dict.fromkeys(WATERS, "HOH")


class Converted(NamedTuple):
    pdbqt: str
    pdb: str
    numbering: dict[str, Any]  # serials of the given file, and the bonds of what is no standard residue
    left_out: dict[Residue, str]  # why


class Written(NamedTuple):
    """What is written of a residue: its lines of PDBQT, its atoms for PDB, and its bonds and charges by atom names."""

    pdbqt: list[str]
    pdb: list[Line]
    molecule: dict[str, Any] | None


def convert(
    lines: list[Line],
    prepared: Prepared,
    numbering: Numbering,
    components: dict[str, Any],
    preparation: dict[str, Any],
    report: dict[str, Any],
) -> Converted:
    """The prepared receptor. A residue that no template fits with the hydrogens that it was given gets them from Meeko; one that
    still does not fit stays as it is."""
    logging.getLogger().setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    prevent_downloads()
    aside = {numbering.working[residue] for residue in prepared.rigid}
    templated = [
        line._replace(residue=MEEKO_NAMES.get(line.residue, line.residue))
        for line in lines
        if line.element != "D" and line.key not in aside
    ]
    polymer, ignored = with_templates(templated, numbering, prepared)
    if ignored:
        again = [line for line in templated if line.key not in ignored or line.element not in HYDROGENS]
        polymer, still = with_templates(again, numbering, prepared)
        report["notes"] += told(
            "hydrogens by Meeko instead of PDB2PQR, because no residue template fits with PDB2PQR's",
            [numbering.author[key] for key in ignored - still],
        )
        prepared.rigid.update({numbering.author[key]: "no residue template fits its atoms" for key in still})
    names = final_names(prepared.kept)
    written: dict[Residue, Written] = from_polymer(polymer, numbering, names) if polymer else {}
    left_out = {}
    metals = [atom.position for atoms in prepared.kept.values() for atom in atoms if atom.element in METALS]
    for residue in prepared.rigid:
        try:
            written[residue] = as_it_is(
                residue, prepared, numbering.in_files[residue], names[residue], metals, components, preparation
            )
        except Unknown as error:
            left_out[residue] = str(error)
    report_rigid(prepared, written, left_out, report)
    order = [residue for residue in prepared.kept if residue in written]
    if not order:
        raise user_error("RECEPTOR_EMPTY", "Nothing of the receptor is left after its preparation.")
    return Converted(
        pdbqt_text(order, written),
        pdb_text(order, written, numbering),
        numbering_document(order, written, prepared, numbering),
        left_out,
    )


def with_templates(lines: list[Line], numbering: Numbering, prepared: Prepared) -> tuple[Polymer | None, set[str]]:
    """Meeko's polymer, and the working ids of the residues that match no template. Residues that Meeko cannot tell apart stay as
    they are."""
    templates = ResidueChemTemplates.create_from_defaults()
    aside: set[str] = set()
    for _ in range(MAX_SET_ASIDE):
        used = [line for line in lines if line.key not in aside]
        unknown = {
            line.key for line in used if line.residue not in templates.residue_templates and line.residue not in templates.ambiguous
        }
        used = [line for line in used if line.key not in unknown]
        prepared.rigid.update({numbering.author[key]: "there is no residue template for it" for key in unknown})
        if not used:
            return None, set()
        try:
            polymer = Polymer.from_pdb_string(
                text_of(used), templates, MoleculePreparation(), allow_bad_res=True, forgive_extra_bonds=True
            )
            return polymer, set(polymer.get_ignored_monomers())
        except (PolymerCreationError, RuntimeError, ValueError, KeyError) as error:
            named_by_it = {key for key in WORKING_ID.findall(str(error)) if key in numbering.author} - aside
            if not named_by_it:
                why = f"Meeko cannot read the receptor ({one_line(author_ids(str(error), numbering), 200)})"
                return keep_as_they_are(used, why, numbering, prepared)
            aside |= named_by_it
            prepared.rigid.update({numbering.author[key]: "Meeko cannot tell its bonds" for key in named_by_it})
    rest = [line for line in lines if line.key not in aside]
    return keep_as_they_are(
        rest, f"Meeko cannot tell the bonds of more than {MAX_SET_ASIDE} residues of the receptor", numbering, prepared
    )


def keep_as_they_are(lines: list[Line], why: str, numbering: Numbering, prepared: Prepared) -> tuple[None, set[str]]:
    """What with_templates answers when no template is of use: all residues stay as they stand, and the docking goes on."""
    prepared.rigid.update({numbering.author[line.key]: why for line in lines if line.key in numbering.author})
    return None, set()


def told(what: str, residues: list[Residue]) -> list[str]:
    return [f"{what}: {named(sorted(residues))}"] if residues else []


def report_rigid(prepared: Prepared, written: dict[Residue, Written], left_out: dict[Residue, str], report: dict[str, Any]) -> None:
    """Which residues were repaired by staying as they are, and which are not there. Molecules that always stay so are no repair."""
    part = [residue for residue in prepared.rigid if is_polymer(residue.name) or residue in prepared.in_chain]
    listed(
        report, "rigidResidues", [{**residue.record(), "why": prepared.rigid[residue]} for residue in part if residue in written]
    )
    for why in dict.fromkeys(
        prepared.rigid[residue] for residue in part if residue in written and prepared.rigid[residue] != "it is no standard residue"
    ):
        report["notes"] += told(
            f"kept as it stands, because {why}", [residue for residue in part if prepared.rigid[residue] == why]
        )
    by_element = [
        residue
        for residue in prepared.rigid
        if residue in written and written[residue].molecule is None and len(written[residue].pdb) > 1
    ]
    report["notes"] += told("atom types by element alone, because no definition fits the atoms", by_element)
    for why in dict.fromkeys(left_out.values()):
        report["notes"] += told(f"left out, because {why}", [residue for residue, reason in left_out.items() if reason == why])


def as_it_is(
    residue: Residue,
    prepared: Prepared,
    place: tuple[str, int, str],
    name: str,
    metals: list[tuple[float, float, float]],
    components: dict[str, Any],
    preparation: dict[str, Any],
) -> Written:
    """A residue that goes around the templates. Raises Unknown."""
    atoms = prepared.kept[residue]
    bound = {
        atom.name
        for atom in atoms
        if atom.element in ("N", "O", "S") and any(0 < math.dist(atom.position, metal) <= COORDINATION_ANGSTROM for metal in metals)
    }
    smiles = definition_of(BASE_NAMES.get(residue.name, residue.name), components)
    molecule = molecule_of(atoms, smiles, preparation["protonationPh"], link_orders(residue, prepared.kept), bound)
    chain, number, code = place
    inside = residue in prepared.in_chain
    pdb = [Line(atom.name, atom.element, name, chain, number, code, atom.position, inside) for atom in molecule.atoms]
    names = [atom.name for atom in molecule.atoms]
    known = {
        "chain": chain,
        "residue": number,
        "insertionCode": code,
        "bonds": [[names[i], names[j], order] for i, j, order in molecule.bonds],
        "charges": {names[i]: charge for i, charge in molecule.charges.items()},
    }
    return Written(
        [pdbqt_line(atom, name, place, inside) for atom in molecule.atoms if atom.polar], pdb, known if molecule.bonds else None
    )


def pdbqt_line(atom: RigidAtom, residue: str, place: tuple[str, int, str], inside: bool) -> str:
    chain, number, code = place
    name = atom.name[:4] if len(atom.name) > 3 or len(atom.element) == 2 else f" {atom.name}"
    x, y, z = atom.position
    return (
        f"{'ATOM  ' if inside else 'HETATM'}{0:5d} {name:4s} {residue[:3]:>3s} {chain:1s}{number:4d}{code:1s}   "
        f"{x:8.3f}{y:8.3f}{z:8.3f}"
        f"  1.00  0.00    {atom.partial_charge:6.3f} {atom.type:<2s}"
    )


def prevent_downloads() -> None:
    def refuse(name: str, **_: Any) -> NoReturn:
        raise PolymerCreationError(f"there is no residue template for {name}")

    meeko.polymer.build_noncovalent_CC = refuse
    meeko.polymer.build_linked_CCs = refuse


def author_ids(message: str, numbering: Numbering) -> str:
    """Meeko's message with the author's residues in place of working ids."""
    for working, residue in sorted(numbering.author.items(), key=lambda item: -len(item[0])):
        message = message.replace(f"'{working}'", f"'{residue}'")
    return message


def rename_atoms(polymer: Polymer) -> None:
    """Gives heavy atoms the names that they were given in the file; the template's name them otherwise."""
    for monomer in polymer.get_valid_monomers().values():
        names = list(monomer.atom_names or [""] * monomer.rdkit_mol.GetNumAtoms())
        for index, raw in monomer.mapidx_to_raw.items():
            info = monomer.raw_rdkit_mol.GetAtomWithIdx(raw).GetPDBResidueInfo()
            if info is not None and monomer.rdkit_mol.GetAtomWithIdx(index).GetAtomicNum() > 1:
                names[index] = info.GetName().strip()
        monomer.set_atom_names(names)
        for padded, index in monomer.molsetup_mapidx.items():
            atom = monomer.molsetup.atoms[padded]
            atom.pdbinfo = atom.pdbinfo._replace(name=names[index])


def final_names(kept: dict[Residue, list[Atom]]) -> dict[Residue, str]:
    """Residue names in the written files: the author's, but for selenomethionine."""
    return {residue: "MET" if residue.name == "MSE" else residue.name for residue in kept}


def from_polymer(polymer: Polymer, numbering: Numbering, names: dict[Residue, str]) -> dict[Residue, Written]:
    rename_atoms(polymer)
    pdbqt: dict[Residue, list[str]] = {}
    for line in filter(is_atom, PDBQTWriterLegacy.write_from_polymer(polymer)[0].splitlines()):
        residue = numbering.author[f"{line[21]}:{int(line[22:26])}"]
        chain, number, code = numbering.in_files[residue]
        pdbqt.setdefault(residue, []).append(f"{line[:17]}{names[residue][:3]:>3s} {chain:1s}{number:4d}{code:1s}{line[27:]}")
    found = {}
    for key, monomer in polymer.get_valid_monomers().items():
        residue = numbering.author[key]
        chain, number, code = numbering.in_files[residue]
        in_chain = len(monomer.template.link_labels or {}) > 0
        positions = monomer.rdkit_mol.GetConformer().GetPositions()
        pdb = [
            Line(
                monomer.atom_names[i],
                atom.GetSymbol().upper(),
                names[residue],
                chain,
                number,
                code,
                tuple(map(float, positions[i])),
                in_chain,
            )
            for i, atom in enumerate(monomer.rdkit_mol.GetAtoms())
        ]
        found[residue] = Written(pdbqt.get(residue, []), pdb, None)
    return found


def pdbqt_text(order: list[Residue], written: dict[Residue, Written]) -> str:
    lines = [line for residue in order for line in written[residue].pdbqt]
    if len(lines) > MAX_SERIAL:
        raise user_error(
            "RECEPTOR_TOO_LARGE", f"The prepared receptor has more than {MAX_SERIAL} atoms; choose chains with receptorChains."
        )
    return "".join(f"{line[:6]}{serial:5d}{line[11:]}\n" for serial, line in enumerate(lines, start=1))


def pdb_text(order: list[Residue], written: dict[Residue, Written], numbering: Numbering) -> str:
    """PDB text with every hydrogen."""
    remarks = [
        f"{chain} {number}{code} IS {author[0]} {author[1]}{author[2]}"
        for key, author in numbering.renamed().items()
        for chain, number, code in [key.split(":")]
    ]
    return text_of((line for residue in order for line in written[residue].pdb), remarks)


def numbering_document(
    order: list[Residue], written: dict[Residue, Written], prepared: Prepared, numbering: Numbering
) -> dict[str, Any]:
    """The given file's serial numbers of the heavy atoms, the author's ids where the written ones differ, and the molecules of
    what stays as it is."""
    serials: dict[str, int] = {}
    for residue in order:
        given = {atom.name: atom.serial for atom in prepared.kept[residue] if atom.element not in HYDROGENS}
        for line in written[residue].pdb:
            if line.name in given and line.element not in HYDROGENS:
                serials.setdefault(f"{line.chain}:{line.number}:{line.code}:{line.name}", given[line.name])
    molecules = [written[residue].molecule for residue in order if written[residue].molecule]
    return {"serials": serials, "renamed": numbering.renamed(), "molecules": molecules}
