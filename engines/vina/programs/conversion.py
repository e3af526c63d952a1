"""Turns a receptor's atoms into PDBQT with Meeko, and into the PDB that shows the same atoms with all hydrogens.

Meeko gets working ids (residues.Numbering) and only residues for which it has a template: it asks the internet for any other.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any, NamedTuple, NoReturn

import meeko.polymer
from meeko import MoleculePreparation, PDBQTWriterLegacy, Polymer, PolymerCreationError, ResidueChemTemplates
from meeko.polymer import ResidueTemplate, covalent_radius
from molscrub import AcidBaseConjugator
from rdkit import Chem

from common import is_atom, one_line, user_error
from molecule import LigandError
from pdbtext import Line, text_of
from protonation import protonate
from residues import HYDROGENS, WATERS, Numbering, Prepared, is_polymer
from structure import Atom, Residue

MAX_DROPPED = 100  # residues; a receptor with more holes than this is not worth docking into
MAX_CUSTOM_ATOMS = 100  # heavy atoms of a retained component; the search for its atoms has no other bound
MAX_SERIAL = 99_999

# Meeko's names of what other programs and people call otherwise.
MEEKO_NAMES = {"HSD": "HID", "HSE": "HIE", "HSP": "HIP", "MSE": "MET"} | dict.fromkeys(WATERS, "HOH")
# AutoDock types of the ions that Meeko has none for, by atomic number.
MORE_TYPES = {11: "Na", 19: "K", 27: "Co", 28: "Ni", 29: "Cu", 48: "Cd", 80: "Hg"}


class Converted(NamedTuple):
    pdbqt: str
    pdb: str
    serials: dict[str, int]
    dropped: list[dict[str, Any]]


def convert(lines: list[Line], prepared: Prepared, numbering: Numbering, preparation: dict[str, Any], report: dict[str, Any]) -> Converted:
    logging.getLogger().setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    prevent_downloads()
    templates = ResidueChemTemplates.create_from_defaults()
    names = add_templates(templates, prepared.custom, preparation, report)
    lines = [line._replace(residue=names.get(line.residue, MEEKO_NAMES.get(line.residue, line.residue))) for line in lines if line.element != "D"]
    unknown = {line.residue for line in lines} - set(templates.residue_templates) - set(templates.ambiguous)
    if unknown:
        raise user_error("RECEPTOR_CONVERSION_FAILED", f"There is no residue template for {one_line(', '.join(sorted(unknown)), 200)}; name it in receptorPreparation.removeComponents.")
    covalent_radius.update(dict.fromkeys(("Co", "Ni", "Cd", "Hg"), 0.0))  # as Meeko does for other metals: coordination is no bond
    types = [{"smarts": f"[#{number}]", "atype": name} for number, name in MORE_TYPES.items()]
    try:
        polymer = Polymer.from_pdb_string(text_of(lines), templates, MoleculePreparation(add_atom_types=types), allow_bad_res=True)
    except (PolymerCreationError, RuntimeError, ValueError, KeyError) as error:
        raise user_error("RECEPTOR_CONVERSION_FAILED", f"Meeko cannot read the receptor: {one_line(author_ids(str(error), numbering), 300)}") from error
    dropped = [record_dropped(numbering.author[key], prepared) for key in polymer.get_ignored_monomers()]
    if len(dropped) > MAX_DROPPED:
        raise user_error("RECEPTOR_CONVERSION_FAILED", f"{len(dropped)} residues of the receptor match no residue template (atoms missing or in excess); repair it, for example by protonationMethod pdb2pqr-propka.")
    dropped += [{**drop(residue, atoms), "kind": "removed"} for residue, atoms in list(prepared.removed_polymer.items())[:MAX_DROPPED]]
    rename_atoms(polymer)
    final = final_names(prepared.kept)
    pdb, serials = receptor_pdb(polymer, prepared, numbering, final)
    return Converted(receptor_pdbqt(polymer, numbering, final), pdb, serials, dropped)


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


def add_templates(templates: Any, custom: dict[str, str], preparation: dict[str, Any], report: dict[str, Any]) -> dict[str, str]:
    """Adds a template for each component that has none; their working names by component."""
    names = {}
    for i, (component, smiles) in enumerate(sorted(custom.items())):
        names[component] = f"_{i:02d}"  # no component is called so
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None or molecule.GetNumAtoms() > MAX_CUSTOM_ATOMS or len(Chem.GetMolFrags(molecule)) > 1:
            raise user_error("RECEPTOR_COMPONENT_UNSUPPORTED", f"The definition of {component}, which receptorPreparation.retainComponents names, is no molecule of at most {MAX_CUSTOM_ATOMS} atoms; leave it out.")
        state = protonated(molecule, preparation["protonationPh"])
        if molecule.GetNumAtoms() > 1:
            report["notes"].append(f"{component} stays in the receptor as {Chem.MolToSmiles(state)}")
        explicit = Chem.MolToSmiles(Chem.AddHs(state))
        parameters = Chem.SmilesParserParams()
        parameters.removeHs = False
        order = Chem.MolFromSmiles(explicit, parameters)
        templates.residue_templates[names[component]] = ResidueTemplate(explicit, {}, atom_names(order))
    return names


def protonated(molecule: Chem.Mol, ph: float) -> Chem.Mol:
    """The molecule's state at the pH, as a ligand's; as it is defined where that cannot be told."""
    if molecule.GetNumAtoms() == 1:
        return molecule
    try:
        state = protonate(molecule, ph, AcidBaseConjugator.from_default_data_files(), [])
    except LigandError:
        return molecule
    return state if state.GetNumHeavyAtoms() == molecule.GetNumHeavyAtoms() else molecule


def atom_names(molecule: Chem.Mol) -> list[str]:
    counts: dict[str, int] = {}
    names = []
    for atom in molecule.GetAtoms():
        symbol = atom.GetSymbol().upper()
        counts[symbol] = counts.get(symbol, 0) + 1
        names.append(f"{symbol}{counts[symbol]}"[:4] if molecule.GetNumAtoms() > 1 else symbol)
    return names


def record_dropped(residue: Residue, prepared: Prepared) -> dict[str, Any]:
    """A residue that matches no template. One of a chain may not be missing in the box; one that must stay may not be missing."""
    atoms = prepared.kept[residue]
    if residue.name in prepared.custom:
        raise user_error(
            "RECEPTOR_COMPONENT_UNSUPPORTED",
            f"receptorPreparation.retainComponents names {residue.name}, but the atoms of {residue} do not match its definition (atoms missing, or bonded to the chain). Leave it out, or give a prepared PDBQT receptor that holds it.",
        )
    part = is_polymer(residue.name) or residue in prepared.in_chain
    return {**drop(residue, atoms), "kind": "incomplete" if part else "component"}


def drop(residue: Residue, atoms: list[Atom]) -> dict[str, Any]:
    return {**residue.record(), "positionsAngstrom": [[round(c, 3) for c in atom.position] for atom in atoms if atom.element not in HYDROGENS]}


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


def receptor_pdbqt(polymer: Polymer, numbering: Numbering, names: dict[Residue, str]) -> str:
    written = []
    for line in PDBQTWriterLegacy.write_from_polymer(polymer)[0].splitlines():
        if is_atom(line):
            residue = numbering.author[f"{line[21]}:{int(line[22:26])}"]
            chain, number, code = numbering.in_files[residue]
            line = f"{line[:17]}{names[residue][:3]:>3s} {chain:1s}{number:4d}{code:1s}{line[27:]}"
        written.append(line)
    if len(written) > MAX_SERIAL:
        raise user_error("RECEPTOR_TOO_LARGE", f"The prepared receptor has more than {MAX_SERIAL} atoms; choose chains with receptorChains.")
    return "\n".join(written) + "\n"


def receptor_pdb(polymer: Polymer, prepared: Prepared, numbering: Numbering, names: dict[Residue, str]) -> tuple[str, dict[str, int]]:
    """PDB text of the matched residues with every hydrogen, and the given file's serial numbers of its heavy atoms."""
    lines, serials = [], {}
    for key, monomer in polymer.get_valid_monomers().items():
        residue = numbering.author[key]
        chain, number, code = numbering.in_files[residue]
        given = {atom.name: atom.serial for atom in prepared.kept[residue] if atom.element not in HYDROGENS}
        in_chain = len(monomer.template.link_labels or {}) > 0
        positions = monomer.rdkit_mol.GetConformer().GetPositions()
        for i, atom in enumerate(monomer.rdkit_mol.GetAtoms()):
            name = monomer.atom_names[i]
            lines.append(Line(name, atom.GetSymbol().upper(), names[residue], chain, number, code, tuple(map(float, positions[i])), in_chain))
            if name in given and atom.GetAtomicNum() > 1:
                serials.setdefault(f"{chain}:{number}:{code}:{name}", given[name])
    remarks = [f"{chain} {number}{code} IS {author[0]} {author[1]}{author[2]}" for key, author in numbering.renamed().items() for chain, number, code in [key.split(":")]]
    return text_of(lines, remarks), serials
