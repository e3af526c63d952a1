"""Reads a protein structure from PDB, PDBQT or mmCIF text, and writes the PDB files that a pocket finder and people read.

Only heavy atoms of the first model are kept, without waters and with one alternate location a residue. Numbering is the
author's (auth_asym_id, auth_seq_id, insertion code), which papers and viewers use. A file that cannot be read is a Failure of
class USER_INPUT that names the line or the item.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Iterable, NamedTuple

from task import one_line, user_error

MAX_BYTES = 64 << 20
MAX_ATOMS = 99_999  # five digits of a serial number in the PDB format, which the pocket finders read
MIN_ATOMS = 20  # fewer atoms enclose nothing
MAX_RECORDS = 1_000_000  # with hydrogens and waters; bounds the memory of reading
MIN_COORDINATE, MAX_COORDINATE = -999.0, 9989.0  # in Å: what eight columns hold, and what fpocket takes for a real position

CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\v"))  # in no text

CHAIN_LETTERS = ascii_uppercase + ascii_lowercase + digits
RESIDUES_A_LETTER = 9999  # four digits of a residue number in the PDB format
WATERS = frozenset("HOH WAT DOD H2O SOL TIP TP3 TIP3 TIP4 SPC".split())
HYDROGENS = frozenset("H D".split())
TWO_LETTER_ELEMENTS = frozenset(
    "LI BE NA MG AL SI CL CA SC TI CR MN FE CO NI CU ZN GA AS SE BR RB SR MO RU RH PD AG CD IN SN SB CS BA PT AU HG TL PB".split()
)
ONE_LETTER_ELEMENTS = frozenset("H D B C N O F P S K V Y I W U".split())
ELEMENTS = TWO_LETTER_ELEMENTS | ONE_LETTER_ELEMENTS
# AutoDock's atom types that are not spelled like their element.
AUTODOCK_ELEMENTS = {"A": "C", "NA": "N", "NS": "N", "OA": "O", "OS": "O", "SA": "S", "HD": "H", "HS": "H"}


class Residue(NamedTuple):
    chain: str
    number: int
    insertion_code: str
    name: str


class Atom(NamedTuple):
    polymer: bool  # an ATOM record; HETATM otherwise
    name: str
    altloc: str
    residue: Residue
    position: tuple[float, float, float]
    occupancy: float
    b_factor: float
    element: str  # upper case


class Structure(NamedTuple):
    format: str
    atoms: list[Atom]
    report: dict[str, Any]  # what was left out, and notes

    def residues(self) -> list[Residue]:
        """Residues in the order in which they first appear."""
        return list(dict.fromkeys(atom.residue for atom in self.atoms))

    def atoms_by_residue(self) -> dict[Residue, list[int]]:
        """The places of each residue's atoms."""
        places: dict[Residue, list[int]] = {}
        for i, atom in enumerate(self.atoms):
            places.setdefault(atom.residue, []).append(i)
        return places


def unreadable(message: str) -> Exception:
    return user_error("STRUCTURE_UNREADABLE", message)


def read_structure(path: Path) -> Structure:
    content = path.read_bytes()
    if len(content) > MAX_BYTES:
        raise user_error("STRUCTURE_TOO_LARGE", f"The structure has {len(content)} bytes; at most {MAX_BYTES} are allowed.")
    if not content.strip():
        raise unreadable("The structure's file is empty; give a PDB or mmCIF file with the atoms of a protein.")
    if content[:2] == b"\x1f\x8b" or content[:4] == b"PK\x03\x04":
        raise unreadable("The structure is a compressed file; upload it uncompressed, as PDB or mmCIF.")
    if len(content.translate(None, CONTROL_BYTES)) != len(content):
        raise unreadable("The structure is a binary file; it must be PDB or mmCIF text.")
    text = content.decode("utf-8", errors="replace")
    report: dict[str, Any] = {"notes": []}
    if is_mmcif(text):
        found, atoms = "mmcif", read_mmcif(text)
    else:
        found, atoms = read_pdb(text, report)
    return Structure(found, select(atoms, report), report)


