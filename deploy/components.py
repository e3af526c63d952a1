#!/usr/bin/env python3
"""Makes a dictionary of small molecules from the wwPDB Chemical Component Dictionary.

    python deploy/components.py SOURCE --output components.jsonl.gz [--only STI,ATP] [--processes 4]

SOURCE is one of
  - a BinaryCIF file that holds the dictionary in one block (components.bcif), or a wheel or zip file with one inside,
  - the dictionary as mmCIF (components.cif or components.cif.gz),
  - a directory of mmCIF files, one or more components each, at any depth.

Writes gzip'd JSON lines sorted by component id: {"id", "name", "synonyms", "formula", "type", "smiles", "inchiKey"}. The same
SOURCE gives the same bytes. Names, formulas and types are the dictionary's. The SMILES is RDKit's canonical isomeric one, from
the source's descriptors where it has them, else from atoms, bonds, charges and ideal coordinates (model coordinates where
there are no ideal ones); bonds to metals that would break an atom's valence become dative. Prints one JSON line: what was
written and what was left out, by reason. Needs numpy, RDKit, and for mmCIF gemmi.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import re
import struct
import sys
import time
import zipfile
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple

import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Geometry import Point3D

MAX_SYNONYMS = 20
MAX_NAME_CHARS = 300  # the longest systematic names of small molecules; what is longer nobody types
MAX_ATOMS = 600  # with hydrogens; larger components are clusters and polymers, and InChI takes minutes on them
MAX_SOURCE_BYTES = 2 << 30
BLOCK_START = re.compile(r"data_\S", re.IGNORECASE)
ORDERS = {
    "SING": Chem.BondType.SINGLE,
    "DOUB": Chem.BondType.DOUBLE,
    "TRIP": Chem.BondType.TRIPLE,
    "QUAD": Chem.BondType.QUADRUPLE,
    "AROM": Chem.BondType.AROMATIC,
    "DELO": Chem.BondType.AROMATIC,
}
NON_METALS = frozenset((1, 2, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17, 18, 33, 34, 35, 36, 52, 53, 54, 85, 86))
DESCRIPTORS = (("SMILES_CANONICAL", "OpenEye OEToolkits"), ("SMILES_CANONICAL", "CACTVS"), ("SMILES", "CACTVS"))


class SourceError(Exception):
    """The source is not a component dictionary that this program reads."""


class LeftOut(Exception):
    """A component has no place in the dictionary; the message is the reason that is counted."""


class Atom(NamedTuple):
    name: str
    element: str
    charge: int
    ideal: tuple[float, float, float]  # Å, NaN where the dictionary has none
    model: tuple[float, float, float]


class Component(NamedTuple):
    id: str
    name: str
    synonyms: str  # as in the dictionary: separated by semicolons
    formula: str
    type: str
    status: str  # REL released, OBS obsolete, HOLD and others
    atoms: list[Atom]
    bonds: list[tuple[str, str, str]]  # two atom names and the order
    descriptors: dict[tuple[str, str], str]  # by type and program


# BinaryCIF: MessagePack, and columns packed by a chain of encodings (BinaryCIF specification 0.3, molstar/BinaryCIF).


def unpack_message(buffer: memoryview) -> Any:
    """The object that a MessagePack buffer holds. Maps, arrays, texts, bytes and numbers, which is all that BinaryCIF uses."""
    value, end = unpack_value(buffer, 0)
    if end != len(buffer):
        raise SourceError("the BinaryCIF file goes on after its end")
    return value


NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
SIZED = {
    0xC4: ("bytes", ">B"),
    0xC5: ("bytes", ">H"),
    0xC6: ("bytes", ">I"),
    0xD9: ("text", ">B"),
    0xDA: ("text", ">H"),
    0xDB: ("text", ">I"),
    0xDC: ("array", ">H"),
    0xDD: ("array", ">I"),
    0xDE: ("map", ">H"),
    0xDF: ("map", ">I"),
}


def unpack_value(buffer: memoryview, at: int) -> tuple[Any, int]:
    """The value that starts at a place of the buffer, and the place after it."""
    head, at = buffer[at], at + 1
    if head <= 0x7F:
        return head, at
    if head >= 0xE0:
        return head - 0x100, at
    if head in CONSTANTS:
        return CONSTANTS[head], at
    if head in NUMBERS:
        layout = NUMBERS[head]
        return struct.unpack_from(layout, buffer, at)[0], at + struct.calcsize(layout)
    if head in SIZED:
        kind, layout = SIZED[head]
        size, at = struct.unpack_from(layout, buffer, at)[0], at + struct.calcsize(layout)
    elif head <= 0x8F:
        kind, size = "map", head & 0x0F
    elif head <= 0x9F:
        kind, size = "array", head & 0x0F
    elif head <= 0xBF:
        kind, size = "text", head & 0x1F
    else:
        raise SourceError(f"the BinaryCIF file holds a MessagePack value of the unknown kind {head:#x}")
    return unpack_sized(buffer, at, kind, size)


def unpack_sized(buffer: memoryview, at: int, kind: str, size: int) -> tuple[Any, int]:
    if kind in ("bytes", "text"):
        content = bytes(buffer[at : at + size])
        if len(content) < size:
            raise SourceError("the BinaryCIF file ends early")
        return (content if kind == "bytes" else content.decode("utf-8")), at + size
    items = []
    for _ in range(size * (2 if kind == "map" else 1)):
        item, at = unpack_value(buffer, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if kind == "map" else items), at


DTYPES = {1: "<i1", 2: "<i2", 3: "<i4", 4: "<u1", 5: "<u2", 6: "<u4", 32: "<f4", 33: "<f8"}


def decode(data: Any, encodings: list[dict[str, Any]]) -> np.ndarray:
    for encoding in reversed(encodings):
        data = decode_step(data, encoding)
    return data


def decode_step(data: Any, encoding: dict[str, Any]) -> np.ndarray:
    kind = encoding["kind"]
    if kind == "ByteArray":
        return np.frombuffer(data, DTYPES[encoding["type"]])
    if kind == "IntegerPacking":
        return unpack_integers(data, encoding)
    if kind == "RunLength":
        return np.repeat(data[::2], data[1::2])
    if kind == "Delta":
        return np.cumsum(data, dtype=np.int64) + encoding["origin"]
    if kind == "FixedPoint":
        return data / encoding["factor"]
    if kind == "IntervalQuantization":
        low, high, steps = encoding["min"], encoding["max"], encoding["numSteps"]
        return low + data * ((high - low) / (steps - 1))
    if kind == "StringArray":
        offsets = decode(encoding["offsets"], encoding["offsetEncoding"])
        text = encoding["stringData"]
        words = np.array([text[start:end] for start, end in zip(offsets, offsets[1:])] + [""], dtype=object)
        return words[decode(data, encoding["dataEncoding"])]  # −1 marks an absent text and finds the last, empty word
    raise SourceError(f"the BinaryCIF file uses the unknown encoding {kind}")


def unpack_integers(data: np.ndarray, encoding: dict[str, Any]) -> np.ndarray:
    """A value at the limit of its width goes on in the next one; their sum is meant."""
    if len(data) == encoding["srcSize"]:
        return data.astype(np.int64)
    bits = 8 * encoding["byteCount"]
    if encoding["isUnsigned"]:
        goes_on = data == (1 << bits) - 1
    else:
        goes_on = (data == (1 << (bits - 1)) - 1) | (data == -(1 << (bits - 1)))
    ends = np.flatnonzero(~goes_on)
    return np.add.reduceat(data.astype(np.int64), np.concatenate(([0], ends[:-1] + 1)))


class Category:
    """A category of a BinaryCIF block whose rows are read by component. Rows of one component stand together."""

    def __init__(self, category: dict[str, Any], id_column: str) -> None:
        self.columns = {column["name"]: column for column in category["columns"]}
        ids = self.column(id_column)
        starts = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1, [len(ids)])) if len(ids) else np.array([0])
        self.rows = {str(ids[start]): slice(int(start), int(end)) for start, end in zip(starts, starts[1:])}

    def column(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise SourceError(f"the component dictionary has no column {name}")
        data = self.columns[name]["data"]
        return decode(data["data"], data["encoding"])

    def text(self, name: str) -> np.ndarray:
        """A column as text, "" where the dictionary says nothing."""
        values, mask = self.column(name), self.columns[name].get("mask")
        return values if mask is None else np.where(decode(mask["data"], mask["encoding"]) == 0, values, "")

    def numbers(self, name: str) -> np.ndarray:
        values, mask = self.column(name).astype(float), self.columns[name].get("mask")
        return values if mask is None else np.where(decode(mask["data"], mask["encoding"]) == 0, values, np.nan)


def from_bcif(content: bytes) -> Iterator[Component]:
    """Components of a BinaryCIF file that holds the whole dictionary in one block."""
    try:
        block = unpack_message(memoryview(content))["dataBlocks"][0]
        found = {category["name"].lstrip("_"): category for category in block["categories"]}
        components = Category(found["chem_comp"], "id")
        atoms, bonds = Category(found["chem_comp_atom"], "comp_id"), Category(found["chem_comp_bond"], "comp_id")
        fields = [components.text(name) for name in ("name", "pdbx_synonyms", "formula", "type", "pdbx_release_status")]
        labels = [atoms.text("atom_id"), atoms.text("type_symbol"), np.nan_to_num(atoms.numbers("charge")).astype(int)]
        ideal = np.stack([atoms.numbers(f"pdbx_model_Cartn_{axis}_ideal") for axis in "xyz"], axis=1)
        model = np.stack([atoms.numbers(f"model_Cartn_{axis}") for axis in "xyz"], axis=1)
        links = [bonds.text(name) for name in ("atom_id_1", "atom_id_2", "value_order")]
    except (KeyError, IndexError, TypeError, ValueError, struct.error) as error:
        raise SourceError(
            f"this is no BinaryCIF file with chem_comp, chem_comp_atom and chem_comp_bond in one block ({error!r})"
        ) from error
    for id, row in components.rows.items():
        part, bond_part = atoms.rows.get(id, slice(0)), bonds.rows.get(id, slice(0))
        listed = zip(*(column[part].tolist() for column in (*labels, ideal, model)))
        yield Component(
            id,
            *(str(field[row.start]) for field in fields),
            [Atom(name, element, charge, tuple(i), tuple(m)) for name, element, charge, i, m in listed],
            list(zip(*(column[bond_part].tolist() for column in links))),
            {},
        )


def from_mmcif(lines: Iterable[str]) -> Iterator[Component]:
    """Components of mmCIF text, one block each. Reads block by block, because the whole dictionary takes gigabytes."""
    block: list[str] = []
    in_text = False
    for line in lines:
        if line.startswith(";"):
            in_text = not in_text
        elif not in_text and BLOCK_START.match(line) and block:
            yield from parse_block("".join(block))
            block = []
        block.append(line)
    yield from parse_block("".join(block))


def parse_block(text: str) -> Iterator[Component]:
    import gemmi

    try:
        document = gemmi.cif.read_string(text)
    except ValueError as error:
        raise SourceError(f"the mmCIF text cannot be read: {error}") from error
    for block in document:
        if block.find_value("_chem_comp.id"):
            yield from_block(block)


def from_block(block: Any) -> Component:
    from gemmi import cif

    def value(tag: str) -> str:
        found = block.find_value("_chem_comp." + tag)
        return "" if found is None or cif.is_null(found) else cif.as_string(found)

    def rows(prefix: str, tags: list[str]) -> Iterator[list[str]]:
        for row in block.find(prefix, tags):
            yield ["" if not row.has(i) or cif.is_null(row[i]) else row.str(i) for i in range(len(tags))]

    axes = [f"pdbx_model_Cartn_{axis}_ideal" for axis in "xyz"], [f"model_Cartn_{axis}" for axis in "xyz"]
    optional = ["?" + tag for tag in ["charge", *axes[0], *axes[1]]]
    atoms = [
        Atom(name, element, int(charge or 0), tuple(number(c) for c in xyz[:3]), tuple(number(c) for c in xyz[3:]))
        for name, element, charge, *xyz in rows("_chem_comp_atom.", ["atom_id", "type_symbol", *optional])
    ]
    bonds = [tuple(row) for row in rows("_chem_comp_bond.", ["atom_id_1", "atom_id_2", "value_order"])]
    descriptors = {
        (kind, program): text for kind, program, text in rows("_pdbx_chem_comp_descriptor.", ["type", "program", "descriptor"])
    }
    synonyms = ";".join([value("pdbx_synonyms"), *(row[0] for row in rows("_pdbx_chem_comp_synonyms.", ["name"]))])
    return Component(
        value("id"),
        value("name"),
        synonyms,
        value("formula"),
        value("type"),
        value("pdbx_release_status"),
        atoms,
        bonds,
        descriptors,
    )


def number(text: str) -> float:
    return float(text) if text else float("nan")


def read_components(source: Path) -> Iterator[Component]:
    """Every component of a source, in the source's order. Raises SourceError."""
    if source.is_dir():
        files = sorted(path for path in source.rglob("*") if path.name.lower().endswith((".cif", ".cif.gz")))
        if not files:
            raise SourceError(f"{source} holds no .cif files")
        for path in files:
            yield from read_components(path)
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            inside = [entry for entry in archive.infolist() if entry.filename.endswith("components.bcif")]
            if len(inside) != 1 or inside[0].file_size > MAX_SOURCE_BYTES:
                raise SourceError(f"{source} does not hold one components.bcif")
            content = archive.read(inside[0])
        yield from from_bcif(content)
    elif source.name.lower().endswith(".bcif"):
        yield from from_bcif(source.read_bytes())
    elif source.name.lower().endswith((".cif", ".cif.gz")):
        opener = gzip.open if source.suffix.lower() == ".gz" else open
        with opener(source, "rt", encoding="utf-8", errors="replace") as file:
            yield from from_mmcif(file)
    else:
        raise SourceError(f"{source} is none of .bcif, .whl, .zip, .cif, .cif.gz and a directory")


