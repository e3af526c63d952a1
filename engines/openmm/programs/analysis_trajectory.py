"""Follows a molecule through a trajectory: RMSD, radius of gyration and RMSF, frame by frame in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mdtraj
import numpy as np
from openmm import app

import analysis_dcd
from task import Failure, one_line, user_error

# Coordinates of all atoms that are read at once: single precision, three to an atom.
CHUNK_BYTES = 64 << 20
MAX_CHUNK_FRAMES = 1000
# Frames that are analysed; with more, they are thinned evenly.
MAX_FRAMES = 200_000
# Fewer residues have no backbone worth superposing: a dipeptide is followed by its heavy atoms.
LEAST_RESIDUES = 3
# More molecules are no solute but a liquid, whose superposition means nothing.
MAX_MOLECULES = 64
# Atoms of a molecule among which its nearest to the others is looked for.
MAX_CONTACT_ATOMS = 1000
MAX_NAME_CHARS = 8  # of a chain or residue: a longer one has no room in a figure
BACKBONE = ("N", "CA", "C", "O")


class Plan(NamedTuple):
    """Which frames are analysed: their numbers from 0, shape (n,), what to read of the file for them, and remarks."""

    frames: np.ndarray
    skip: int
    stride: int
    notes: list[str]


def plan_frames(count: int, trajectory_interval: int, analysis_interval: int) -> Plan:
    """Frame i is of step (i + 1) × trajectory_interval. For each multiple of analysis_interval it is the nearest at or after."""
    notes = []
    stride, rest = divmod(analysis_interval, trajectory_interval)
    if rest == 0:
        frames = np.arange(stride - 1, count, stride)
    else:
        stride = 1
        steps = np.arange(count + 1, dtype=np.int64) * trajectory_interval // analysis_interval
        frames = np.flatnonzero(np.diff(steps) > 0)
        notes.append(
            f"The analysis interval of {analysis_interval:,} steps is no multiple of the trajectory's {trajectory_interval:,}: "
            f"the nearest frame at or "
            "after each of its multiples was analysed" + (", which is every frame." if len(frames) == count else ".")
        )
    if len(frames) == 0:
        frames, stride = np.array([count - 1]), 1
        notes.append("The analysis interval is longer than the trajectory: its last frame alone was analysed.")
    if len(frames) > MAX_FRAMES:
        every = -(-len(frames) // MAX_FRAMES)
        frames, stride = frames[every - 1 :: every], stride * every if rest == 0 else 1
        notes.append(f"Only every {every}th of these frames was analysed, which leaves {len(frames):,}.")
    return Plan(frames, int(frames[0]), stride, notes)


class Residue(NamedTuple):
    chain: str
    number: str
    insertion: str
    name: str


class Solute(NamedTuple):
    """What is followed. Indices are of atoms: atoms in the whole topology, everything else within atoms."""

    kind: str  # backbone or heavy-atoms
    description: str
    topology: Any  # mdtraj's, of atoms alone
    atoms: np.ndarray
    fit: np.ndarray  # superposed, and measured by the RMSD
    masses: np.ndarray
    residues: list[tuple[Residue, np.ndarray]]  # atoms that the RMSF is of
    molecules: list[np.ndarray]  # largest first


class System(NamedTuple):
    """The whole system as its topology has it; solute is None where there is none to follow."""

    topology: Any
    atoms: int
    waters: int
    ions: int
    solute: Solute | None
    notes: list[str]


def read_topology(folder: Path) -> Any:
    """OpenMM's topology of topology.cif or topology.pdb. Raises a Failure when neither is there or can be read."""
    reader, path = (
        (app.PDBxFile, folder / "topology.cif") if (folder / "topology.cif").exists() else (app.PDBFile, folder / "topology.pdb")
    )
    try:
        return reader(str(path)).topology
    except OSError:
        raise Failure("EXECUTOR", "TOPOLOGY_MISSING", "The simulation has left neither topology.pdb nor topology.cif.") from None
    except Exception as error:  # OpenMM's readers raise whatever a broken line leads to
        raise Failure("EXECUTOR", "TOPOLOGY_UNREADABLE", f"{path.name} cannot be read: {type(error).__name__}.") from None


