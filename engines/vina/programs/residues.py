"""Decides what becomes of each residue of a receptor: kept, converted or removed, and says why; and gives the residues the one-letter
chains and small numbers that PDB2PQR and Meeko can read.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Iterable, NamedTuple

from common import Failure, user_error
from structure import CHAIN_LETTERS, Atom, Residue, named

MAX_ATOMS = 100_000  # the PDB format's five-digit serial number
MAX_LISTED = 200  # residues of one kind in the report
MAX_WORKING_NUMBER = 9999  # the PDB format's four-digit residue number
NUMBERS_IN_FILES = range(-999, 10_000)

WATERS = frozenset("HOH WAT DOD H2O SOL TIP TIP3 TP3".split())
HISTIDINES = frozenset("HIS HID HIE HIP HSD HSE HSP".split())
AMINO_ACIDS = frozenset(
    "ALA ARG ASN ASP CYS GLN GLU GLY ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL ASH GLH LYN CYX CYM MSE".split()
) | HISTIDINES
NUCLEOTIDES = frozenset("A C G U DA DC DG DT".split())
HYDROGENS = frozenset("H D".split())
METALS = frozenset(
    "LI BE NA MG AL K CA SC TI V CR MN FE CO NI CU ZN GA RB SR Y ZR NB MO RU RH PD AG CD IN SN CS BA LA CE EU GD TB YB HF TA W RE OS IR PT AU HG TL PB BI U".split()
)
# Ions that AutoDock Vina has an atom type for and Meeko no template: component, and the ion as SMILES.
MORE_IONS = {"NA": "[Na+]", "K": "[K+]", "CO": "[Co+2]", "3CO": "[Co+3]", "NI": "[Ni+2]", "CD": "[Cd+2]", "HG": "[Hg+2]", "CU1": "[Cu+]", "FE2": "[Fe+2]"}

PEPTIDE_ANGSTROM, PHOSPHODIESTER_ANGSTROM = 2.0, 2.2  # two residues farther apart are not bonded; the bonds have 1.33 and 1.61 Å


class Prepared(NamedTuple):
    """What goes into the preparation."""

    kept: dict[Residue, list[Atom]]
    removed_polymer: dict[Residue, list[Atom]]  # residues of a chain that no template knows
    custom: dict[str, str]  # SMILES of the retained components and ions that need a template of their own
    in_chain: set[Residue]


def is_polymer(name: str) -> bool:
    """Whether PDB2PQR knows residues of this name."""
    return name in AMINO_ACIDS or name in NUCLEOTIDES


@cache
def template_names() -> frozenset[str]:
    """Residues that Meeko has a template for, read from its data file: importing Meeko takes a second."""
    found = importlib.util.find_spec("meeko")
    if found is None or found.origin is None:
        raise Failure("EXECUTOR", "PROGRAM_MISSING", "The Python package meeko is not installed on this worker.")
    with open(Path(found.origin).parent / "data" / "residue_chem_templates.json", encoding="utf-8") as file:
        document = json.load(file)
    return frozenset(document["residue_templates"]) | frozenset(document["ambiguous"])


def is_known(name: str) -> bool:
    """Whether a residue of this name is kept unless the request says otherwise."""
    return is_polymer(name) or name in template_names()


def listed(report: dict[str, Any], key: str, records: list[Any]) -> None:
    """Puts records into the report, at most MAX_LISTED."""
    report[key] = records[:MAX_LISTED]
    if len(records) > MAX_LISTED:
        report["notes"].append(f"{key} lists {MAX_LISTED} of {len(records)}")


def choose_alternates(atoms: list[Atom], report: dict[str, Any]) -> list[Atom]:
    """One alternate location a residue: the one with the greatest occupancy, then the first letter."""
    weight: dict[tuple[str, int, str], Counter[str]] = {}
    for atom in atoms:
        if atom.altloc:
            weight.setdefault(atom.residue[:3], Counter())[atom.altloc] += atom.occupancy  # type: ignore[assignment]
    chosen = {key: min(counts, key=lambda letter: (-counts[letter], letter)) for key, counts in weight.items()}
    kept = [a._replace(altloc="") for a in atoms if not a.altloc or a.altloc == chosen[a.residue[:3]]]
    names = {a.residue[:3]: a.residue for a in kept}
    records = [
        {**names[key].record(), "kept": chosen[key], "left": sorted(set(counts) - {chosen[key]})}
        for key, counts in weight.items() if len(counts) > 1 and names[key].name not in WATERS
    ]  # fmt: skip
    listed(report, "alternateLocations", records)
    return kept


def component_filter(preparation: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Names of components to remove and to retain, in upper case."""
    return tuple({name.upper() for name in preparation.get(key, [])} for key in ("removeComponents", "retainComponents"))  # type: ignore[return-value]