def is_mmcif(text: str) -> bool:
    """mmCIF begins with a data block, after comments; a PDB file has neither."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            return line.startswith("data_")
    return False


def read_pdb(text: str, report: dict[str, Any]) -> tuple[str, list[Atom]]:
    """The format, which is pdb or pdbqt, and the atoms of the first model."""
    lines = text.splitlines()
    records = [
        (number, line.ljust(80)) for number, line in enumerate(lines, start=1) if line.startswith(("ATOM  ", "HETATM", "ENDMDL"))
    ]
    first = [line for _, line in records[:50] if not line.startswith("ENDMDL")]
    if not first:
        raise unreadable("The structure has no ATOM records; it must be a PDB or mmCIF file with the atoms of a protein.")
    pdbqt = all(is_number(line[70:76]) and line[77:79].strip() for line in first)
    atoms: list[Atom] = []
    for number, line in records:
        if line.startswith("ENDMDL"):
            if atoms:
                if any(later > number for later, _ in records[-1:]):
                    report["notes"].append("the file holds several models; the first is used")
                break
            continue
        atoms.append(pdb_atom(number, line, pdbqt))
        check_count(len(atoms))
    return ("pdbqt" if pdbqt else "pdb"), atoms


def pdb_atom(number: int, line: str, pdbqt: bool) -> Atom:
    position = tuple(coordinate(line[start : start + 8], f"Line {number} of the structure") for start in (30, 38, 46))
    residue_number = line[22:26].strip()
    if not is_integer(residue_number):
        raise unreadable(f"Line {number} of the structure: its residue number (columns 23 to 26) is not a number.")
    residue = Residue(line[21].strip(), int(residue_number), line[26].strip(), line[17:20].strip().upper())
    polymer = line.startswith("ATOM")
    element = (
        AUTODOCK_ELEMENTS.get(line[77:79].strip().upper(), line[77:79].strip().upper()) if pdbqt else line[76:78].strip().upper()
    )
    if element not in ELEMENTS:
        element = element_of(line[12:16], polymer)
    return Atom(
        polymer,
        line[12:16].strip(),
        line[16].strip(),
        residue,
        position,  # type: ignore[arg-type]
        number_or(line[54:60], 1.0),
        number_or(line[60:66], 0.0),
        element,
    )


def element_of(columns: str, polymer: bool) -> str:
    """The element that an atom's name says: right-justified in the first two of its four columns."""
    letters = columns.strip().lstrip(digits).upper()
    if columns[:1].isalpha() and not polymer and letters[:2] in TWO_LETTER_ELEMENTS:
        return letters[:2]
    return letters[:1] if letters[:1] in ONE_LETTER_ELEMENTS else "C"


MMCIF_ITEMS = (
    "group_PDB ?type_symbol label_atom_id ?auth_atom_id ?label_alt_id label_comp_id ?auth_comp_id label_asym_id ?auth_asym_id "
    "?label_seq_id ?auth_seq_id ?pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z ?occupancy ?B_iso_or_equiv ?pdbx_PDB_model_num"
).split()


def read_mmcif(text: str) -> list[Atom]:
    """The atoms of the first model of the first block that has any."""
    from gemmi import cif

    try:
        document = cif.read_string(text)
    except (ValueError, RuntimeError) as error:
        raise unreadable(f"The structure is not readable as mmCIF: {one_line(str(error), 200)}.") from error
    for block in document:
        table = block.find("_atom_site.", MMCIF_ITEMS)
        if len(table):
            break
    else:
        raise unreadable(
            "The structure is an mmCIF file without atoms: it needs an _atom_site loop with group_PDB, label_atom_id, "
            "label_comp_id, label_asym_id and Cartn_x, Cartn_y, Cartn_z."
        )
    atoms: list[Atom] = []
    model = None
    for place, row in enumerate(table, start=1):
        value = {item.lstrip("?"): cif.as_string(row[i]) if row.has(i) else "" for i, item in enumerate(MMCIF_ITEMS)}
        model = value["pdbx_PDB_model_num"] if model is None else model
        if value["pdbx_PDB_model_num"] != model:
            continue
        atoms.append(mmcif_atom(place, value))
        check_count(len(atoms))
    return atoms


