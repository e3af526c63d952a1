"""Residues of a receptor: which names are what, one alternate location each, which are joined in chains, and the one-letter chains
and small numbers that PDB2PQR and Meeko can read.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Iterable

from structure import CHAIN_LETTERS, Atom, Residue, named
from task import Failure, user_error

MAX_ATOMS = 100_000  # the PDB format's five-digit serial number
MAX_LISTED = 200  # residues of one kind in the report
MAX_WORKING_NUMBER = 9999  # the PDB format's four-digit residue number
NUMBERS_IN_FILES = range(-999, 10_000)

WATERS = frozenset("HOH WAT DOD H2O SOL TIP TIP3 TP3".split())
HISTIDINES = frozenset("HIS HID HIE HIP HSD HSE HSP".split())
AMINO_ACIDS = (
    frozenset("ALA ARG ASN ASP CYS GLN GLU GLY ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL ASH GLH LYN CYX CYM MSE".split())
    | HISTIDINES
)
NUCLEOTIDES = frozenset("A C G U DA DC DG DT".split())
HYDROGENS = frozenset("H D".split())
METALS = frozenset(
    "LI BE NA MG AL K CA SC TI V CR MN FE CO NI CU ZN GA RB SR Y ZR NB MO RU RH PD AG CD IN SN CS BA LA CE EU GD TB YB HF TA W RE "
    "OS IR PT AU HG TL PB BI U".split()
)
PEPTIDE_ANGSTROM, PHOSPHODIESTER_ANGSTROM = 2.0, 2.2  # two residues farther apart are not bonded; the bonds have 1.33 and 1.61 Å


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
        for key, counts in weight.items()
        if len(counts) > 1 and names[key].name not in WATERS
    ]
    listed(report, "alternateLocations", records)
    return kept


def chain_members(residues: dict[Residue, list[Atom]]) -> set[Residue]:
    """The residues that a peptide bond or a phosphodiester joins to a neighbour; ATP alone has a nucleotide's backbone, too."""
    members: set[Residue] = set()
    chain = [residue for residue in residues if residue.name not in WATERS]
    for before, after in zip(chain, chain[1:]):
        if before.chain == after.chain and bonded(residues[before], residues[after]):
            members |= {before, after}
    return members


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
            breaks.append(
                {"after": before.record(), "before": after.record(), "residuesBetween": max(after.number - before.number - 1, 0)}
            )
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
                raise user_error(
                    "RECEPTOR_TOO_LARGE",
                    f"Chain {residue.chain or '(blank)'} of the receptor has too many residues to be prepared.",
                )
            last[residue.chain] = number, residue
            key = f"{segments[residue.chain]}:{number}"
            self.working[residue], self.author[key] = key, residue
        self.in_files = self.file_ids(residues)

    def free_letter(self) -> str:
        letter = next(self.free, None)
        if letter is None:
            raise user_error(
                "RECEPTOR_TOO_LARGE",
                f"The receptor has more chains than the {len(CHAIN_LETTERS)} that can be prepared; choose some with "
                f"receptorChains.",
            )
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
            for residue, (letter, number, code) in self.in_files.items()
            if (letter, number, code) != residue[:3]
        }

    def note(self) -> list[str]:
        changed = {r.chain: ids[0] for r, ids in self.in_files.items() if r.chain != ids[0]}
        notes = []
        if changed:
            notes.append(
                "the PDB format holds chains of one letter: "
                + named(f"{chain} is {letter}" for chain, letter in changed.items())
                + " in the written files"
            )
        if any(r.number != ids[1] for r, ids in self.in_files.items()):
            notes.append(
                "residue numbers that the PDB format's four columns do not hold are others in the written files; serials.json "
                "lists them"
            )
        return notes


def fits(residue: Residue) -> bool:
    """Whether the PDB format's columns hold the residue's chain, number and insertion code."""
    return (
        len(residue.chain) <= 1
        and residue.chain.isascii()
        and residue.number in NUMBERS_IN_FILES
        and len(residue.insertion_code) <= 1
    )