class Sorting:
    """Sorts residues into kept and removed, and collects what the report says about them."""

    def __init__(self, preparation: dict[str, Any], leave_out: set[Residue], components: dict[str, Any], in_chain: set[Residue]) -> None:
        self.in_chain = in_chain
        self.remove, self.retain = component_filter(preparation)
        self.leave_out, self.components = leave_out, {name.upper(): value for name, value in components.items()}
        self.removed: dict[str, dict[str, Any]] = {}
        self.non_standard: list[dict[str, Any]] = []
        self.metals: list[dict[str, Any]] = []
        self.custom: dict[str, str] = {}

    def fate(self, residue: Residue, atoms: list[Atom]) -> tuple[str, str]:
        """kept, converted or removed, and why. Raises a Failure for a component that must stay and cannot."""
        name = residue.name
        if residue in self.leave_out:
            return "removed", "it is the ligand whose place is docked into"
        if name in self.remove:
            return "removed", "removeComponents names it"
        if name in WATERS and name not in self.retain:
            return "removed", "water"
        if name == "MSE":
            return "converted", "selenomethionine is crystallographers' methionine; no force field here knows it"
        if is_known(name) or name in WATERS:
            return "kept", "retainComponents names it" if name in self.retain else "there is a residue template for it"
        if name not in self.retain:
            return "removed", f"there is no residue template for it{self.advice(residue)}"
        self.custom[name] = self.template_of(residue, atoms)
        return "kept", "retainComponents names it; its template is made from its definition"

    def template_of(self, residue: Residue, atoms: list[Atom]) -> str:
        """SMILES of a component that must stay."""
        if residue.name in MORE_IONS and len(atoms) == 1:
            return MORE_IONS[residue.name]
        smiles = self.components.get(residue.name, {}).get("smiles")
        if smiles and residue not in self.in_chain:
            return smiles
        why = "it is a part of the chain, and only whole molecules can be given a template" if smiles else "this deployment has neither a residue template nor a definition for it"
        raise user_error(
            "RECEPTOR_COMPONENT_UNSUPPORTED",
            f"receptorPreparation.retainComponents names {residue.name}, which cannot be kept: {why}. Leave it out, or give a prepared PDBQT receptor that holds it.",
        )

    def advice(self, residue: Residue) -> str:
        if residue in self.in_chain:
            return "; its neighbours in the chain stay, the place is empty"
        can_stay = residue.name in MORE_IONS or self.components.get(residue.name, {}).get("smiles")
        return "; name it in retainComponents to keep it" if can_stay else ""

    def take(self, residue: Residue, atoms: list[Atom]) -> str:
        fate, why = self.fate(residue, atoms)
        if fate == "removed":
            record = self.removed.setdefault(residue.name or "(no name)", {"residues": 0, "atoms": 0, "why": why})
            record["residues"] += 1
            record["atoms"] += len(atoms)
        entry = {**residue.record(), "status": fate, "why": why}
        if len(atoms) == 1 and atoms[0].element in METALS:
            self.metals.append({**entry, "element": atoms[0].element.capitalize()})
        elif residue.name not in AMINO_ACIDS - {"MSE"} and residue.name not in NUCLEOTIDES and residue.name not in WATERS:
            self.non_standard.append({**entry, "convertedTo": "MET"} if fate == "converted" else entry)
        return fate


def has_backbone(atoms: Iterable[Atom]) -> bool:
    """Whether a residue has the backbone of an amino acid or of a nucleotide."""
    names = {atom.name for atom in atoms}
    return {"N", "CA", "C"} <= names or {"O5'", "C3'"} <= names