def mmcif_atom(place: int, value: dict[str, str]) -> Atom:
    where = f"Atom {place} of the structure"
    number = value["auth_seq_id"] or value["label_seq_id"] or "0"
    if not is_integer(number):
        raise unreadable(f"{where}: its residue number {one_line(number, 20)} is not a number.")
    name = value["auth_atom_id"] or value["label_atom_id"]
    residue = Residue(
        one_line(value["auth_asym_id"] or value["label_asym_id"], 16),
        int(number),
        one_line(value["pdbx_PDB_ins_code"], 4),
        one_line(value["auth_comp_id"] or value["label_comp_id"], 8).upper(),
    )
    polymer, element = value["group_PDB"].upper() == "ATOM", value["type_symbol"].upper()
    position = tuple(coordinate(value[f"Cartn_{axis}"], where) for axis in "xyz")
    return Atom(
        polymer,
        one_line(name, 4),
        value["label_alt_id"],
        residue,
        position,  # type: ignore[arg-type]
        number_or(value["occupancy"], 1.0),
        number_or(value["B_iso_or_equiv"], 0.0),
        element if element in ELEMENTS else element_of(pdb_name(name, element), polymer),
    )


def check_count(records: int) -> None:
    if records > MAX_RECORDS:
        raise user_error(
            "STRUCTURE_TOO_LARGE",
            f"The structure has more than {MAX_RECORDS} atoms; give one model or one assembly, or only the chains of interest.",
        )


def coordinate(text: str, where: str) -> float:
    value = number_or(text, math.nan)
    if math.isnan(value):
        raise unreadable(f"{where}: its coordinates are not numbers.")
    if not MIN_COORDINATE <= value <= MAX_COORDINATE:
        raise unreadable(
            f"{where}: its coordinates are outside {MIN_COORDINATE:g} to {MAX_COORDINATE:g} Å, which is all that pocket "
            f"finders read."
        )
    return value


def is_number(text: str) -> bool:
    return not math.isnan(number_or(text, math.nan))


def number_or(text: str, otherwise: float) -> float:
    """The finite number that the text holds; Python's own spellings of numbers (1_0, nan) are none."""
    try:
        value = float(text)
    except ValueError:
        return otherwise
    return value if math.isfinite(value) and "_" not in text else otherwise


def is_integer(text: str) -> bool:
    return len(text) <= 9 and text.isascii() and text.removeprefix("-").isdigit()


def select(atoms: list[Atom], report: dict[str, Any]) -> list[Atom]:
    """The heavy atoms without waters, one alternate location a residue, none twice at one place."""
    heavy = [atom for atom in atoms if atom.element not in HYDROGENS]
    dry = [atom for atom in heavy if atom.residue.name not in WATERS]
    kept, places = [], set()
    for atom in choose_alternates(dry, report):
        if atom.position not in places:
            places.add(atom.position)
            kept.append(atom)
    report.update(hydrogensLeftOut=len(atoms) - len(heavy), waterAtomsLeftOut=len(heavy) - len(dry))
    polymer = sum(atom.polymer for atom in kept)
    if polymer == 0:
        waters = report["waterAtomsLeftOut"]
        found = f"{waters} atoms of water" if waters and not kept else "only HETATM records"
        raise user_error(
            "STRUCTURE_NO_PROTEIN",
            f"The structure has no protein: it holds {found} and no other ATOM record. Pockets are found in a protein's own atoms.",
        )
    if polymer < MIN_ATOMS:
        raise user_error(
            "STRUCTURE_TOO_SMALL", f"The structure has {polymer} heavy atoms of protein; fewer than {MIN_ATOMS} enclose no pocket."
        )
    if len(kept) > MAX_ATOMS:
        raise user_error(
            "STRUCTURE_TOO_LARGE",
            f"The structure has {len(kept)} heavy atoms without waters; at most {MAX_ATOMS} are allowed. Give only the chains of "
            f"interest.",
        )
    return kept


