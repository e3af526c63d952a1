"""Reads a receptor's file, PDB or mmCIF, and picks the model, the chains and the assembly of a request.

Atoms keep what the authors gave them: chain, residue number, insertion code, alternate location and serial number. A file that
cannot be understood is a USER_INPUT failure that names the line or the item.
"""

from __future__ import annotations

import math
import re
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any, Iterable, NamedTuple

import gemmi

from pdbqt import MAX_COORDINATE, is_atom
from task import one_line, user_error

MAX_READ_ATOMS = 400_000  # of one model or assembly, with waters; bounds the memory of reading
MAX_GENERATORS = 1000  # parts of an assembly's definition; a virus has a few
MAX_NAMED = 12  # chains, models, assemblies or ligands in a message
MAX_MISSING_RESIDUES = 2000

PDB_COLUMNS = 80
PDB_RECORDS = ("ATOM", "HETATM", "TER", "MODEL", "ENDMDL", "REMARK 350")
RESIDUE_NUMBER = re.compile(r"-?[0-9]+|[A-Za-z][0-9A-Za-z]{3}")  # the second form is hybrid-36, for numbers above 9999
REMARK_465 = re.compile(r"REMARK 465\s+(?:\d+\s+)?([A-Z0-9]{1,3})\s+(\S)\s+(-?\d+)([A-Za-z]?)\s*")

CHAIN_LETTERS = ascii_uppercase + ascii_lowercase + digits
POLYMER_ELEMENTS = frozenset("H D C N O P S SE".split())


class Residue(NamedTuple):
    chain: str
    number: int
    insertion_code: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} {self.number}{self.insertion_code} of chain {self.chain or '(blank)'}"

    def record(self) -> dict[str, Any]:
        return {"chain": self.chain, "residue": self.number, "insertionCode": self.insertion_code, "residueName": self.name}


class Atom(NamedTuple):
    residue: Residue
    name: str
    element: str  # upper case
    altloc: str
    position: tuple[float, float, float]  # Å
    occupancy: float
    serial: int  # in the given file
    polymer: bool  # an ATOM record; HETATM otherwise
    subchain: str  # mmCIF's label_asym_id, by which its assemblies are defined


class Structure(NamedTuple):
    format: str  # pdb, mmcif or pdbqt
    atoms: list[Atom]  # of the selection
    missing: list[Residue]  # that the file says were not seen
    block: Any  # the mmCIF data block, or None
    selected: dict[str, Any]  # for the report: what the selection did
    notes: list[str]

    def residues(self) -> dict[Residue, list[Atom]]:
        """Each residue's atoms, residues in the order in which they first appear."""
        found: dict[Residue, list[Atom]] = {}
        for atom in self.atoms:
            found.setdefault(atom.residue, []).append(atom)
        return found


def unreadable(message: str) -> Exception:
    return user_error("RECEPTOR_UNREADABLE", message)


def named(names: Iterable[Any]) -> str:
    """A list for a message, cut after MAX_NAMED."""
    listed = [one_line(str(name), 60) for name in names]
    return (
        ", ".join(listed[:MAX_NAMED]) + (f" and {len(listed) - MAX_NAMED} more" if len(listed) > MAX_NAMED else "")
        if listed
        else "none"
    )


def read_pdb(text: str) -> tuple[gemmi.Structure, list[Residue]]:
    """gemmi's structure of the coordinate records, each checked first: gemmi takes a coordinate that is no number for 0."""
    kept, missing = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        if is_atom(line):
            check_pdb_atom(number, line)
        elif line.startswith("REMARK 465") and len(missing) < MAX_MISSING_RESIDUES:
            match = REMARK_465.fullmatch(line[:PDB_COLUMNS])
            if match:
                missing.append(Residue(match[2], int(match[3]), match[4], match[1]))
        if line.startswith(PDB_RECORDS):
            kept.append(line[:PDB_COLUMNS])
    if not any(map(is_atom, kept)):
        raise unreadable("The receptor has no ATOM records; it must be a PDB, mmCIF or PDBQT file.")
    try:
        return gemmi.read_pdb_string("\n".join(kept).encode("ascii", "replace").decode() + "\n"), missing
    except (RuntimeError, ValueError) as error:
        raise unreadable(f"The receptor is not readable as PDB: {one_line(str(error), 200)}.") from error


def check_pdb_atom(number: int, line: str) -> None:
    where = f"Line {number} of the receptor"
    for start in (30, 38, 46):
        try:
            value = float(line[start : start + 8])
        except ValueError:
            raise unreadable(f"{where}: its coordinates are not numbers.") from None
        if not (math.isfinite(value) and abs(value) <= MAX_COORDINATE):
            raise unreadable(f"{where}: its coordinates are out of range.")
    if not RESIDUE_NUMBER.fullmatch(line[22:26].strip()):
        raise unreadable(f"{where}: its residue number (columns 23 to 26) is not a number.")