def chain_members(residues: dict[Residue, list[Atom]]) -> set[Residue]:
    """The residues that are bonded to a neighbour in a chain; ATP alone has a nucleotide's backbone, too."""
    members: set[Residue] = set()
    chain = [residue for residue, atoms in residues.items() if has_backbone(atoms)]
    for before, after in zip(chain, chain[1:]):
        if before.chain == after.chain and bonded(residues[before], residues[after]):
            members |= {before, after}
    return members


def choose_components(
    residues: dict[Residue, list[Atom]], preparation: dict[str, Any], leave_out: set[Residue], components: dict[str, Any], report: dict[str, Any]
) -> Prepared:
    """Drops waters, components to remove, and components that cannot be prepared offline."""
    in_chain = chain_members(residues)
    sorting = Sorting(preparation, leave_out, components, in_chain)
    missing = sorting.retain - {residue.name for residue in residues}
    if missing:
        raise user_error("RECEPTOR_COMPONENT_MISSING", f"receptorPreparation.retainComponents names {named(sorted(missing))}, which the receptor does not have.")
    kept, removed_polymer = {}, {}
    for residue, atoms in residues.items():
        fate = sorting.take(residue, atoms)
        if fate != "removed":
            kept[residue] = [selenium_to_sulfur(atom) for atom in atoms] if fate == "converted" else atoms
        elif residue in in_chain and residue not in leave_out and residue.name not in sorting.remove:
            removed_polymer[residue] = atoms
    report["removedAtoms"] = {name: record["atoms"] for name, record in sorted(sorting.removed.items())[:MAX_LISTED]}
    listed(report, "removedComponents", [{"component": name, **record} for name, record in sorted(sorting.removed.items())])
    listed(report, "nonStandardResidues", sorting.non_standard)
    listed(report, "metals", sorting.metals)
    unknown = [name for name, record in sorted(sorting.removed.items()) if record["why"].startswith("there is no")]
    if unknown:
        report["notes"].append("removed components without a template: " + named(unknown))
    if sorting.non_standard and any(entry["status"] == "converted" for entry in sorting.non_standard):
        report["notes"].append("selenomethionine (MSE) is prepared as methionine (MET)")
    check_kept(kept)
    return Prepared(kept, removed_polymer, sorting.custom, in_chain)


def check_kept(kept: dict[Residue, list[Atom]]) -> None:
    if not any(is_polymer(residue.name) for residue in kept):
        raise user_error("RECEPTOR_NO_POLYMER", "The receptor has no protein or nucleic acid residues.")
    if sum(map(len, kept.values())) > MAX_ATOMS:
        raise user_error("RECEPTOR_TOO_LARGE", f"The receptor has more than {MAX_ATOMS} atoms; choose chains with receptorChains.")
    for residue, atoms in kept.items():
        counts = Counter(atom.name for atom in atoms)
        twice = [name for name, count in counts.items() if count > 1]
        if twice:
            raise user_error(
                "RECEPTOR_RESIDUE_TWICE",
                f"The receptor holds the atoms {named(twice)} of {residue} more than once; give each chain a name of its own, or mark alternate locations.",
            )


def selenium_to_sulfur(atom: Atom) -> Atom:
    return atom._replace(name="SD", element="S") if atom.element == "SE" else atom


def bonded(first: list[Atom], second: list[Atom]) -> bool:
    """Whether a peptide bond or a phosphodiester leads from one residue to the next."""
    for end, start, most in (("C", "N", PEPTIDE_ANGSTROM), ("O3'", "P", PHOSPHODIESTER_ANGSTROM)):
        a = next((atom for atom in first if atom.name == end), None)
        b = next((atom for atom in second if atom.name == start), None)
        if a and b:
            return math.dist(a.position, b.position) <= most
    return False


def report_chain(residues: dict[Residue, list[Atom]], missing: list[Residue], report: dict[str, Any]) -> None:
    """Insertion codes, residues that were not seen, and breaks in the chains, which a file may leave unsaid."""
    listed(report, "insertionCodes", [residue.record() for residue in residues if residue.insertion_code])
    listed(report, "missingResidues", [residue.record() for residue in missing])
    breaks, members = [], chain_members(residues)
    chain = [residue for residue in residues if residue in members]
    for before, after in zip(chain, chain[1:]):
        if before.chain == after.chain and not bonded(residues[before], residues[after]):
            breaks.append({"after": before.record(), "before": after.record(), "residuesBetween": max(after.number - before.number - 1, 0)})
    listed(report, "chainBreaks", breaks)


