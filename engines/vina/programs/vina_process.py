"""Runs AutoDock Vina's Python bindings in a child process: what dock.py and redock.py share.

Vina holds Python's interpreter lock while it searches and prints its progress to file descriptor 1. So the docking runs in a
child process, and this process reads the child's output and turns it into progress; it also outlives a crash of Vina, which
then costs one ligand. Poses are the same to the byte whether a ligand is docked alone or with others, and whatever the threads.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import selectors
import signal
import sys
from typing import Any, BinaryIO, Callable, NamedTuple

from common import IN, Failure, one_line, read_json

STARS_PER_LIGAND = 51  # Vina prints this many "*" for one search
MIN_RMSD_ANGSTROM = 1.0  # Vina's default: poses closer than this are one pose
UNBOUND_TOLERANCE_KCAL_MOL = 0.002
MAX_OUTCOME_BYTES = 64 << 20

RESULT_LINE = re.compile(r"REMARK VINA RESULT:\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
TERM_LINE = re.compile(r"REMARK (INTER \+ INTRA|INTER|INTRA|UNBOUND):\s+(\S+)\s*$")


Outcome = dict[str, Any]  # status, poses, pdbqt and cpuSeconds of a ligand, or status, failureStage, error and cpuSeconds


class Box(NamedTuple):
    """The search box, in Å."""

    center: tuple[float, ...]
    size: tuple[float, ...]


def read_box() -> Box:
    """The box that the receptor's preparation settled on. Raises a Failure when in/box.json is not a box."""
    try:
        document = read_json(IN / "box.json")
        center, size = (tuple(float(value) for value in document[key]) for key in ("centerAngstrom", "sizeAngstrom"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure("EXECUTOR", "BOX_UNREADABLE", f"the box of the receptor's preparation cannot be read: {type(error).__name__}.") from error
    if len(center) != 3 or len(size) != 3 or not all(map(math.isfinite, center + size)) or min(size) <= 0:
        raise Failure("EXECUTOR", "BOX_UNREADABLE", "the box of the receptor's preparation is not three coordinates and three edges.")
    return Box(center, size)


class PoseError(Exception):
    """Vina's output for a ligand is not usable. step is dock or parse_output."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


def parse_poses(text: str) -> list[dict[str, Any]]:
    """Poses of a Vina output, best first. Energies in kcal/mol, deviations from the best pose in Å."""
    poses: list[dict[str, Any]] = []
    for block in text.split("MODEL ")[1:]:
        lines = block.splitlines()
        result = next((match for line in lines if (match := RESULT_LINE.match(line))), None)
        terms = {match[1]: float(match[2]) for line in lines if (match := TERM_LINE.match(line))}
        if result is None or len(terms) != 4 or "ENDMDL" not in lines:
            raise PoseError("parse_output", f"model {len(poses) + 1} of Vina's output is incomplete")
        score, lower, upper = (float(result[i]) for i in (1, 2, 3))
        if not all(map(math.isfinite, (score, lower, upper, *terms.values()))):
            raise PoseError("parse_output", f"model {len(poses) + 1} of Vina's output has energies that are not numbers")
        torsional = score - (terms["INTER + INTRA"] - terms["UNBOUND"])
        poses.append(
            {
                "rank": len(poses) + 1,
                "scoreKcalMol": score,
                "rmsdLowerBound": lower,
                "rmsdUpperBound": upper,
                "terms": {
                    "inter": terms["INTER"],
                    "intra": terms["INTRA"],
                    "torsional": round(torsional, 3) + 0.0,
                    "unbound": terms["UNBOUND"],
                },
            }
        )
    return poses


def check_poses(poses: list[dict[str, Any]]) -> None:
    """Vina ends well in cases where its numbers mean nothing; these are what tells them."""
    if not poses:
        raise PoseError("dock", "Vina found no pose in the box")
    best = poses[0]
    if best["scoreKcalMol"] == 0 and best["terms"]["inter"] == 0:
        raise PoseError("dock", "the ligand touches no receptor atom in the box; move the box to the binding site")
    if abs(best["terms"]["unbound"] - best["terms"]["intra"]) > UNBOUND_TOLERANCE_KCAL_MOL:
        raise Failure(
            "EXECUTOR", "VINA_WRONG_AFFINITY",
            "AutoDock Vina on this worker reports an unbound energy that differs from the best pose's; its affinities are wrong.",
        )
    if any(later["scoreKcalMol"] < earlier["scoreKcalMol"] for earlier, later in zip(poses, poses[1:])):
        raise PoseError("parse_output", "Vina's poses are not ordered by score")


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def dock_here(search: dict[str, Any], box: Box, ligands: list[dict[str, Any]], outcomes: BinaryIO) -> None:
    """Docks in this process and writes one JSON line per ligand to outcomes."""
    import vina

    engine = vina.Vina(sf_name="vina", cpu=search["cpuThreads"], seed=search["engineSeed"], verbosity=1)
    engine.set_receptor(str(IN / "receptor.pdbqt"))
    engine.compute_vina_maps(center=list(box.center), box_size=list(box.size))
    for ligand in ligands:
        before = cpu_seconds()
        try:
            engine.set_ligand_from_string(ligand["pdbqt"])
            engine.dock(exhaustiveness=search["exhaustiveness"], n_poses=search["numModes"], min_rmsd=MIN_RMSD_ANGSTROM)
            text = engine.poses(n_poses=search["numModes"], energy_range=search["energyRangeKcalMol"])
            poses = parse_poses(text)
            check_poses(poses)
            outcome: Outcome = {"status": "COMPLETED", "poses": poses, "pdbqt": text}
        except PoseError as error:
            outcome = failed(error.step, str(error))
        except Failure as failure:
            outcome = {"failure": [failure.failure_class, failure.code, failure.message]}
        except (RuntimeError, ValueError) as error:  # what the bindings raise for a ligand they cannot read or search
            outcome = failed("dock", f"AutoDock Vina: {error}")
        outcome["cpuSeconds"] = round(cpu_seconds() - before, 3)
        outcomes.write(json.dumps(outcome).encode() + b"\n")
        outcomes.flush()


def failed(step: str, message: str) -> Outcome:
    return {"status": "FAILED", "failureStage": step, "error": one_line(message)}


class Docking:
    """A child process that docks, and what it has said so far."""

    def __init__(self, search: dict[str, Any], box: Box, ligands: list[dict[str, Any]]) -> None:
        printed, stdout = os.pipe()
        told, outcomes = os.pipe()
        sys.stdout.flush()
        self.child = os.fork()
        if self.child == 0:
            self.run_child(search, box, ligands, stdout, outcomes)
        os.close(stdout)
        os.close(outcomes)
        self.printed, self.told = printed, told
        self.stars = 0
        self.line = b""

    def run_child(self, search: dict[str, Any], box: Box, ligands: list[dict[str, Any]], stdout: int, outcomes: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(stdout, 1)
        status = 1
        try:
            with os.fdopen(outcomes, "wb") as pipe:
                dock_here(search, box, ligands, pipe)
            status = 0
        except BaseException:  # a child must never return into the parent's code
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)

    def hear(self, block: bytes, finished: Callable[[Outcome], None]) -> None:
        """Takes what came through the pipe of outcomes; tells finished each whole one."""
        *whole, self.line = (self.line + block).split(b"\n")
        for line in whole:
            self.stars = 0
            finished(json.loads(line))
        if len(self.line) > MAX_OUTCOME_BYTES:
            raise Failure("EXECUTOR", "OUTPUT_TOO_LARGE", "AutoDock Vina's poses are larger than any real docking.")

    def wait(self, finished: Callable[[Outcome], None], searching: Callable[[float], None]) -> int:
        """Reads until the child has closed both pipes. Tells finished each ligand's outcome, and searching the fraction of the
        current search. Returns the child's wait status. What finished raises ends the child."""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self.printed, selectors.EVENT_READ)
                selector.register(self.told, selectors.EVENT_READ)
                while selector.get_map():
                    for key, _ in selector.select():
                        block = os.read(key.fd, 1 << 16)
                        if not block:
                            selector.unregister(key.fd)
                            os.close(key.fd)
                        elif key.fd == self.printed:
                            self.stars += block.count(b"*")
                        else:
                            self.hear(block, finished)
                    searching(min(self.stars / STARS_PER_LIGAND, 1.0))
        except BaseException:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            raise
        return os.waitpid(self.child, 0)[1]


def dock_all(
    search: dict[str, Any], box: Box, ligands: list[dict[str, Any]],
    finished: Callable[[dict[str, Any], Outcome], None], searching: Callable[[int, float], None],
) -> None:  # fmt: skip
    """Docks prepared ligands (records with their pdbqt) in order, with the affinity maps computed once. Tells finished each
    record with its outcome as soon as it is there, and searching the number of outcomes so far and the fraction of the
    current search. A ligand that crashes Vina fails, and the others go on in a fresh child. Raises a Failure."""
    done = 0

    def take(outcome: Outcome) -> None:
        nonlocal done
        if "failure" in outcome:
            raise Failure(*outcome["failure"])
        finished(ligands[done], outcome)
        done += 1

    while done < len(ligands):
        docking = Docking(search, box, ligands[done:])
        signal.signal(signal.SIGTERM, lambda *_: (os.kill(docking.child, signal.SIGKILL), os._exit(143)))
        status = docking.wait(take, lambda fraction: searching(done, fraction))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if status == 0:
            break
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) not in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS):
            ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.waitstatus_to_exitcode(status)}"
            raise Failure("EXECUTOR", "VINA_STOPPED", f"AutoDock Vina ended with {ended}, perhaps for want of memory; see the task's log.")
        if done < len(ligands):
            take({**failed("dock", "AutoDock Vina crashed on this ligand"), "cpuSeconds": 0.0})