def molecule_of(component: Component) -> tuple[Chem.Mol, str | None]:
    """The component's molecule without hydrogens, and the source's InChIKey. Raises LeftOut."""
    if not any(atom.element.upper() not in ("H", "D") for atom in component.atoms):
        raise LeftOut("no heavy atoms")
    if any(atom.element.upper() in ("X", "*") for atom in component.atoms):
        raise LeftOut("an atom whose element is not known")
    if len(component.atoms) > MAX_ATOMS:
        raise LeftOut(f"more than {MAX_ATOMS} atoms")
    for kind in DESCRIPTORS:
        smiles = component.descriptors.get(kind)
        molecule = Chem.MolFromSmiles(smiles) if smiles else None
        if molecule is not None:
            return molecule, next((text for (name, _), text in component.descriptors.items() if name == "InChIKey"), None)
    return from_atoms(component), None


def from_atoms(component: Component) -> Chem.Mol:
    editable = Chem.RWMol()
    places: dict[str, int] = {}
    for atom in component.atoms:
        try:
            added = Chem.Atom("H" if atom.element.upper() == "D" else atom.element.capitalize())
        except RuntimeError:
            raise LeftOut("an atom whose element is not known") from None
        added.SetFormalCharge(atom.charge)
        added.SetNoImplicit(True)
        places[atom.name] = editable.AddAtom(added)
    for first, second, order in component.bonds:
        if first not in places or second not in places or order.upper() not in ORDERS:
            raise LeftOut("a bond that is not between two of its atoms or has no order")
        editable.AddBond(places[first], places[second], ORDERS[order.upper()])
    give_metals_dative_bonds(editable)
    molecule = editable.GetMol()
    add_coordinates(molecule, component.atoms)
    try:
        Chem.SanitizeMol(molecule)
    except (ValueError, RuntimeError):
        raise LeftOut("not a valid molecule") from None
    if molecule.GetNumConformers():
        Chem.AssignStereochemistryFrom3D(molecule)
        forget_accidental_stereo(molecule)
    return Chem.RemoveHs(molecule)


