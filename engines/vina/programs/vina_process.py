"""Runs AutoDock Vina's Python bindings in a child process: what dock.py and redock.py share.

Vina holds Python's interpreter lock while it searches and prints its progress to file descriptor 1. So the docking runs in a
child process, and this process reads the child's output and turns it into progress; it also outlives a crash of Vina, which
then costs one ligand. Poses are the same to the byte whether a ligand is docked alone or with others, and whatever the threads.
"""

from __future__ import annotations

import json
import math
import os
import resource
import selectors
import signal
import sys
from typing import Any, BinaryIO, Callable, NamedTuple

import cnn
from rounds import AUTO, SAME_SCORE_KCAL_MOL, Likelihoods, Rounds, converge, part_of
from task import IN, Failure, one_line, read_json
from vina_output import MIN_RMSD_ANGSTROM, PoseError, check_poses, parse_poses

OLDEST_VINA = (1, 2, 5)
STARS_PER_SEARCH = 51  # Vina prints this many "*" for one search
MAX_OUTCOME_BYTES = 64 << 20
CANDIDATES_BEFORE = 9  # poses that a round keeps by a plan of the release before, which does not say it

Outcome = dict[
    str, Any
]  # status, poses, pdbqt, convergence and cpuSeconds of a ligand, or status, failureStage, error and cpuSeconds


class Box(NamedTuple):
    """The search box, in Å."""

    center: tuple[float, ...]
    size: tuple[float, ...]


def require_vina() -> str:
    """Returns Vina's version; raises a Failure when it is one that reports wrong affinities."""
    import vina

    version = vina.__version__
    numbers = tuple(int(part) for part in version.split(".")[:3] if part.isdigit())
    if numbers < OLDEST_VINA:
        raise Failure(
            "EXECUTOR",
            "VINA_TOO_OLD",
            f"AutoDock Vina {version} on this worker reports wrong affinities for some ligands; "
            f"version {'.'.join(map(str, OLDEST_VINA))} or later is needed.",
        )
    return version