def choose_alternates(atoms: list[Atom], report: dict[str, Any]) -> list[Atom]:
    """One alternate location a residue: the one with the greatest occupancy, then the first letter."""
    weight: dict[tuple[str, int, str], Counter[str]] = {}
    for atom in atoms:
        if atom.altloc:
            weight.setdefault(atom.residue[:3], Counter())[atom.altloc] += atom.occupancy  # type: ignore[assignment]
    chosen = {key: min(counts, key=lambda letter: (-counts[letter], letter)) for key, counts in weight.items()}
    report["residuesWithAlternateLocations"] = len(chosen)
    return [a._replace(altloc="") for a in atoms if not a.altloc or a.altloc == chosen[a.residue[:3]]]


# --- PDB text ---


def pdb_name(name: str, element: str) -> str:
    """An atom's name in its four columns."""
    return name[:4].ljust(4) if len(name) >= 4 or len(element) == 2 else f" {name}".ljust(4)


def pdb_line(serial: int, atom: Atom, residue_name: str, chain: str, number: int, insertion_code: str) -> str:
    x, y, z = atom.position
    return (
        f"{'ATOM  ' if atom.polymer else 'HETATM'}{serial:5d} {pdb_name(atom.name, atom.element)} {residue_name[:3]:>3s} {chain:1s}"
        f"{number:4d}{insertion_code[:1]:1s}   {x:8.3f}{y:8.3f}{z:8.3f}{min(max(atom.occupancy, 0), 99):6.2f}"
        f"{min(max(atom.b_factor, -99), 999):6.2f}          {atom.element:>2s}  "
    )


def working_pdb(structure: Structure) -> tuple[str, list[Residue]]:
    """PDB text for a pocket finder, which numbers the residues anew so that insertion codes and long chain names cannot confuse
    it, and the residues in the order of those numbers: residue i is number i % RESIDUES_A_LETTER + 1 of letter i //
    RESIDUES_A_LETTER. A component whose name has more than three letters is called UNL, which no pocket finder takes for an amino
    acid."""
    residues = structure.residues()
    place = {residue: i for i, residue in enumerate(residues)}
    lines = []
    for serial, atom in enumerate(structure.atoms, start=1):
        letter, number = divmod(place[atom.residue], RESIDUES_A_LETTER)
        name = atom.residue.name if len(atom.residue.name) <= 3 else "UNL"
        lines.append(pdb_line(serial, atom, name, CHAIN_LETTERS[letter], number + 1, ""))
    text = "\n".join(["HEADER", *lines, "TER", "END"]) + "\n"
    return text.encode("ascii", "replace").decode("ascii"), residues  # a pocket finder counts bytes for columns


def working_residue(chain: str, number: int) -> int:
    """The place of a residue that a pocket finder names."""
    return CHAIN_LETTERS.index(chain) * RESIDUES_A_LETTER + number - 1


class AuthorPdb:
    """Writes atoms with the author's numbering, as far as the PDB format's columns hold it. chains maps the author's chain to the
    letter in the file; it differs only where a chain's name has more than one letter."""

    def __init__(self, residues: Iterable[Residue]) -> None:
        names = list(dict.fromkeys(residue.chain for residue in residues))
        free = [letter for letter in CHAIN_LETTERS if letter not in names] or list(CHAIN_LETTERS)
        long = [name for name in names if len(name) > 1]
        self.chains = {name: name for name in names} | {name: free[i % len(free)] for i, name in enumerate(long)}

    def line(self, serial: int, atom: Atom) -> str:
        residue = atom.residue
        number = residue.number if -999 <= residue.number <= 9999 else abs(residue.number) % 10_000
        return pdb_line(serial, atom, residue.name, self.chains[residue.chain], number, residue.insertion_code)

    def remarks(self) -> list[str]:
        return [
            f"REMARK 900 CHAIN {letter} IS CHAIN {name} OF THE STRUCTURE" for name, letter in self.chains.items() if name != letter
        ]
