"""What protein and Amber systems have in common: their bounds, their barostat, and how they are written and identified."""

from __future__ import annotations

import string
from typing import Any, NamedTuple

import numpy as np
import openmm
from openmm import app, unit

from task import Failure, digest, sha256, user_error

CUTOFF_NM = 0.9
# The barostat makes a box smaller; one that is hardly wider than twice the cutoff would end the run.
LEAST_WIDTH_NM = 2 * CUTOFF_NM * 1.05
MAX_PARTICLES = 1_000_000
MAX_COORDINATE_NM = 1000.0  # 10,000 Å: what a PDB file and an inpcrd can write
MAX_PDB_ATOMS = 99_999  # what a PDB file's five columns number
BAROSTAT_INTERVAL_STEPS = 25
HEAVY_HYDROGEN_DALTON = 1.5
LARGEST_PLAIN_TIMESTEP_FS = 2.5


class Prepared(NamedTuple):
    """A system and where its atoms are. positions and box are quantities; report and notes go to preparation.json."""

    system: openmm.System
    topology: app.Topology
    positions: Any
    box: Any
    report: dict[str, Any]
    notes: list[str]


def check_particles(count: int, subject: str) -> None:
    if count > MAX_PARTICLES:
        raise user_error(
            "SYSTEM_TOO_LARGE", f"{subject} {count:,} atoms; at most {MAX_PARTICLES:,} are simulated. Give a part of the structure."
        )


def check_planned(count: int, most: int, subject: str) -> None:
    """Refuses a system that is far larger than what was planned, and priced, from the size of its files."""
    if count > most:
        raise user_error(
            "SYSTEM_LARGER_THAN_PLANNED",
            f"{subject} {count:,} atoms, but by the size of the input this run was planned for at most {most:,}. Parts that lie "
            f"far apart need a large "
            "box: bring them together, or give a system that is solvated already.",
        )


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def check_box(box: Any) -> None:
    """Refuses a box across which an atom would meet its own image."""
    if box is None:
        raise user_error(
            "NO_PERIODIC_BOX",
            "The system has no periodic box, which PME needs; give coordinates with a box, from a solvated system.",
        )
    vectors = np.array(box.value_in_unit(unit.nanometer), dtype=float)
    volume = abs(float(np.linalg.det(vectors)))
    faces = [np.linalg.norm(np.cross(vectors[i - 2], vectors[i - 1])) for i in range(3)]
    if not np.isfinite(vectors).all() or volume <= 0 or min(faces) <= 0:
        raise user_error(
            "NO_PERIODIC_BOX", "The system's periodic box has no volume; give coordinates with a box, from a solvated system."
        )
    width = volume / max(faces)
    if width < LEAST_WIDTH_NM:
        raise user_error(
            "BOX_TOO_SMALL",
            f"The periodic box is {width:.2f} nm wide where it is narrowest; with a cutoff of {CUTOFF_NM} nm it must be at least "
            f"{LEAST_WIDTH_NM:.2f} nm. "
            "Solvate the system with more padding.",
        )


def hydrogen_mass(protocol: dict[str, Any], notes: list[str]) -> Any:
    """Hydrogens take mass from their heavy atoms where the time step is too long for theirs."""
    if protocol["timestepFs"] <= LARGEST_PLAIN_TIMESTEP_FS:
        return None
    notes.append(
        f"hydrogens weigh {HEAVY_HYDROGEN_DALTON} Da, taken from their heavy atoms, because timestepFs is above "
        f"{LARGEST_PLAIN_TIMESTEP_FS}"
    )
    return HEAVY_HYDROGEN_DALTON * unit.dalton


def derived_seed(seed: int, purpose: str) -> int:
    """A seed of its own for each random choice, from 1 to 2,147,483,647: OpenMM reads 0 as "choose one"."""
    return int(sha256(f"molfabric openmm {seed} {purpose}".encode())[:8], 16) % 0x7FFFFFFF or 1


