"""What of a receptor is drawn around a pose: the residues it touches, cofactors and metals beside it, and its contacts as
lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rdkit import Chem
from scipy.spatial import cKDTree

from residues import HYDROGENS, METALS, WATERS, is_polymer

NEAR_ANGSTROM = 6.0  # a cofactor or a metal that is nearer to the pose belongs to the site
WATER_ANGSTROM = 3.6  # a water that is nearer may hold it
COORDINATION_ANGSTROM = 2.8  # of a metal, as the analysis has it
CARTOON_ANGSTROM = 15.0  # chains are drawn as far as this from the pose
MAX_RESIDUES = 40  # in contact; a pose has at most as many interactions
BACKBONE = frozenset("N CA C O OXT".split())
# The atoms of a residue that a contact with its ring is drawn to the middle of.
BENZENE = ("CG CD1 CD2 CE1 CE2 CZ",)
RINGS = {
    "PHE": BENZENE,
    "TYR": BENZENE,
    "TRP": ("CD2 CE2 CE3 CZ2 CZ3 CH2", "CG CD1 NE1 CE2 CD2"),
    **dict.fromkeys(("HIS", "HID", "HIE", "HIP", "HSD", "HSE", "HSP"), ("CG ND1 CD2 CE1 NE2",)),
}
DONORS = frozenset("N O S".split())
RING_KINDS = ("pi_stacking", "pi_cation")

Place = tuple[str, int, str]  # chain, number and insertion code


class Atom(NamedTuple):
    name: str
    element: str
    position: tuple[float, float, float]


@dataclass
class Residue:
    """A residue with its heavy atoms: where the prepared file has it, and what its author calls it."""

    place: Place
    author: Place
    name: str
    atoms: list[Atom] = field(default_factory=list)

    @property
    def positions(self) -> np.ndarray:
        return np.array([atom.position for atom in self.atoms], dtype=float).reshape(-1, 3)


class Contact(NamedTuple):
    """An interaction as a line, in Å: from the ligand's atom or ring to the residue's."""

    kind: str
    residue: Residue
    atom: str  # name of the residue's atom
    start: np.ndarray
    end: np.ndarray
    distance: float


class Shown(NamedTuple):
    """Atoms of a residue that are drawn, by name; all of them where names is None."""

    residue: Residue
    names: frozenset[str] | None

    @property
    def positions(self) -> np.ndarray:
        return np.array(
            [a.position for a in self.residue.atoms if self.names is None or a.name in self.names], dtype=float
        ).reshape(-1, 3)


@dataclass
class Site:
    """The pose's heavy atoms (n, 3), what is drawn of the receptor, and the trace of its chains near the pose."""

    pose: np.ndarray
    contacts: list[Contact]
    residues: list[Shown]
    cofactors: list[Residue]
    metals: list[Residue]
    waters: list[Residue]
    chains: list[Residue]
    coordination: list[tuple[np.ndarray, np.ndarray]]


def read_residues(pdb: str, numbering: dict[str, Any]) -> list[Residue]:
    """The residues of a prepared receptor in the file's order. numbering is serials.json, whose "renamed" gives the author's place
    of a residue where PDB's columns do not hold it."""
    renamed, residues = numbering.get("renamed", {}), dict[Place, Residue]()
    for line in pdb.splitlines():
        if not line.startswith(("ATOM", "HETATM")):
            continue
        element = line[76:78].strip().upper() or line[12:14].strip(" 0123456789").upper()
        if element in HYDROGENS:
            continue
        place = line[21].strip(), int(line[22:26]), line[26].strip()
        if place not in residues:
            author = renamed.get(f"{place[0]}:{place[1]}:{place[2]}", place)
            residues[place] = Residue(place, (str(author[0]), int(author[1]), str(author[2])), line[17:20].strip())
        position = float(line[30:38]), float(line[38:46]), float(line[46:54])
        residues[place].atoms.append(Atom(line[12:16].strip(), element, position))
    return list(residues.values())


