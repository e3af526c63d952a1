"""A ligand's molecule: reading it from a SMILES, SDF, MOL2 or PDB, choosing the part that is docked, and refusing what cannot be.

Atoms are called as a chemist counts them, from 1 in the order of the SMILES or the file: C7 is the seventh atom, a carbon.
The tautomer is the one that was given. Rules that rank tautomers are no energies, and another one than the user drew would be
another answer than was asked for; so none are enumerated for docking, and note_tautomers says where others are as likely.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem.MolStandardize import rdMolStandardize

from pdb_ligand import UnreadableError, parse_pdb
from task import IN, one_line, read_json

MAX_HEAVY_ATOMS = 100  # Vina's tables grow with the square of the atoms; 100 take 6 GB
MAX_INPUT_ATOMS = 1000  # with hydrogens, counter-ions and solvent
MAX_SMILES_CHARS = 5000  # fifty characters for each of the heavy atoms that can be docked
MAX_FILE_BYTES = 4 << 20
MAX_NAMED = 5  # atoms, fragments or tautomers that a message lists
MAX_TAUTOMERS = 50  # with as many transforms: RDKit then takes 10 ms
ENOL = Chem.MolFromSmarts("[OX2,SX2,NX3;!H0]-[CX3]=[CX3]")
NAME = re.compile(r"[A-Za-z]*[a-z]{4,}[ a-z-]*")
TIME_STAMP = re.compile(r"^\s*\[\d\d:\d\d:\d\d\]\s*")

# Elements whose ions are counter-ions. Any other metal belongs to the substance, as the iron of ferrocene.
COUNTER_METALS = frozenset("Li Na K Rb Cs Mg Ca Sr Ba Zn Al Ag".split())
# Acids, bases and solvents that accompany a substance, as RDKit writes them uncharged.
COMPANIONS = {
    "Cl": "chloride",
    "Br": "bromide",
    "I": "iodide",
    "F": "fluoride",
    "O": "water",
    "N": "ammonia",
    "CO": "methanol",
    "CCO": "ethanol",
    "CC#N": "acetonitrile",
    "CS(C)=O": "dimethyl sulfoxide",
    "CN(C)C=O": "dimethylformamide",
    "ClCCl": "dichloromethane",
    "CC(C)=O": "acetone",
    "O=S(=O)(O)O": "sulfate",
    "O=P(O)(O)O": "phosphate",
    "O=[N+]([O-])O": "nitrate",
    "[O-][Cl+3]([O-])([O-])O": "perchlorate",
    "O=C(O)O": "carbonate",
    "O=CO": "formate",
    "CC(=O)O": "acetate",
    "O=C(O)C(F)(F)F": "trifluoroacetate",
    "O=C(O)C(=O)O": "oxalate",
    "O=C(O)CCC(=O)O": "succinate",
    "O=C(O)C=CC(=O)O": "maleate or fumarate",
    "O=C(O)C(O)C(O)C(=O)O": "tartrate",
    "O=C(O)CC(O)C(=O)O": "malate",
    "O=C(O)CC(O)(CC(=O)O)C(=O)O": "citrate",
    "CC(O)C(=O)O": "lactate",
    "O=C(O)c1ccccc1": "benzoate",
    "CS(=O)(=O)O": "mesylate",
    "CCS(=O)(=O)O": "esylate",
    "O=S(=O)(O)c1ccccc1": "besylate",
    "Cc1ccc(S(=O)(=O)O)cc1": "tosylate",
    "COS(=O)(=O)O": "methyl sulfate",
    "O=C(O)c1cc(=O)[nH]c(=O)[nH]1": "orotate",
    "O=C(O)c1cc2ccccc2c(Cc2c(O)c(C(=O)O)cc3ccccc23)c1O": "pamoate",
    "C=O": "formaldehyde",
    "O=[N+]([O-])c1cc([N+](=O)[O-])c(O)c([N+](=O)[O-])c1": "picrate",
    "CCN(CC)CC": "triethylamine",
    "NC(CO)(CO)CO": "tromethamine",
    "C[N+](C)(C)CCO": "choline",
    "CNCC(O)C(O)C(O)C(O)CO": "meglumine",
    "F[B-](F)(F)F": "tetrafluoroborate",
    "F[P-](F)(F)(F)(F)F": "hexafluorophosphate",
    "c1ccc([B-](c2ccccc2)(c2ccccc2)c2ccccc2)cc1": "tetraphenylborate",
}


class LigandError(Exception):
    """A ligand cannot be prepared. step is parse, protonate or embed."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class RdkitMessages(logging.Handler):
    """Keeps what RDKit logs, because its parsers return None and log the reason."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        rdBase.LogToPythonLogger()
        logger = logging.getLogger("rdkit")
        logger.handlers, logger.propagate = [self], False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def reason(self, fallback: str) -> str:
        """The first line that says something, without RDKit's clock, which would make two runs differ."""
        lines = [TIME_STAMP.sub("", line) for line in self.lines]
        telling = [line for line in lines if "check for mistakes" not in line and line.strip(" ~^\n\t")]
        return one_line(telling[0]) if telling else fallback