def read_mmcif(text: str) -> tuple[gemmi.Structure, list[Residue], Any]:
    """The structure in the first data block that has atoms, and that block."""
    try:
        document = gemmi.cif.read_string(text)
        for block in document:
            if len(block.find_values("_atom_site.Cartn_x")):
                structure = gemmi.make_structure_from_block(block)
                return structure, unobserved(block), block
    except (RuntimeError, ValueError, IndexError) as error:
        raise unreadable(f"The receptor is not readable as mmCIF: {one_line(str(error), 200)}.") from error
    raise unreadable("The receptor is an mmCIF file without atoms: it has no _atom_site loop with coordinates.")


def unobserved(block: Any) -> list[Residue]:
    items = ["auth_asym_id", "auth_seq_id", "?PDB_ins_code", "auth_comp_id", "?polymer_flag", "?occupancy_flag"]
    found = []
    for row in block.find("_pdbx_unobs_or_zero_occ_residues.", items):
        value = [gemmi.cif.as_string(row[i]) if row.has(i) else "" for i in range(len(items))]
        if value[4] != "N" and value[5] != "0" and re.fullmatch(r"-?\d{1,6}", value[1]) and len(found) < MAX_MISSING_RESIDUES:
            found.append(Residue(one_line(value[0], 16), int(value[1]), one_line(value[2], 4), one_line(value[3], 8)))
    return found


def read_structure(text: str, found: str, request: dict[str, Any]) -> Structure:
    """The selected atoms of a PDB or mmCIF text (found says which)."""
    block = None
    if found == "mmcif":
        parsed, missing, block = read_mmcif(text)
    else:
        parsed, missing = read_pdb(text)
    notes: list[str] = []
    model = choose_model(parsed, request.get("model"), notes)
    if model.count_atom_sites() > MAX_READ_ATOMS:
        raise user_error("RECEPTOR_TOO_LARGE", f"The receptor's model has more than {MAX_READ_ATOMS} atoms.")
    atoms = list(atoms_of(model))
    if not atoms:
        raise unreadable("The receptor has no atoms.")
    chains = {atom.residue.chain for atom in atoms}
    atoms = choose_chains(atoms, request.get("chains"))
    missing = [residue for residue in missing if residue.chain in {atom.residue.chain for atom in atoms}]
    selected = {key: request.get(key) for key in ("assemblyId", "model", "chains")}
    if request.get("assemblyId") is not None:
        atoms, selected["copies"] = build_assembly(parsed, request["assemblyId"], atoms, ChainNames(chains))
        if selected["copies"]:
            made = named(f"{copy['chain']} of {copy['of']}" for copy in selected["copies"])
            notes.append(f"assembly {one_line(request['assemblyId'], 32)} copies chains under new names: {made}")
    return Structure(found, atoms, missing, block, selected, notes)


def choose_model(parsed: gemmi.Structure, wanted: int | None, notes: list[str]) -> gemmi.Model:
    models = {}
    for model in parsed:
        if len(model):
            models.setdefault(model.num, model)
    if not models:
        raise unreadable("The receptor has no atoms.")
    if wanted is None:
        first = next(iter(models))
        if len(models) > 1:
            notes.append(f"the file holds {len(models)} models; model {first} is used")
        return models[first]
    if wanted not in models:
        raise user_error(
            "RECEPTOR_MODEL_MISSING", f"receptorModel is {wanted}, which the receptor does not have; its models: {named(models)}."
        )
    return models[wanted]


def atoms_of(model: gemmi.Model) -> Iterable[Atom]:
    """The model's atoms, parts of one chain together."""
    merged: dict[str, list[gemmi.Chain]] = {}
    for chain in model:
        merged.setdefault(chain.name, []).append(chain)
    for name, parts in merged.items():
        for group in (group for part in parts for group in part):
            residue = Residue(one_line(name, 16), group.seqid.num or 0, group.seqid.icode.strip(), one_line(group.name, 8).upper())
            for atom in group:
                yield made_atom(residue, group, atom)


def made_atom(residue: Residue, group: gemmi.Residue, atom: gemmi.Atom) -> Atom:
    position = (atom.pos.x, atom.pos.y, atom.pos.z)
    name = one_line(atom.name, 8)
    if not all(math.isfinite(c) and abs(c) <= MAX_COORDINATE for c in position):
        raise unreadable(
            f"Atom {name} (serial {atom.serial}) of {residue}: its coordinates are missing, not numbers or out of range."
        )
    element = element_of(atom, name, residue, len(group))
    if element == "X":
        raise unreadable(
            f"Atom {name} (serial {atom.serial}) of {residue}: its element is not known; write it in columns 77 and 78, or as "
            f"type_symbol."
        )
    occupancy = atom.occ if math.isfinite(atom.occ) else 0.0
    altloc = atom.altloc if atom.altloc != "\0" else ""
    return Atom(residue, name, element, altloc, position, occupancy, atom.serial, group.het_flag != "H", group.subchain)