def survey(read: Any) -> System:
    """Finds the solute in OpenMM's topology: the protein's molecules where there is one, else all that is neither water nor ion."""
    topology = mdtraj.Topology.from_openmm(read)
    residues = list(topology.residues)
    waters = {r.index for r in residues if r.is_water}
    ions = {r.index for r in residues if r.n_atoms == 1 and r.index not in waters}
    rest = np.array([a.index for r in residues if r.index not in waters and r.index not in ions for a in r.atoms], dtype=np.int64)
    system = System(topology, topology.n_atoms, len(waters), len(ions), None, [])
    if len(rest) == 0:
        return system._replace(notes=["There is nothing but water and ions: RMSD, radius of gyration and RMSF are left out."])
    part = topology.subset(rest)
    molecules = [np.array(sorted(a.index for a in molecule)) for molecule in part.find_molecules()]
    backbones = {r.index for r in part.residues if {"N", "CA", "C"} <= {a.name for a in r.atoms}}
    protein = len(backbones) >= LEAST_RESIDUES
    if protein:
        of_residue = np.array([a.residue.index for a in part.atoms])
        molecules = [molecule for molecule in molecules if not backbones.isdisjoint(of_residue[molecule].tolist())]
    if len(molecules) > MAX_MOLECULES:
        return system._replace(notes=[f"There are {len(molecules):,} molecules beside water and ions: none is followed by itself."])
    kept = np.sort(np.concatenate(molecules))
    whole = list(read.residues())
    named = [whole[r.index] for r in residues]
    atoms = rest[kept]
    solute = describe_solute(topology, atoms, named, protein)
    if len(solute.fit) < 3:
        return system._replace(
            notes=["The solute has fewer than three heavy atoms: RMSD, radius of gyration and RMSF are left out."]
        )
    places = {atom: place for place, atom in enumerate(kept.tolist())}
    ordered = sorted(([places[a] for a in molecule.tolist()] for molecule in molecules), key=lambda m: (-len(m), m[0]))
    return system._replace(solute=solute._replace(molecules=[np.array(m) for m in ordered]))


def describe_solute(topology: Any, atoms: np.ndarray, named: list[Any], protein: bool) -> Solute:
    part = topology.subset(atoms)
    heavy = [a for a in part.atoms if a.element is not None and a.element.atomic_number > 1]
    chosen = (
        [a for a in heavy if a.name in BACKBONE and {"N", "CA", "C"} <= {b.name for b in a.residue.atoms}] if protein else heavy
    )
    measured = [a for a in chosen if a.name == "CA"] if protein else heavy
    by_residue: dict[int, list[int]] = {}
    for atom in measured:
        by_residue.setdefault(topology.atom(int(atoms[atom.index])).residue.index, []).append(atom.index)
    residues = []
    for index, indices in by_residue.items():
        residue = named[index]
        name = Residue(
            *(one_line(part, MAX_NAME_CHARS) for part in (residue.chain.id, str(residue.id), residue.insertionCode, residue.name))
        )
        residues.append((name, np.array(indices)))
    masses = np.array([a.element.mass if a.element is not None else 0.0 for a in part.atoms])
    said = "backbone atoms N, CA, C and O of the protein" if protein else "heavy atoms of the solute"
    fit = np.array([a.index for a in chosen], dtype=np.int64)
    return Solute("backbone" if protein else "heavy-atoms", said, part, atoms, fit, masses, residues, [])


class Motion(NamedTuple):
    """What a trajectory tells of a solute. Lengths in nm; rmsd and gyration have the shape of Plan.frames, rmsf of residues."""

    rmsd: np.ndarray
    gyration: np.ndarray
    rmsf: np.ndarray


# Is shown each frame that is followed: its place among them, and the superposed positions of the solute in nm.
Seen = Callable[[int, np.ndarray], None]


class Follower:
    """Takes frames in their order; a frame's figures do not depend on how the frames are cut into chunks."""

    def __init__(self, solute: Solute, reference: Any, cell: bool, seen: Seen | None = None) -> None:
        self.solute, self.cell, self.seen = solute, cell, seen
        self.pairs: list[tuple[int, int]] = []
        self.reference = self.whole(reference, first=True)
        self.origin = self.reference.xyz[0].astype(float)
        self.count = 0
        self.sum, self.squares = np.zeros_like(self.origin), np.zeros_like(self.origin)
        self.rmsd: list[float] = []
        self.gyration: list[float] = []

    def whole(self, chunk: Any, first: bool = False) -> Any:
        """Frames whose molecules are whole and lie side by side, as in the first frame, and not on two sides of the box."""
        if not self.cell or chunk.unitcell_vectors is None:
            return chunk
        if next(self.solute.topology.bonds, None) is not None:
            chunk.make_molecules_whole(inplace=True)
        if first:
            self.pairs = contacts(self.solute, chunk.xyz[0], chunk.unitcell_vectors[0])
        for molecule, (near, own) in zip(self.solute.molecules[1:], self.pairs):
            apart = chunk.xyz[:, own] - chunk.xyz[:, near]
            chunk.xyz[:, molecule] += (nearest(apart, chunk.unitcell_vectors) - apart)[:, None, :]
        return chunk

    def take(self, chunk: Any) -> None:
        chunk = self.whole(chunk)
        self.gyration.extend(gyration(frame, self.solute.masses) for frame in chunk.xyz)
        chunk.superpose(self.reference, atom_indices=self.solute.fit, parallel=False)
        for frame in chunk.xyz:
            if self.seen:
                self.seen(self.count, frame)
            moved = frame.astype(float) - self.origin
            self.rmsd.append(float(np.sqrt((moved[self.solute.fit] ** 2).sum(axis=1).mean())))
            self.sum += moved
            self.squares += moved * moved
            self.count += 1

    def motion(self) -> Motion:
        spread = np.maximum(self.squares / self.count - (self.sum / self.count) ** 2, 0).sum(axis=1)
        rmsf = np.array([np.sqrt(spread[atoms].mean()) for _, atoms in self.solute.residues])
        return Motion(np.array(self.rmsd), np.array(self.gyration), rmsf)