def read_box() -> Box:
    """The box that the receptor's preparation settled on. Raises a Failure when in/box.json is not a box."""
    try:
        document = read_json(IN / "box.json")
        center, size = (tuple(float(value) for value in document[key]) for key in ("centerAngstrom", "sizeAngstrom"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(
            "EXECUTOR", "BOX_UNREADABLE", f"the box of the receptor's preparation cannot be read: {type(error).__name__}."
        ) from error
    if len(center) != 3 or len(size) != 3 or not all(map(math.isfinite, center + size)) or min(size) <= 0:
        raise Failure(
            "EXECUTOR", "BOX_UNREADABLE", "the box of the receptor's preparation is not three coordinates and three edges."
        )
    return Box(center, size)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def threads(search: dict[str, Any]) -> int:
    """How many threads may search: those that this process may keep busy, which may be more than were asked for. Poses do not
    depend on them."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdigit() and int(given) else search["cpuThreads"]


def network() -> Likelihoods:
    """The network's opinion of poses in the receptor, none of poses that it cannot read. Raises a Failure where it is not
    installed."""
    try:
        scorer = cnn.Scorer((IN / "receptor.pdbqt").read_text(encoding="utf-8", errors="replace"))
    except ImportError as error:
        raise cnn.absent(str(error)) from error

    def likelihoods(pdbqt: str) -> list[float] | None:
        try:
            return [scores["cnnScore"] for scores in scorer.scores(pdbqt)]
        except ValueError:  # the analysis says so
            return None

    return likelihoods


class Searcher:
    """Vina in this process, for the ligands of a shard in turn."""

    def __init__(self, search: dict[str, Any], box: Box, reached: Callable[[int], None]) -> None:
        self.search, self.box, self.reached = search, box, reached
        self.auto = search["exhaustiveness"] == AUTO
        self.likelihoods = network() if self.auto and search["auto"].get("chooseBy") == cnn.BY_CNN else None
        self.engine: Any = None  # of a search of a fixed length, whose maps all ligands share
        if not self.auto:
            self.engine = self.start(search["engineSeed"])
            self.lay_maps(self.engine)

    def start(self, seed: int) -> Any:
        import vina

        engine = vina.Vina(sf_name="vina", cpu=threads(self.search), seed=seed, verbosity=1)
        try:
            engine.set_receptor(str(IN / "receptor.pdbqt"))
        except RuntimeError as error:  # which is no ligand's fault
            raise Failure(
                "EXECUTOR", "VINA_STOPPED", f"AutoDock Vina cannot read the prepared receptor: {one_line(str(error), 200)}"
            ) from error
        return engine

    def lay_maps(self, engine: Any) -> None:
        engine.compute_vina_maps(center=list(self.box.center), box_size=list(self.box.size))

    def poses_of(self, ligand: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
        """A ligand's poses as PDBQT, and how its search has converged; None for a search of a fixed length."""
        modes, energy_range = self.search["numModes"], self.search["energyRangeKcalMol"]
        if self.auto:
            auto = self.search["auto"]
            rounds = Rounds(
                self.search["engineSeed"], modes, energy_range, auto.get("candidates", CANDIDATES_BEFORE), self.likelihoods
            )
            converge(lambda size, seed: self.round_of(ligand, rounds, size, seed), auto, rounds, ligand)
            return rounds.poses(), rounds.convergence()
        self.engine.set_ligand_from_string(ligand["pdbqt"])
        self.engine.dock(exhaustiveness=self.search["exhaustiveness"], n_poses=modes, min_rmsd=MIN_RMSD_ANGSTROM)
        return self.engine.poses(n_poses=modes, energy_range=energy_range), None

    def round_of(self, ligand: dict[str, Any], rounds: Rounds, size: int, seed: int) -> str:
        """One round. The bindings keep a seed for good, so that each round has an engine of its own; its maps are of the ligand's
        atom types alone, which takes less than half the time and memory of all types."""
        self.reached(len(rounds.done) + 1)
        engine = self.start(seed)
        engine.set_ligand_from_string(ligand["pdbqt"])
        self.lay_maps(engine)
        engine.dock(exhaustiveness=size, n_poses=rounds.candidates, min_rmsd=MIN_RMSD_ANGSTROM)
        return engine.poses(n_poses=rounds.candidates, energy_range=max(self.search["energyRangeKcalMol"], SAME_SCORE_KCAL_MOL))


def dock_here(search: dict[str, Any], box: Box, ligands: list[dict[str, Any]], outcomes: BinaryIO) -> None:
    """Docks in this process and writes one JSON line per ligand to outcomes, and one for each round that begins."""

    def tell(document: dict[str, Any]) -> None:
        outcomes.write(json.dumps(document).encode() + b"\n")
        outcomes.flush()

    try:
        searcher = Searcher(search, box, lambda number: tell({"round": number}))
    except Failure as failure:
        return tell({"failure": [failure.failure_class, failure.code, failure.message]})
    for ligand in ligands:
        before = cpu_seconds()
        try:
            text, convergence = searcher.poses_of(ligand)
            poses = parse_poses(text)
            check_poses(poses)
            outcome: Outcome = {"status": "COMPLETED", "poses": poses, "pdbqt": text, "convergence": convergence}
        except PoseError as error:
            outcome = failed(error.step, str(error))
        except Failure as failure:
            outcome = {"failure": [failure.failure_class, failure.code, failure.message]}
        except (RuntimeError, ValueError) as error:  # what the bindings raise for a ligand they cannot read or search
            outcome = failed("dock", f"AutoDock Vina: {error}")
        outcome["cpuSeconds"] = round(cpu_seconds() - before, 3)
        tell(outcome)


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
        self.part = (0.0, 1.0)  # of the current ligand's progress that the current search is
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
            document = json.loads(line)
            self.part = part_of(document["round"]) if "round" in document else (0.0, 1.0)
            if "round" not in document:
                finished(document)
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
                    begin, end = self.part
                    searching(begin + (end - begin) * min(self.stars / STARS_PER_SEARCH, 1.0))
        except BaseException:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            raise
        return os.waitpid(self.child, 0)[1]


def dock_all(
    search: dict[str, Any],
    box: Box,
    ligands: list[dict[str, Any]],
    finished: Callable[[dict[str, Any], Outcome], None],
    searching: Callable[[int, float], None],
) -> None:
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
            ended = (
                f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.waitstatus_to_exitcode(status)}"
            )
            raise Failure(
                "EXECUTOR", "VINA_STOPPED", f"AutoDock Vina ended with {ended}, perhaps for want of memory; see the task's log."
            )
        if done < len(ligands):
            take({**failed("dock", "AutoDock Vina crashed on this ligand"), "cpuSeconds": 0.0})