def element_of(atom: gemmi.Atom, name: str, residue: Residue, atoms: int) -> str:
    """The atom's element. Where the file does not give it gemmi goes by the name's columns, which people get wrong: an ion is what
    it is called, and amino acids have no calcium."""
    element = atom.element.name.upper()
    if atoms == 1 and name.upper() == residue.name and gemmi.Element(residue.name).atomic_number > 0:
        return residue.name
    if element not in POLYMER_ELEMENTS and (element == "X" or gemmi.find_tabulated_residue(residue.name).is_amino_acid()):
        letters = name.lstrip(digits).upper()
        element = letters[:1] if letters[:1] in POLYMER_ELEMENTS else element
    return element


def choose_chains(atoms: list[Atom], wanted: list[str] | None) -> list[Atom]:
    """Only the chains asked for, by their authors' names."""
    if wanted is None:
        return atoms
    present = dict.fromkeys(atom.residue.chain for atom in atoms)
    unknown = [chain for chain in wanted if chain not in present]
    if unknown:
        raise user_error(
            "RECEPTOR_CHAIN_MISSING",
            f"receptorChains names {named(unknown)}, which the receptor does not have; its chains: {named(present)}.",
        )
    keep = set(wanted)
    return [atom for atom in atoms if atom.residue.chain in keep]


def build_assembly(
    parsed: gemmi.Structure, wanted: str, atoms: list[Atom], names: ChainNames
) -> tuple[list[Atom], list[dict[str, Any]]]:
    """The atoms of an assembly, and what each copied chain is a copy of. The first operator on a chain keeps its name; names knows
    the names that are taken."""
    assembly = next((a for a in parsed.assemblies if a.name == wanted), None)
    if assembly is None:
        raise user_error(
            "RECEPTOR_ASSEMBLY_MISSING",
            f"receptorAssemblyId is {one_line(wanted, 32)}, which the receptor does not have; its assemblies: "
            f"{named(a.name for a in parsed.assemblies)}.",
        )
    places: dict[tuple[bool, str], list[Atom]] = {}
    for atom in atoms:
        places.setdefault((True, atom.subchain), []).append(atom)
        places.setdefault((False, atom.residue.chain), []).append(atom)
    built: list[Atom] = []
    done: set[tuple[str, str, Any]] = set()
    steps = 0
    for generator in assembly.generators:
        by_subchain = bool(generator.subchains)
        chosen = [a for name in dict.fromkeys(generator.subchains or generator.chains) for a in places.get((by_subchain, name), [])]
        steps += len(chosen) * len(generator.operators)
        if steps > MAX_READ_ATOMS or len(assembly.generators) > MAX_GENERATORS:
            raise user_error(
                "RECEPTOR_TOO_LARGE",
                f"Assembly {one_line(wanted, 32)} has more than {MAX_READ_ATOMS} atoms; choose chains with receptorChains, or no "
                f"assembly.",
            )
        parts = {(a.residue.chain, a.subchain) for a in chosen}
        for operator in generator.operators if chosen else []:
            matrix = tuple(tuple(row) for row in operator.transform.mat.tolist()) + (tuple(operator.transform.vec.tolist()),)
            fresh = {part for part in parts if (*part, matrix) not in done}
            done |= {(*part, matrix) for part in fresh}
            built += [moved(a, matrix, names.of(a.residue.chain, matrix)) for a in chosen if (a.residue.chain, a.subchain) in fresh]
    if not built:
        raise user_error("RECEPTOR_ASSEMBLY_EMPTY", f"Assembly {one_line(wanted, 32)} holds none of the chosen chains.")
    order: dict[str, int] = {}
    for atom in built:
        order.setdefault(atom.residue.chain, len(order))
    return sorted(built, key=lambda atom: order[atom.residue.chain]), names.copies


class ChainNames:
    """Names for the copies of chains: a free letter, else the chain's name with a number."""

    def __init__(self, taken: set[str]) -> None:
        self.taken, self.given, self.copies = set(taken), {}, []  # type: ignore[var-annotated]

    def of(self, chain: str, matrix: Any) -> str:
        known = self.given.setdefault(chain, {})
        if matrix not in known:
            known[matrix] = self.fresh(chain, len(known) + 1) if known else chain
        return known[matrix]

    def fresh(self, chain: str, copy: int) -> str:
        name = next((letter for letter in CHAIN_LETTERS if letter not in self.taken), f"{chain}-{copy}")
        self.taken.add(name)
        self.copies.append({"chain": name, "of": chain})
        return name


def moved(atom: Atom, matrix: Any, chain: str) -> Atom:
    position = tuple(sum(row[k] * atom.position[k] for k in range(3)) + shift for row, shift in zip(matrix[:3], matrix[3]))
    if not all(math.isfinite(c) and abs(c) <= MAX_COORDINATE for c in position):
        raise unreadable("An operator of the assembly moves the receptor out of the range of coordinates.")
    return atom._replace(position=position, residue=atom.residue._replace(chain=chain))