def add_barostat(system: openmm.System, protocol: dict[str, Any]) -> None:
    barostat = openmm.MonteCarloBarostat(
        protocol["pressureBar"] * unit.bar, protocol["temperatureK"] * unit.kelvin, BAROSTAT_INTERVAL_STEPS
    )
    barostat.setRandomNumberSeed(derived_seed(protocol["seed"], "barostat"))
    system.addForce(barostat)


def name_chains(topology: app.Topology) -> None:
    """Gives chains without a name a letter that no other has, or a number: mmCIF cannot say that a chain has none."""
    taken = {chain.id for chain in topology.chains()}
    free = (name for name in (*string.ascii_uppercase, *map(str, range(1, 1_000_000))) if name not in taken)
    for chain in topology.chains():
        if not chain.id.strip():
            chain.id = next(free)


def topology_sha256(topology: app.Topology) -> str:
    """SHA-256 of the canonical JSON {"atoms": [[chain, residue, number, name, element]], "bonds": [[i, j]]}, both in order."""
    atoms = [
        [a.residue.chain.id, a.residue.name, a.residue.id, a.name, a.element.symbol if a.element is not None else ""]
        for a in topology.atoms()
    ]
    bonds = sorted(sorted((one.index, other.index)) for one, other in topology.bonds())
    return digest({"atoms": atoms, "bonds": bonds})


def degrees_of_freedom(system: openmm.System) -> int:
    massive = sum(system.getParticleMass(i).value_in_unit(unit.dalton) > 0 for i in range(system.getNumParticles()))
    constrained = sum(
        system.getParticleMass(system.getConstraintParameters(i)[0]).value_in_unit(unit.dalton) > 0
        for i in range(system.getNumConstraints())
    )
    still = 3 if any(isinstance(force, openmm.CMMotionRemover) for force in system.getForces()) else 0
    return max(3 * massive - constrained - still, 1)


def mass_dalton(system: openmm.System) -> float:
    return sum(system.getParticleMass(i).value_in_unit(unit.dalton) for i in range(system.getNumParticles()))


def net_charge(system: openmm.System) -> float:
    """In elementary charges; 0 of a system without an ordinary nonbonded force."""
    total = 0.0
    for force in system.getForces():
        if isinstance(force, openmm.NonbondedForce):
            total += sum(
                force.getParticleParameters(i)[0].value_in_unit(unit.elementary_charge) for i in range(force.getNumParticles())
            )
    return round(total, 3) + 0.0


def initial_state(system: openmm.System, positions: Any, box: Any) -> tuple[str, float]:
    """The start as OpenMM state XML, and its potential energy in kJ/mol."""
    try:
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatform("CPU"), {"Threads": "1"})
        context.setPeriodicBoxVectors(*box)
        context.setPositions(positions)
        state = context.getState(getPositions=True, getEnergy=True)
    except openmm.OpenMMException as error:
        raise user_error("SYSTEM_UNBUILDABLE", f"OpenMM refuses the system: {error}. Check structure and box.") from None
    energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    if not np.isfinite(energy):
        raise user_error(
            "ATOMS_OVERLAP", "Atoms lie on each other: the energy of the start is no number. Repair the structure's coordinates."
        )
    context.setVelocities(np.zeros((system.getNumParticles(), 3)))
    plain = context.getState(getPositions=True, getVelocities=True)
    return openmm.XmlSerializer.serialize(plain), energy


def read_system(path: Any) -> openmm.System:
    """Reads what prepare.py has written; a user never gives one. OpenMM's reader could run what a foreign text holds (see
    state_xml.py): the worker stages this file from the output of a task of ours, by its digest."""
    try:
        return openmm.XmlSerializer.deserialize(path.read_text(encoding="utf-8"))
    except Exception as error:
        raise Failure("EXECUTOR", "SYSTEM_UNREADABLE", f"The prepared system cannot be read: {error}.") from None