def site_of(residues: list[Residue], pose: Chem.Mol, interactions: list[dict[str, Any]]) -> Site:
    """The site of a pose; interactions are the analysis' records of it."""
    positions = pose.GetConformer().GetPositions()
    heavy = positions[[atom.GetIdx() for atom in pose.GetAtoms() if atom.GetAtomicNum() > 1]]
    contacts = contacts_of(residues, positions, interactions)
    gaps = gaps_to(residues, heavy)
    others = [(r, gap) for r, gap in zip(residues, gaps) if not is_polymer(r.name)]
    metals = [r for r, gap in others if gap <= NEAR_ANGSTROM and is_metal(r)]
    waters = [r for r, gap in others if gap <= WATER_ANGSTROM and r.name in WATERS]
    cofactors = [r for r, gap in others if gap <= NEAR_ANGSTROM and r.name not in WATERS and not is_metal(r)]
    coordination = coordination_of(metals, residues)
    touched = [c.residue for c in contacts] + [residue for _, residue, _, _ in coordination]
    backbone = {c.residue.place for c in contacts if c.kind != "hydrophobic" and c.atom in BACKBONE}
    side = {c.residue.place for c in contacts if c.kind == "hydrophobic" or c.atom not in BACKBONE} | {
        r.place for _, r, _, _ in coordination
    }
    shown = {r.place: Shown(r, shown_names(r, r.place in side, r.place in backbone)) for r in touched if is_polymer(r.name)}
    chains = [r for r, gap in zip(residues, gaps) if gap <= CARTOON_ANGSTROM and is_polymer(r.name)]
    return Site(
        heavy,
        contacts,
        list(shown.values())[:MAX_RESIDUES],
        cofactors,
        metals,
        waters,
        chains,
        [(a, b) for _, _, a, b in coordination],
    )


def gaps_to(residues: list[Residue], positions: np.ndarray) -> list[float]:
    """The distance of each residue's nearest atom from the positions, in Å."""
    tree = cKDTree(positions)
    return [float(tree.query(residue.positions)[0].min()) for residue in residues]


def is_metal(residue: Residue) -> bool:
    return len(residue.atoms) == 1 and residue.atoms[0].element in METALS


def contacts_of(residues: list[Residue], pose: np.ndarray, interactions: list[dict[str, Any]]) -> list[Contact]:
    """The records as lines; one that names an atom which the file does not have is left out."""
    by_author, contacts = {residue.author: residue for residue in residues}, []
    for record in interactions:
        told = record["receptor"]
        residue = by_author.get((told["chain"], told["residue"], told["insertionCode"]))
        end = residue and end_of(residue, told["atomName"], record["type"])
        if residue is None or end is None:
            continue
        start = pose[record["ligand"]["atomIndices"]].mean(axis=0)
        contacts.append(Contact(record["type"], residue, told["atomName"], start, np.array(end), record["distanceAngstrom"]))
    return contacts


def end_of(residue: Residue, atom: str, kind: str) -> Any:
    """Where a contact with an atom of a residue ends: at the atom, or in the middle of the ring that it stands for."""
    places = {a.name: a.position for a in residue.atoms}
    for ring in RINGS.get(residue.name, ()):
        names = ring.split()
        if kind in RING_KINDS and atom in names and places.keys() >= set(names):
            return np.mean([places[name] for name in names], axis=0)
    return places.get(atom)


def shown_names(residue: Residue, side: bool, backbone: bool) -> frozenset[str]:
    """Which atoms of a residue tell of its contacts: its side chain with the first atom of the chain, its part of the chain, or
    both."""
    names = {atom.name for atom in residue.atoms}
    own = names - BACKBONE
    if not side or not own:
        return frozenset(names & BACKBONE)
    return frozenset(names if backbone else own | {"CA"} & names)


def coordination_of(metals: list[Residue], residues: list[Residue]) -> list[tuple[Residue, Residue, np.ndarray, np.ndarray]]:
    """Metals with the residues of the chains that hold them, and both ends of each bond."""
    found = []
    for metal in metals:
        centre = np.array(metal.atoms[0].position)
        for residue in residues:
            for atom in residue.atoms if is_polymer(residue.name) else ():
                if atom.element in DONORS and np.linalg.norm(centre - atom.position) <= COORDINATION_ANGSTROM:
                    found.append((metal, residue, centre, np.array(atom.position)))
    return found