def atom_name(atom: Chem.Atom) -> str:
    """The atom's element and its place, from 1, in what was given; protonation and sorting may have moved it since."""
    place = atom.GetIntProp("_given") if atom.HasProp("_given") else atom.GetIdx()
    return f"{atom.GetSymbol()}{place + 1}"


def listed(names: list[str]) -> str:
    """At most MAX_NAMED names, and how many more there are."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def read_molecule(entry: dict[str, Any], notes: list[str]) -> Chem.Mol:
    """The molecule of a request's entry without hydrogens, with the stereochemistry that it was given. Raises LigandError."""
    messages = RdkitMessages()
    if entry.get("format") == "native":
        molecule = parse_smiles(read_json(IN / entry["file"])["smiles"], messages)
    else:
        molecule = parse_file(entry, messages, notes) if "file" in entry else parse_smiles(entry["smiles"], messages)
    if molecule.GetNumAtoms() > MAX_INPUT_ATOMS:
        raise LigandError("parse", f"it has {molecule.GetNumAtoms()} atoms; give one small molecule")
    return choose_fragment(free_alkali_metals(molecule), notes)


def parse_native(native: dict[str, Any]) -> Chem.Mol:
    """The native ligand in its crystal pose, as the receptor's preparation has taken it out, with the stereochemistry of its
    geometry and without hydrogens. Raises LigandError."""
    molecule = Chem.MolFromMolBlock(native["molblock"])
    if molecule is None or molecule.GetNumConformers() != 1 or not molecule.GetNumHeavyAtoms():
        raise LigandError("parse", f"the structure of the native ligand {one_line(native['componentId'], 20)} cannot be read")
    Chem.AssignStereochemistryFrom3D(molecule)
    return Chem.RemoveHs(molecule)


def parse_smiles(smiles: str, messages: RdkitMessages) -> Chem.Mol:
    text = smiles.strip()
    if not text:
        raise LigandError("parse", "the SMILES is empty")
    if len(text) > MAX_SMILES_CHARS:
        raise LigandError("parse", f"the SMILES has {len(text)} characters; at most {MAX_SMILES_CHARS} are allowed")
    if text.startswith("InChI="):
        raise LigandError("parse", "this is an InChI; give a SMILES")
    if re.sub("->|<-", "", text.split()[0]).count(">") >= 2:
        raise LigandError("parse", "this is a reaction; give the SMILES of one molecule")
    molecule = Chem.MolFromSmiles(text)
    if molecule is None:
        hint = "; a name is no SMILES, so look its structure up first" if NAME.fullmatch(text) else ""
        reason = messages.reason("RDKit cannot read this SMILES") + hint
        raise LigandError("parse", impossible(Chem.MolFromSmiles(text, sanitize=False)) or reason)
    return molecule


def impossible(molecule: Chem.Mol | None) -> str:
    """What a chemist must mend in a molecule that RDKit can read and not accept; "" when nothing is found."""
    for problem in Chem.DetectChemistryProblems(molecule) if molecule is not None else ():
        if problem.GetType() == "AtomValenceException":
            atom = molecule.GetAtomWithIdx(problem.GetAtomIdx())
            bonds = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) + atom.GetNumExplicitHs()
            charge = f" with charge {atom.GetFormalCharge():+d}" if atom.GetFormalCharge() else ""
            return f"{atom_name(atom)}{charge} has {bonds:g} bonds, which its element cannot have; check its bonds and its charge"
        if problem.GetType() == "KekulizeException":
            names = listed([atom_name(molecule.GetAtomWithIdx(i)) for i in problem.GetAtomIndices()])
            return (
                f"the aromatic ring with {names} has no structure of single and double bonds; perhaps a nitrogen lacks its "
                f"hydrogen ([nH])"
            )
    return ""