def give_metals_dative_bonds(molecule: Chem.RWMol) -> None:
    """The dictionary writes a haem's four Fe–N bonds as single. A bond by which an atom exceeds its valence donates its pair."""
    table = Chem.GetPeriodicTable()
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() not in NON_METALS:
            continue
        metals = [bond for bond in atom.GetBonds() if bond.GetOtherAtom(atom).GetAtomicNum() not in NON_METALS]
        most = max(table.GetValenceList(atom.GetAtomicNum())) + (
            atom.GetFormalCharge() if atom.GetAtomicNum() in (7, 8, 15, 16) else 0
        )
        excess = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) - most
        for bond in metals:
            if excess <= 0:
                break
            excess -= bond.GetBondTypeAsDouble()
            metal = bond.GetOtherAtomIdx(atom.GetIdx())
            molecule.RemoveBond(atom.GetIdx(), metal)
            molecule.AddBond(atom.GetIdx(), metal, Chem.BondType.DATIVE)


def add_coordinates(molecule: Chem.Mol, atoms: list[Atom]) -> None:
    for places in ([atom.ideal for atom in atoms], [atom.model for atom in atoms]):
        if np.isfinite(places).all() and np.ptp(places, axis=0).max(initial=0) > 0:
            conformer = Chem.Conformer(len(atoms))
            for index, place in enumerate(places):
                conformer.SetAtomPosition(index, Point3D(*place))
            conformer.Set3D(True)
            molecule.AddConformer(conformer)
            return


