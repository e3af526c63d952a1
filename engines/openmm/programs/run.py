"""One run from its start, an earlier run's end or an interrupted attempt's last save, to its last step."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import openmm

from dynamics import NPT, NVT, PRODUCTION, Dynamics, Energies, make_integrator, read_state, state_xml
from identity import CHECKPOINT_FIELDS, STATE_FIELDS, check_restart, identity_of
from outputs import Clock, Outputs, structure_text
from platforms import Chosen, properties_of
from saving import Saved, Saver, saves
from systems import check_box, listed
from task import IN, Progress, user_error

# A state has some 200 bytes for an atom, a checkpoint fewer; a larger file would take memory that the plan has not.
RESTART_BASE_BYTES, RESTART_BYTES_PER_ATOM = 16 << 20, 1000
# Of an edge, between the start of a run and its end: the barostat changes a settled system by some percent.
MOST_BOX_CHANGE = 2.0
MINIMISING_SHARE = 0.03  # of the progress bar
# Steps times atoms between two looks at the clock and the energy: about a second.
PIECE_STEP_ATOMS = {"CPU": 300_000}
DEVICE_PIECE_STEP_ATOMS = 30_000_000
MOST_PIECE_STEPS = 10_000
PHASE_NAMES = {NVT: "equilibrating at constant volume", NPT: "equilibrating at constant pressure", PRODUCTION: "production"}


class Run:
    """begin, then go. Their Failures are the run's."""

    def __init__(
        self,
        request: dict[str, Any],
        preparation: dict[str, Any],
        system: openmm.System,
        chosen: Chosen,
        inputs: str,
        progress: Progress,
    ) -> None:
        self.request, self.preparation, self.progress, self.inputs = request, preparation, progress, inputs
        protocol = request["protocol"]
        settle = not request["restart"]
        self.lengths = {
            NVT: protocol["equilibration"]["nvtSteps"] if settle else 0,
            NPT: protocol["equilibration"]["nptSteps"] if settle else 0,
            PRODUCTION: protocol["productionSteps"],
        }
        self.atoms = preparation["atoms"]
        self.dynamics = Dynamics(system, protocol, chosen)
        self.phase, self.step = NVT, 0
        self.rate = 0.0  # steps a second
        self.facts: dict[str, Any] = {"productionWallSeconds": 0.0, "resumes": [], "restart": None, "minimisation": None}
        self.outputs: Outputs
        self.saver: Saver | None = None

    # --- the start ---

    def begin(self) -> None:
        found = saves(self.inputs) if self.request["resumable"] else []
        resumed = next((save for save in found if self.resume(save)), None)
        if self.request["resumable"]:
            self.saver = Saver(self.inputs, Outputs.expected_bytes(self.request, self.atoms), resumed)
        self.outputs = Outputs(self.request, self.atoms, resumed, self.saver.segments() if self.saver else [])
        if resumed:
            self.outputs.structures.update(
                {name: content.decode() for name, content in self.saver.kept().items()} if self.saver else {}
            )
        elif self.request["restart"]:
            self.restart()
        else:
            self.start()
        if earlier := self.facts["restart"]:
            self.outputs.clock = Clock(earlier["earlierSteps"], earlier["earlierTimePs"])

    def start(self) -> None:
        """Minimises, and saves that at once: of a large system it takes long."""
        loaded = read_state((IN / "initial-state.xml").read_text(encoding="utf-8"), self.atoms)
        if loaded is None:
            raise user_error("STATE_UNREADABLE", "The prepared state cannot be read; run the job again.")
        self.dynamics.open(NVT)
        self.dynamics.place(loaded[0], new_velocities=True)
        before = self.dynamics.energies().potential_kj_mol
        minimisation = self.request["protocol"]["minimization"]
        if minimisation["enabled"]:
            self.progress(0.005, f"minimising {self.atoms:,} atoms", milestone=True)
            self.dynamics.minimise(minimisation["maxIterations"], minimisation["toleranceKjMolNm"])
            after = self.dynamics.energies().potential_kj_mol
            self.facts["minimisation"] = {
                "potentialEnergyBeforeKjMol": round(before, 3),
                "potentialEnergyAfterKjMol": round(after, 3),
            }
            self.dynamics.place(self.dynamics.state(), new_velocities=True)
            self.keep("minimised")
        if self.saver and minimisation["enabled"]:
            self.save()

    def restart(self) -> None:
        """Goes on from an earlier run's end, with its velocities and box, straight into production."""
        restart = self.request["restart"]
        self.phase = PRODUCTION
        self.dynamics.open(PRODUCTION)
        stated = restart["provenance"]
        if stated:
            check_restart(stated, self.identity(), CHECKPOINT_FIELDS if restart["format"] == "checkpoint" else STATE_FIELDS)
        most = RESTART_BASE_BYTES + RESTART_BYTES_PER_ATOM * self.atoms
        if (IN / "restart").stat().st_size > most:
            raise user_error(
                "RESTART_UNUSABLE",
                f"restartCheckpoint is larger than the {most:,} bytes that one of this run's {self.atoms:,} atoms can have.",
            )
        content = (IN / "restart").read_bytes()
        if restart["format"] == "checkpoint":
            if not self.dynamics.load_checkpoint(content, None):
                raise user_error(
                    "RESTART_UNUSABLE",
                    "restartCheckpoint is damaged or belongs to another system or platform; give the earlier run's "
                    "final-state.xml.",
                )
        else:
            self.restart_from_state(content)
        self.dynamics.energies()
        context = self.dynamics.context
        self.facts["restart"] = {
            "format": restart["format"],
            "sha256": restart["sha256"],
            "provenance": stated,
            "earlierSteps": context.getStepCount(),
            "earlierTimePs": round(context.getTime().value_in_unit(openmm.unit.picosecond), 6),
        }

    def restart_from_state(self, content: bytes) -> None:
        loaded = read_state(content.decode("utf-8", errors="replace"), self.atoms)
        if loaded is None:
            raise user_error(
                "RESTART_UNUSABLE",
                f"restartCheckpoint is no OpenMM state of this run's {self.atoms:,} atoms; give the earlier run's final-state.xml.",
            )
        state, moving = loaded
        check_restart_box(state, self.dynamics.system)
        steps = state.getStepCount()
        # The noise of the earlier run is not to be repeated.
        self.dynamics.open(PRODUCTION, f" after {steps}")
        try:
            self.dynamics.place(state, new_velocities=not moving)
        except openmm.OpenMMException as error:
            raise user_error(
                "RESTART_UNUSABLE", f"OpenMM refuses restartCheckpoint: {error}. Give the earlier run's final-state.xml."
            ) from None
        self.dynamics.context.setStepCount(steps)
        self.dynamics.context.setTime(state.getTime())

    def resume(self, save: Saved) -> bool:
        """Takes a save over, by its checkpoint or else by its state. Returns whether it could."""
        header, energy = save.header, save.header["potentialEnergyKjMol"]
        phase, step = header["phase"], header["step"]
        if phase not in self.lengths or not 0 <= step <= self.lengths[phase]:
            return False
        self.dynamics.open(NVT if phase == NVT else NPT)
        how = "checkpoint"
        mine = self.identity()["platformSha256"] == header["platformSha256"]
        if not mine or not self.dynamics.load_checkpoint(save.parts["checkpoint"].read(), energy):
            how = "state"
            # A save is of an earlier attempt at this very task, staged by the worker; it is read as a user's state all the same.
            loaded = read_state(save.parts["state"].read().decode("utf-8", errors="replace"), self.atoms)
            if loaded is None or not loaded[1]:
                return False
            self.dynamics.open(NVT if phase == NVT else NPT, f" after {header['totalStep']}")
            self.dynamics.place(loaded[0], new_velocities=False)
            self.dynamics.context.setStepCount(loaded[0].getStepCount())
            self.dynamics.context.setTime(loaded[0].getTime())
            if not self.dynamics.sound(energy):
                return False
        self.phase, self.step, self.facts = phase, step, header["facts"]
        self.facts["resumes"] = [*self.facts["resumes"], {"phase": phase, "step": step, "from": how}][-1000:]
        message = (
            f"going on from the {how} that an interrupted attempt has saved: {PHASE_NAMES[phase]}, step {step} of "
            f"{self.lengths[phase]}"
        )
        self.progress(self.share(), message, milestone=True)
        return True

    # --- the way ---

    def go(self) -> None:
        for phase in (NVT, NPT, PRODUCTION):
            if phase == self.phase:
                self.advance(phase)
                self.next_phase(phase)

    def next_phase(self, phase: str) -> None:
        """Opens what comes after a phase. Equilibration ends in a structure that is kept."""
        if phase == PRODUCTION:
            return
        if phase == NVT:
            state = self.dynamics.state()
            self.dynamics.open(NPT)
            self.dynamics.place(state, new_velocities=False)
            self.phase = NPT
        else:
            if self.lengths[NVT] + self.lengths[NPT]:
                self.keep("equilibrated")
            self.dynamics.start_production()
            self.phase = PRODUCTION
        self.step = 0

    def advance(self, phase: str) -> None:
        length, outputs = self.lengths[phase], self.request["outputs"]
        checkpoint = outputs["checkpointIntervalSteps"]
        every = [outputs["trajectoryIntervalSteps"], outputs["stateIntervalSteps"]] if phase == PRODUCTION else []
        usual = PIECE_STEP_ATOMS.get(self.request["platform"]["name"], DEVICE_PIECE_STEP_ATOMS) // self.atoms
        while self.step < length:
            piece = min(max(usual, 1), MOST_PIECE_STEPS, length - self.step)
            for interval in every:
                piece = min(piece, interval - self.step % interval)
            if self.saver:  # whose interval is counted from the very first step
                piece = min(piece, checkpoint - self.total_step() % checkpoint)
            energies = self.move(piece)
            if phase == PRODUCTION:
                self.record(energies)
            if self.saver and self.total_step() % checkpoint == 0 and not (phase == PRODUCTION and self.step == length):
                self.save()
            self.tell()

    def move(self, count: int) -> Energies:
        """Moves, and looks whether the energies are still numbers; on a device that also waits for the steps, so it is timed
        too."""
        began = time.monotonic()
        self.dynamics.step(count)
        energies = self.dynamics.energies()
        took = max(time.monotonic() - began, 1e-6)
        self.rate = count / took if not self.rate else 0.7 * self.rate + 0.3 * count / took
        self.step += count
        if self.phase == PRODUCTION:
            self.facts["productionWallSeconds"] += took
        return energies

    def record(self, energies: Energies) -> None:
        outputs = self.request["outputs"]
        if self.step % outputs["trajectoryIntervalSteps"] == 0:
            self.outputs.frame(*self.dynamics.positions_and_box())
        if self.step % outputs["stateIntervalSteps"] == 0:
            self.outputs.row(self.step, energies, self.ns_per_day())

    def keep(self, name: str) -> None:
        text = structure_text(*self.dynamics.positions_and_box())
        self.outputs.structures[name] = text
        if self.saver:
            self.saver.keep(name, text.encode())

    def save(self) -> None:
        assert self.saver is not None
        self.outputs.flush()
        header = {
            "phase": self.phase,
            "step": self.step,
            "totalStep": self.total_step(),
            "facts": self.facts,
            "platformSha256": self.identity()["platformSha256"],
            "potentialEnergyKjMol": self.dynamics.energies().potential_kj_mol,
        }
        state = {"checkpoint": self.dynamics.context.createCheckpoint(), "state": state_xml(self.dynamics.state()).encode()}
        if self.saver.save(header, state, self.outputs.tails(), self.outputs.tail_frames, self.outputs.tail_rows):
            self.outputs.segment_closed()

    # --- what is told ---

    def total_step(self) -> int:
        phases = list(self.lengths)
        return sum(self.lengths[phase] for phase in phases[: phases.index(self.phase)]) + self.step

    def ns_per_day(self) -> float:
        """Of production so far, over all attempts whose saves were taken over."""
        wall = self.facts["productionWallSeconds"]
        return self.step * self.request["protocol"]["timestepFs"] * 1e-6 / wall * 86400 if wall else 0.0

    def tell(self) -> None:
        total, timestep = sum(self.lengths.values()), self.request["protocol"]["timestepFs"]
        done, length = self.total_step(), self.lengths[self.phase]
        speed = self.rate * timestep * 1e-6 * 86400
        way = f"{PHASE_NAMES[self.phase]} {span(self.step * timestep)} of {span(length * timestep)}"
        self.progress(self.share(), f"{way}, {speed:.3g} ns/day, about {left((total - done) / self.rate)} left")

    def share(self) -> float:
        """Of the work that is done, for the progress bar."""
        return MINIMISING_SHARE + (0.99 - MINIMISING_SHARE) * self.total_step() / sum(self.lengths.values())

    def identity(self) -> dict[str, str]:
        """In the words of a restartProvenance. The integrator is the protocol's, whatever a resumed one's seed is."""
        context = self.dynamics.context
        platform = context.getPlatform().getName()
        integrator = make_integrator(self.request["protocol"], "run")
        return identity_of(self.request["requestSha256"], self.preparation, integrator, platform, properties_of(context))


def check_restart_box(state: openmm.State, system: openmm.System) -> None:
    """Refuses the box of another system: OpenMM would divide a huge one into more cells than there is memory."""
    check_box(state.getPeriodicBoxVectors())
    edges, own = (edges_nm(box) for box in (state.getPeriodicBoxVectors(), system.getDefaultPeriodicBoxVectors()))
    if not ((own / MOST_BOX_CHANGE <= edges) & (edges <= own * MOST_BOX_CHANGE)).all():
        raise user_error(
            "RESTART_UNUSABLE",
            f"restartCheckpoint has a box of {listed(edges)} nm, and this run's system one of {listed(own)} nm; give the "
            f"final-state.xml of a run of this system.",
        )


def edges_nm(box: Any) -> np.ndarray:
    """Lengths of the three box vectors, in nm."""
    return np.array([np.linalg.norm(vector.value_in_unit(openmm.unit.nanometer)) for vector in box])


def span(femtoseconds: float) -> str:
    picoseconds = femtoseconds / 1000
    return f"{picoseconds / 1000:.3f} ns" if picoseconds >= 1000 else f"{picoseconds:.1f} ps"


def left(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