def parse_file(entry: dict[str, Any], messages: RdkitMessages, notes: list[str]) -> Chem.Mol:
    path = IN / entry["file"]
    if path.stat().st_size > MAX_FILE_BYTES:
        raise LigandError("parse", f"the file is larger than {MAX_FILE_BYTES >> 20} MB; give one small molecule")
    text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    if entry["format"] == "pdb":
        try:
            return parse_pdb(text, notes)
        except UnreadableError as error:
            raise LigandError("parse", str(error)) from error
    if entry["format"] == "mol2":
        parts = text.split("@<TRIPOS>MOLECULE")
        count, block = len(parts) - 1, "@<TRIPOS>MOLECULE" + (parts[1] if len(parts) > 1 else "")
        read = Chem.MolFromMol2Block
    else:
        count, block = text.count("$$$$") or 1, text.split("$$$$")[0]
        read = Chem.MolFromMolBlock
    molecule = read(block, removeHs=False)
    if molecule is None:
        raise LigandError(
            "parse", impossible(read(block, sanitize=False)) or messages.reason(f"RDKit cannot read this {entry['format']} file")
        )
    if count > 1:
        notes.append(f"the file holds {count} molecules; the first is docked")
    if molecule.GetNumConformers() and molecule.GetConformer().Is3D():
        Chem.AssignStereochemistryFrom3D(molecule)
    return Chem.RemoveHs(molecule)


def free_alkali_metals(molecule: Chem.Mol) -> Chem.Mol:
    """Salts are often drawn with a bond (CC(=O)O[Na]); a bond of a counter-ion's metal to O, N, S or a halogen is taken as
    ionic."""
    editable = Chem.RWMol(molecule)
    for bond in list(molecule.GetBonds()):
        ends = sorted((bond.GetBeginAtom(), bond.GetEndAtom()), key=lambda atom: atom.GetSymbol() not in COUNTER_METALS)
        metal, partner = (editable.GetAtomWithIdx(atom.GetIdx()) for atom in ends)
        if bond.GetBondType() != Chem.BondType.SINGLE or metal.GetSymbol() not in COUNTER_METALS:
            continue
        if partner.GetSymbol() in ("O", "N", "S", "F", "Cl", "Br", "I"):
            editable.RemoveBond(metal.GetIdx(), partner.GetIdx())
            metal.SetFormalCharge(metal.GetFormalCharge() + 1)
            partner.SetFormalCharge(partner.GetFormalCharge() - 1)
            metal.SetNoImplicit(True)
    Chem.SanitizeMol(editable)
    return editable.GetMol()


def choose_fragment(molecule: Chem.Mol, notes: list[str]) -> Chem.Mol:
    """The fragment that is docked: the one with the most heavy atoms that is no counter-ion or solvent. The others are named."""
    for number, atom in enumerate(molecule.GetAtoms()):
        atom.SetIntProp("_given", number)
    fragments = list(Chem.GetMolFrags(molecule, asMols=True))
    if len(fragments) < 2:
        return molecule
    names = [companion(fragment) for fragment in fragments]
    order = sorted(
        range(len(fragments)), key=lambda i: (bool(names[i]), -fragments[i].GetNumHeavyAtoms(), Chem.MolToSmiles(fragments[i]))
    )
    if fragments[order[0]].GetNumHeavyAtoms() < 2:
        raise LigandError("parse", "it consists of single atoms, as a mineral salt; there is no molecule to dock")
    removed = Counter(names[i] or Chem.MolToSmiles(fragments[i]) for i in order[1:])
    parts = [f"{count} × {name}" if count > 1 else name for name, count in removed.items()]
    notes.append(f"removed {listed(parts)}; the rest is docked")
    if any(not names[i] for i in order[1:]):
        notes.append("it is a mixture: the parts that were removed include one that is no known counter-ion or solvent")
    return fragments[order[0]]


def companion(fragment: Chem.Mol) -> str:
    """The name of a counter-ion or solvent, "" for anything else. Raises LigandError for a metal that belongs to the substance."""
    atoms = list(fragment.GetAtoms())
    if len(atoms) == 1 and atoms[0].GetSymbol() in COUNTER_METALS:
        return Chem.GetPeriodicTable().GetElementName(atoms[0].GetAtomicNum()).lower()
    if len(atoms) == 1 and is_metal(atoms[0]):
        element = Chem.GetPeriodicTable().GetElementName(atoms[0].GetAtomicNum()).lower()
        called = f"{element} ({atoms[0].GetSymbol()})"
        raise LigandError(
            "parse", f"it is a complex of {called}, which cannot be docked; give the organic ligand alone if that is meant"
        )
    plain = Chem.Mol(fragment)
    Chem.RemoveStereochemistry(plain)
    charged = Chem.MolToSmiles(plain)
    try:
        uncharged = Chem.MolToSmiles(Chem.RemoveHs(rdMolStandardize.Uncharger().uncharge(plain)))
    except (ValueError, RuntimeError):
        uncharged = ""
    return COMPANIONS.get(charged) or COMPANIONS.get(uncharged, "")