def forget_accidental_stereo(molecule: Chem.Mol) -> None:
    """Coordinates give a configuration to what has none as a substance: the hydrogen of a C=N–H, a phosphate's P between
    =O and OH, and the metal of a complex."""
    for bond in molecule.GetBonds():
        for atom in (bond.GetBeginAtom(), bond.GetEndAtom()):
            if (
                bond.GetBondType() == Chem.BondType.DOUBLE
                and atom.GetAtomicNum() == 7
                and atom.GetTotalNumHs(includeNeighbors=True)
            ):
                bond.SetStereo(Chem.BondStereo.STEREONONE)
                for link in atom.GetBonds():
                    if link.GetOtherAtom(atom).GetAtomicNum() == 1:
                        link.SetBondDir(Chem.BondDir.NONE)  # a mark would keep the hydrogen
    for atom in molecule.GetAtoms():
        heavy = [n for n in atom.GetNeighbors() if n.GetAtomicNum() > 1]
        terminal = [n.GetAtomicNum() for n in heavy if sum(m.GetAtomicNum() > 1 for m in n.GetNeighbors()) == 1]
        oxo_acid = atom.GetAtomicNum() in (15, 16, 33) and any(terminal.count(element) > 1 for element in (8, 16, 34))
        if oxo_acid or atom.GetAtomicNum() not in NON_METALS:
            atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)


