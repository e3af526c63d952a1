"""A moving system: its contexts for constant volume and constant pressure, its energies, and the ways to save and load it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import openmm
from openmm import unit

from platforms import Chosen, explained, open_context, unstable
from state_xml import Foreign, rewritten
from systems import degrees_of_freedom, derived_seed, mass_dalton

NVT, NPT, PRODUCTION = "nvt", "npt", "production"
CONSTRAINT_TOLERANCE = 1e-6
GAS_CONSTANT_KJ_MOL_K = 8.31446261815324e-3
G_ML_PER_DALTON_NM3 = 1.66053906660e-3
# A state that was loaded has the energy that it was saved with; forces in single precision say it to six digits.
ENERGY_TOLERANCE_SHARE = 1e-4
ENERGY_TOLERANCE_KJ_MOL = 5.0


class Energies(NamedTuple):
    potential_kj_mol: float
    kinetic_kj_mol: float
    temperature_k: float
    volume_nm3: float
    density_g_ml: float


def make_integrator(protocol: dict[str, Any], purpose: str) -> openmm.LangevinMiddleIntegrator:
    integrator = openmm.LangevinMiddleIntegrator(
        protocol["temperatureK"] * unit.kelvin,
        protocol["frictionPerPs"] / unit.picosecond,
        protocol["timestepFs"] * unit.femtosecond,
    )
    integrator.setConstraintTolerance(CONSTRAINT_TOLERANCE)
    integrator.setRandomNumberSeed(derived_seed(protocol["seed"], purpose))
    return integrator


class Dynamics:
    """One context at a time: that of constant volume, then that of constant pressure. OpenMM's errors come out as Failures."""

    def __init__(self, system: openmm.System, protocol: dict[str, Any], chosen: Chosen) -> None:
        self.system, self.protocol, self.chosen = system, protocol, chosen
        self.dof, self.mass = degrees_of_freedom(system), mass_dalton(system)
        self.context: Any = None
        self.integrator: Any = None

    def open(self, ensemble: str, purpose: str = "") -> None:
        """Opens the context of nvt, or of npt, which production shares; closes the one before. A purpose gives another seed."""
        still = ensemble == NVT
        system = openmm.XmlSerializer.clone(self.system) if still else self.system
        for force in system.getForces():
            if still and isinstance(force, openmm.MonteCarloBarostat):
                force.setFrequency(0)
        self.context = None
        self.integrator = make_integrator(self.protocol, f"{'nvt' if still else 'run'}{purpose}")
        self.context = open_context(system, self.integrator, self.chosen)

    def place(self, state: openmm.State, new_velocities: bool) -> None:
        """Takes over positions, velocities and box. New velocities are those of the protocol's temperature."""
        self.context.setPeriodicBoxVectors(*state.getPeriodicBoxVectors())
        self.context.setPositions(state.getPositions(asNumpy=True))
        if new_velocities:
            self.context.setVelocitiesToTemperature(
                self.protocol["temperatureK"] * unit.kelvin, derived_seed(self.protocol["seed"], "velocities")
            )
        else:
            self.context.setVelocities(state.getVelocities(asNumpy=True))

    def minimise(self, most_iterations: int, tolerance: float) -> None:
        try:
            openmm.LocalEnergyMinimizer.minimize(self.context, tolerance, most_iterations)
        except openmm.OpenMMException as error:
            raise explained(error) from None

    def step(self, count: int) -> None:
        try:
            self.integrator.step(count)
        except openmm.OpenMMException as error:
            raise explained(error) from None

    def energies(self) -> Energies:
        """Raises a Failure when an energy is no number."""
        try:
            state = self.context.getState(getEnergy=True)
        except openmm.OpenMMException as error:
            raise explained(error) from None
        potential = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        kinetic = state.getKineticEnergy().value_in_unit(unit.kilojoule_per_mole)
        volume = state.getPeriodicBoxVolume().value_in_unit(unit.nanometer**3)
        if not all(map(math.isfinite, (potential, kinetic, volume))):
            raise unstable(f"potential energy {potential} kJ/mol, kinetic energy {kinetic} kJ/mol")
        temperature = 2 * kinetic / (self.dof * GAS_CONSTANT_KJ_MOL_K)
        return Energies(potential, kinetic, temperature, volume, self.mass * G_ML_PER_DALTON_NM3 / volume)

    def positions_and_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, 3) and box vectors (3, 3) in nm. Molecules are whole and where they have moved to, not wrapped."""
        try:
            state = self.context.getState(getPositions=True)
        except openmm.OpenMMException as error:
            raise explained(error) from None
        positions = np.asarray(state.getPositions(asNumpy=True).value_in_unit(unit.nanometer))
        if not np.isfinite(positions).all():
            raise unstable("positions are no numbers")
        return positions, np.asarray(state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.nanometer))

    def state(self) -> openmm.State:
        return self.context.getState(getPositions=True, getVelocities=True)

    def start_production(self) -> None:
        self.context.setStepCount(0)
        self.context.setTime(0)

    def load_checkpoint(self, content: bytes, energy: float | None) -> bool:
        """Whether the checkpoint loaded and is what it was: OpenMM loads a damaged one without a word. energy is what the
        potential energy must be, in kJ/mol; None where nobody knows."""
        try:
            self.context.loadCheckpoint(content)
            whole = len(self.context.createCheckpoint()) == len(content)
        except Exception:  # it raises what the foreign bytes make it
            return False
        return whole and self.sound(energy)

    def sound(self, energy: float | None) -> bool:
        try:
            state = self.context.getState(getEnergy=True, getPositions=True, getVelocities=True)
        except openmm.OpenMMException:
            return False
        found = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        kinetic = state.getKineticEnergy().value_in_unit(unit.kilojoule_per_mole)
        if not math.isfinite(found) or not math.isfinite(kinetic) or not np.isfinite(velocities_of(state)).all():
            return False
        return energy is None or abs(found - energy) <= ENERGY_TOLERANCE_KJ_MOL + ENERGY_TOLERANCE_SHARE * abs(energy)


def velocities_of(state: openmm.State) -> np.ndarray:
    """Shape (n, 3), in nm/ps. Raises what OpenMM raises when the state has none."""
    return np.asarray(state.getVelocities(asNumpy=True).value_in_unit(unit.nanometer / unit.picosecond))


def read_state(text: str, particles: int) -> tuple[openmm.State, bool] | None:
    """A state and whether it has velocities; None when it is none, or of a system with another number of particles. OpenMM reads
    only what rewritten has written: see there why. This holds for a user's state, and costs little for those of our own."""
    try:
        state = openmm.XmlSerializer.deserialize(rewritten(text, particles))
    except Foreign:
        return None
    try:
        velocities_of(state)
    except Exception:  # a state without velocities says so by raising
        return state, False
    return state, True


def state_xml(state: openmm.State) -> str:
    return openmm.XmlSerializer.serialize(state)