def is_metal(atom: Chem.Atom) -> bool:
    number = atom.GetAtomicNum()
    return number in (3, 4, 11, 12, 13) or 19 <= number <= 31 or 37 <= number <= 50 or 55 <= number <= 84 or number >= 87


def check_molecule(molecule: Chem.Mol) -> None:
    """Refuses at parse what no later step could make sense of."""
    heavy = molecule.GetNumHeavyAtoms()
    if heavy == 0:
        raise LigandError("parse", "the molecule has no heavy atoms")
    if heavy > MAX_HEAVY_ATOMS:
        raise LigandError("parse", f"the molecule has {heavy} heavy atoms; at most {MAX_HEAVY_ATOMS} can be docked")
    if any(atom.GetAtomicNum() == 0 for atom in molecule.GetAtoms()):
        raise LigandError("parse", "the molecule has a wildcard atom (*); name its element")
    radicals = [atom_name(atom) for atom in molecule.GetAtoms() if atom.GetNumRadicalElectrons()]
    if radicals and not any(is_metal(atom) for atom in molecule.GetAtoms()):
        remedy = "write the missing hydrogens or the charge, since radicals cannot be docked"
        raise LigandError("parse", f"unpaired electrons at {listed(radicals)}; {remedy}")


def without_isotopes(molecule: Chem.Mol, notes: list[str]) -> Chem.Mol:
    """The molecule as docked: its isotope labels change nothing that a docking sees."""
    labelled = [atom for atom in molecule.GetAtoms() if atom.GetIsotope()]
    if not labelled:
        return molecule
    plain = Chem.Mol(molecule)
    for atom in plain.GetAtoms():
        atom.SetIsotope(0)
    notes.append(f"{len(labelled)} isotope labels make no difference to docking and are left out")
    return Chem.RemoveHs(plain)


def note_tautomers(molecule: Chem.Mol, notes: list[str]) -> None:
    """Says which tautomers RDKit's rules (Sitzmann 2010) score as high as the given one, which is the one that is docked."""
    enumerator = rdMolStandardize.TautomerEnumerator()
    enumerator.SetMaxTautomers(MAX_TAUTOMERS)
    enumerator.SetMaxTransforms(MAX_TAUTOMERS)
    given = Chem.Mol(molecule)
    Chem.RemoveStereochemistry(given)
    try:
        result = enumerator.Enumerate(given)
        found = {
            text: enumerator.ScoreTautomer(other) for text, other in zip(result.smiles, result.tautomers) if is_rival(given, other)
        }
    except (ValueError, RuntimeError):
        return
    own, score = Chem.MolToSmiles(given), enumerator.ScoreTautomer(given)
    rivals = sorted((text for text in found if found[text] >= score and text != own), key=lambda text: (-found[text], text))
    if not rivals:
        return
    standing = "higher" if found[rivals[0]] > score else "as high"
    notes.append(
        f"docked as the tautomer that was given; tautomers are not enumerated, and RDKit's rules rank {standing}: {listed(rivals)}"
    )


def is_rival(given: Chem.Mol, other: Chem.Mol) -> bool:
    """Do the two, atom by atom, differ as tautomers that interconvert at room temperature: by hydrogens on heteroatoms, or by
    one on a carbon, as ketones from their enols and pyrazoles from their ketones? RDKit's rules move more than that."""
    hydrogens = [
        (a.GetTotalNumHs(), b.GetTotalNumHs()) for a, b in zip(given.GetAtoms(), other.GetAtoms()) if a.GetAtomicNum() == 6
    ]
    moved = sum(abs(b - a) for a, b in hydrogens)
    if moved != 1:
        return not moved
    more_aromatic = sum(a.GetIsAromatic() for a in other.GetAtoms()) > sum(a.GetIsAromatic() for a in given.GetAtoms())
    return more_aromatic or (any(b > a for a, b in hydrogens) and given.HasSubstructMatch(ENOL))