def inchi_key_of(molecule: Chem.Mol) -> str | None:
    """The standard InChIKey. InChI takes metals apart itself but does not know dative bonds, so those go first."""
    editable = Chem.RWMol(molecule)
    for bond in list(molecule.GetBonds()):
        if bond.GetBondType() == Chem.BondType.DATIVE:
            editable.RemoveBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
    editable.UpdatePropertyCache(strict=False)
    return Chem.MolToInchiKey(editable.GetMol()) or None


def entry_of(component: Component) -> tuple[str, dict[str, Any] | str]:
    """The component's id and its entry, or the reason why it has none."""
    if component.status == "OBS":
        return component.id, "obsolete"
    try:
        molecule, inchi_key = molecule_of(component)
        smiles = Chem.MolToSmiles(molecule)
        if Chem.MolFromSmiles(smiles) is None:
            raise LeftOut("not a valid molecule")
    except LeftOut as reason:
        return component.id, str(reason)
    names = [clean(name) for name in component.synonyms.split(";")]
    synonyms = list(dict.fromkeys(name for name in names if name and len(name) <= MAX_NAME_CHARS and name != clean(component.name)))
    return component.id, {
        "id": component.id,
        "name": clean(component.name)[:MAX_NAME_CHARS],
        "synonyms": synonyms[:MAX_SYNONYMS],
        "formula": component.formula,
        "type": component.type,
        "smiles": smiles,
        "inchiKey": inchi_key or inchi_key_of(molecule),
    }


def clean(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def write_dictionary(path: Path, entries: Iterable[dict[str, Any]]) -> int:
    """Writes the lines so that the file is either absent or complete, and the same to the byte each time. Returns its bytes."""
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as file:
        for entry in entries:
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    os.replace(temporary, path)
    return path.stat().st_size


def silence() -> None:
    RDLogger.DisableLog("rdApp.*")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "source", type=Path, help="a component dictionary: .bcif, a wheel or zip with components.bcif, .cif, .cif.gz or a directory"
    )
    parser.add_argument("--output", type=Path, required=True, help="the dictionary to write: gzip'd JSON lines")
    parser.add_argument("--only", default="", help="component ids separated by commas (default: all)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="processes that work at the same time (default: one a core)"
    )
    arguments = parser.parse_args()
    began = time.monotonic()
    wanted = {id.strip().upper() for id in arguments.only.split(",") if id.strip()}
    entries: dict[str, dict[str, Any]] = {}
    left_out: dict[str, int] = {}
    try:
        chosen = (c for c in read_components(arguments.source) if not wanted or c.id.upper() in wanted)
        with multiprocessing.get_context("fork").Pool(max(arguments.processes, 1), silence) as pool:
            for id, entry in pool.imap(entry_of, chosen, chunksize=50):
                if isinstance(entry, str):
                    left_out[entry] = left_out.get(entry, 0) + 1
                else:
                    entries[id] = entry
        if not entries:
            raise SourceError(f"{arguments.source} gives no component" + (f" of {arguments.only}" if wanted else ""))
        size = write_dictionary(arguments.output, (entries[id] for id in sorted(entries)))
    except (SourceError, OSError) as error:
        print(f"components.py: {error}", file=sys.stderr)
        return 1
    report = {
        "entries": len(entries),
        "leftOut": dict(sorted(left_out.items())),
        "bytes": size,
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