def gyration(frame: np.ndarray, masses: np.ndarray) -> float:
    """Mass-weighted radius of gyration in nm."""
    frame = frame.astype(float)
    centre = masses @ frame / masses.sum()
    return float(np.sqrt(masses @ ((frame - centre) ** 2).sum(axis=1) / masses.sum()))


def nearest(apart: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """The shortest periodic images of vectors of shape (..., 3), in cells of rows a, b, c of reduced form, shape (..., 3, 3)."""
    apart = np.array(apart, dtype=float)
    for axis in (2, 1, 0):
        apart -= cell[..., axis, :] * np.round(apart[..., axis] / cell[..., axis, axis])[..., None]
    return apart


def contacts(solute: Solute, frame: np.ndarray, cell: np.ndarray) -> list[tuple[int, int]]:
    """For each molecule after the largest, the atom of those before it and the atom of its own that are nearest to each other."""
    some = lambda atoms: atoms[:: -(-len(atoms) // MAX_CONTACT_ATOMS)]  # noqa: E731
    placed, pairs = some(solute.molecules[0]), []
    for molecule in solute.molecules[1:]:
        own = some(molecule)
        best = (np.inf, 0, 0)
        for atom in own.tolist():
            distances = (nearest(frame[atom] - frame[placed], cell) ** 2).sum(axis=1)
            at = int(distances.argmin())
            best = min(best, (float(distances[at]), int(placed[at]), atom))
        pairs.append(best[1:])
        placed = np.concatenate([placed, own])
    return pairs


def chunks(path: Path, system: System, plan: Plan) -> Iterator[Any]:
    """The frames of a plan, the solute's atoms alone, some at a time. Raises a Failure when the file cannot be read."""
    size = min(max(CHUNK_BYTES // (12 * system.atoms), 1), MAX_CHUNK_FRAMES)
    even = len(plan.frames) < 2 or bool((np.diff(plan.frames) == plan.stride).all())
    stride, position = (plan.stride, plan.skip) if even else (1, plan.skip)
    assert system.solute is not None
    reader = mdtraj.iterload(
        str(path), chunk=size, skip=plan.skip, stride=stride, top=system.topology, atom_indices=system.solute.atoms
    )
    while (chunk := step(reader)) is not None:
        numbers = position + stride * np.arange(len(chunk))
        position = int(numbers[-1]) + stride
        wanted = chunk[np.isin(numbers, plan.frames)]
        if len(wanted):
            yield wanted
        if position > plan.frames[-1]:
            return


def step(reader: Iterator[Any]) -> Any:
    try:
        chunk = next(reader, None)
    except (OSError, ValueError, RuntimeError) as error:
        raise Failure("EXECUTOR", "TRAJECTORY_UNREADABLE", f"trajectory.dcd cannot be read to its end: {error}.") from None
    if chunk is not None and not np.isfinite(chunk.xyz).all():
        raise user_error(
            "SIMULATION_UNSTABLE",
            "The trajectory holds positions that are no numbers; a shorter timestepFs or a longer minimisation may help.",
        )
    return chunk


def follow(path: Path, system: System, plan: Plan, told: Callable[[float], None], seen: Seen | None = None) -> Motion:
    """Follows the solute of a system, which must have one. told learns the part that is done, 0 to 1."""
    assert system.solute is not None
    found = analysis_dcd.look(path, system.atoms)
    first = step(mdtraj.iterload(str(path), chunk=1, top=system.topology, atom_indices=system.solute.atoms))
    follower = Follower(system.solute, first, found.cell, seen)
    for chunk in chunks(path, system, plan):
        follower.take(chunk)
        told(follower.count / len(plan.frames))
    if follower.count != len(plan.frames):
        raise Failure(
            "EXECUTOR",
            "TRAJECTORY_UNREADABLE",
            f"Only {follower.count} of {len(plan.frames)} frames of trajectory.dcd could be read.",
        )
    return follower.motion()