class Numbering:
    """Working ids: a chain of one letter and a number without insertion code, for PDB2PQR and Meeko; and the chain, number and
    insertion code that stand in the written files, which are the author's wherever the PDB format's columns hold them."""

    def __init__(self, residues: dict[Residue, list[Atom]]) -> None:
        chains = list(dict.fromkeys(residue.chain for residue in residues))
        self.free = iter([letter for letter in CHAIN_LETTERS if letter not in chains])
        self.letters = {chain: chain if len(chain) == 1 and chain in CHAIN_LETTERS else self.free_letter() for chain in chains}
        self.working: dict[Residue, str] = {}
        self.author: dict[str, Residue] = {}
        segments = dict(self.letters)
        last: dict[str, tuple[int, Residue]] = {}
        ended: set[str] = set()
        for residue, atoms in residues.items():
            if residue.chain in ended and is_polymer(residue.name):  # PDB2PQR begins another chain here, of its own naming
                segments[residue.chain] = self.free_letter()
                last.pop(residue.chain)
                ended.remove(residue.chain)
            if residue.name in AMINO_ACIDS and any(atom.name == "OXT" for atom in atoms):
                ended.add(residue.chain)
            number, before = last.get(residue.chain, (-1, None))
            number += 1 if before is not None and bonded(residues[before], atoms) else 2  # a step shows that there is no bond
            if number > MAX_WORKING_NUMBER:
                raise user_error("RECEPTOR_TOO_LARGE", f"Chain {residue.chain or '(blank)'} of the receptor has too many residues to be prepared.")
            last[residue.chain] = number, residue
            key = f"{segments[residue.chain]}:{number}"
            self.working[residue], self.author[key] = key, residue
        self.in_files = self.file_ids(residues)

    def free_letter(self) -> str:
        letter = next(self.free, None)
        if letter is None:
            raise user_error("RECEPTOR_TOO_LARGE", f"The receptor has more chains than the {len(CHAIN_LETTERS)} that can be prepared; choose some with receptorChains.")
        return letter

    def file_ids(self, residues: Iterable[Residue]) -> dict[Residue, tuple[str, int, str]]:
        ids, taken = {}, set()
        for residue in sorted(residues, key=lambda residue: not fits(residue)):
            if fits(residue):
                ids[residue] = (residue.chain, residue.number, residue.insertion_code)
            else:
                letter = residue.chain if len(residue.chain) <= 1 and residue.chain.isascii() else self.letters[residue.chain]
                number = residue.number if residue.number in NUMBERS_IN_FILES else 1
                while (letter, number, residue.insertion_code[:1]) in taken:
                    number += 1
                ids[residue] = (letter, number, residue.insertion_code[:1])
            taken.add(ids[residue])
        return ids

    def renamed(self) -> dict[str, list[Any]]:
        """Author's chain, number and insertion code by the ones in the files, where they differ."""
        return {
            f"{letter}:{number}:{code}": [residue.chain, residue.number, residue.insertion_code]
            for residue, (letter, number, code) in self.in_files.items() if (letter, number, code) != residue[:3]
        }  # fmt: skip

    def note(self) -> list[str]:
        changed = {r.chain: ids[0] for r, ids in self.in_files.items() if r.chain != ids[0]}
        notes = []
        if changed:
            notes.append("the PDB format holds chains of one letter: " + named(f"{chain} is {letter}" for chain, letter in changed.items()) + " in the written files")
        if any(r.number != ids[1] for r, ids in self.in_files.items()):
            notes.append("residue numbers that the PDB format's four columns do not hold are others in the written files; serials.json lists them")
        return notes


def fits(residue: Residue) -> bool:
    """Whether the PDB format's columns hold the residue's chain, number and insertion code."""
    return len(residue.chain) <= 1 and residue.chain.isascii() and residue.number in NUMBERS_IN_FILES and len(residue.insertion_code) <= 1
