"""Docks prepared ligands into a receptor with AutoDock Vina's Python bindings.

Reads request.json, in/receptor.pdbqt and in/ligands.json, docks the ligands that the request names, in that order, in one
process with the affinity maps computed once, and writes out/dock.json (poses as PDBQT and their energies) and
out/result.json. Results are the same to the byte whether a ligand is docked alone or with others, and whatever the threads.

Vina holds Python's interpreter lock while it searches and prints its progress to file descriptor 1. So the docking runs in a
child process, and this process reads the child's output and turns it into progress lines; it also outlives a crash of Vina,
which then costs one ligand.
"""

from __future__ import annotations

import json
import os
import re
import resource
import selectors
import signal
import sys
from typing import Any, BinaryIO

from common import IN, OUT, Failure, Progress, main, one_line, program_versions, read_json, require_vina, write_json

STARS_PER_LIGAND = 51  # Vina prints this many "*" for one search
MIN_RMSD_ANGSTROM = 1.0  # Vina's default: poses closer than this are one pose
UNBOUND_TOLERANCE_KCAL_MOL = 0.002
MAX_OUTCOME_BYTES = 64 << 20

RESULT_LINE = re.compile(r"REMARK VINA RESULT:\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
TERM_LINE = re.compile(r"REMARK (INTER \+ INTRA|INTER|INTRA|UNBOUND):\s+(\S+)\s*$")


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


def dock_ligands(request: dict[str, Any], ligands: list[dict[str, Any]], outcomes: BinaryIO) -> None:
    """Docks in this process and writes one JSON line per ligand to outcomes."""
    import vina

    search, box = request["search"], request["box"]
    engine = vina.Vina(sf_name="vina", cpu=search["cpuThreads"], seed=search["engineSeed"], verbosity=1)
    engine.set_receptor(str(IN / "receptor.pdbqt"))
    engine.compute_vina_maps(center=box["centerAngstrom"], box_size=box["sizeAngstrom"])
    for ligand in ligands:
        before = cpu_seconds()
        try:
            engine.set_ligand_from_string(ligand["pdbqt"])
            engine.dock(exhaustiveness=search["exhaustiveness"], n_poses=search["numModes"], min_rmsd=MIN_RMSD_ANGSTROM)
            text = engine.poses(n_poses=search["numModes"], energy_range=search["energyRangeKcalMol"])
            poses = parse_poses(text)
            check_poses(poses)
            outcome: dict[str, Any] = {"status": "COMPLETED", "poses": poses, "pdbqt": text}
        except PoseError as error:
            outcome = failed(error.step, str(error))
        except Failure as failure:
            outcome = {"failure": [failure.failure_class, failure.code, failure.message]}
        except (RuntimeError, ValueError) as error:  # what the bindings raise for a ligand they cannot read or search
            outcome = failed("dock", f"AutoDock Vina: {error}")
        outcome["cpuSeconds"] = round(cpu_seconds() - before, 3)
        outcomes.write(json.dumps(outcome).encode() + b"\n")
        outcomes.flush()


def failed(step: str, message: str) -> dict[str, Any]:
    return {"status": "FAILED", "failureStage": step, "error": one_line(message)}


class Docking:
    """A child process that docks, and what it has said so far."""

    def __init__(self, request: dict[str, Any], ligands: list[dict[str, Any]]) -> None:
        printed, stdout = os.pipe()
        told, outcomes = os.pipe()
        sys.stdout.flush()
        self.child = os.fork()
        if self.child == 0:
            self.run_child(request, ligands, stdout, outcomes)
        os.close(stdout)
        os.close(outcomes)
        self.printed, self.told = printed, told
        self.stars = 0
        self.answer = b""

    def run_child(self, request: dict[str, Any], ligands: list[dict[str, Any]], stdout: int, outcomes: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(stdout, 1)
        status = 1
        try:
            with os.fdopen(outcomes, "wb") as pipe:
                dock_ligands(request, ligands, pipe)
            status = 0
        except BaseException:  # a child must never return into the parent's code
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)

    def outcomes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.answer.splitlines(keepends=True) if line.endswith(b"\n")]

    def wait(self, report: Any) -> int:
        """Reads until the child has closed both pipes, reporting (finished ligands, fraction of the current one). Returns the
        child's wait status."""
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
                        self.answer += block
                        self.stars = 0 if block.endswith(b"\n") else self.stars
                    if len(self.answer) > MAX_OUTCOME_BYTES:
                        os.kill(self.child, signal.SIGKILL)
                        raise Failure("EXECUTOR", "OUTPUT_TOO_LARGE", "AutoDock Vina's poses are larger than any real docking.")
                report(self.answer.count(b"\n"), min(self.stars / STARS_PER_LIGAND, 1.0))
        return os.waitpid(self.child, 0)[1]


def dock_all(request: dict[str, Any], ligands: list[dict[str, Any]], progress: Progress) -> list[dict[str, Any]]:
    """Docks every ligand; where Vina crashes on one, that one fails and a new child goes on with the next."""
    outcomes: list[dict[str, Any]] = []
    while len(outcomes) < len(ligands):
        started = len(outcomes)
        docking = Docking(request, ligands[started:])
        signal.signal(signal.SIGTERM, lambda *_: (os.kill(docking.child, signal.SIGKILL), os._exit(143)))

        def report(finished: int, fraction: float) -> None:
            current = min(started + finished, len(ligands) - 1)
            label = ligands[current]["label"]
            place = f" ({current + 1} of {len(ligands)})" if len(ligands) > 1 else ""
            progress(0.99 * (started + finished + fraction) / len(ligands), f"docking {label}{place}")

        status = docking.wait(report)
        outcomes += docking.outcomes()
        for outcome in outcomes:
            if "failure" in outcome:
                raise Failure(*outcome["failure"])
        if status == 0:
            break
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) not in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS):
            ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.waitstatus_to_exitcode(status)}"
            raise Failure("EXECUTOR", "VINA_STOPPED", f"AutoDock Vina ended with {ended}, perhaps for want of memory; see the task's log.")
        if len(outcomes) < len(ligands):
            outcomes.append({**failed("dock", "AutoDock Vina crashed on this ligand"), "cpuSeconds": 0.0})
    return outcomes


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    require_vina()
    prepared = {record["index"]: record for record in read_json(IN / "ligands.json")["ligands"]}
    missing = [index for index in request["indices"] if index not in prepared]
    if missing:
        raise Failure("EXECUTOR", "LIGANDS_INCOMPLETE", f"the prepared ligands lack number {missing[0] + 1}.")
    records = [prepared[index] for index in request["indices"]]
    ready = [record for record in records if record["status"] == "PREPARED"]
    progress(0.0, f"docking {len(ready)} of {len(records)} ligands")
    docked = dict(zip((record["index"] for record in ready), dock_all(request, ready, progress)))
    entries = []
    for record in records:
        outcome = docked.get(record["index"]) or {key: record[key] for key in ("status", "failureStage", "error")}
        entries.append({"index": record["index"], "ligandId": record["ligandId"], "label": record["label"], **outcome})
    failures = [
        {"item": entry["ligandId"], "label": entry["label"], "step": entry["failureStage"], "message": entry["error"]}
        for entry in entries
        if entry["status"] == "FAILED"
    ]
    if len(failures) == len(entries):
        reason = f"{failures[0]['step']}: {failures[0]['message']}"
        raise Failure("USER_INPUT", "NO_LIGAND_DOCKED", f"None of the task's {len(entries)} ligands could be docked ({reason}).", failures)
    programs = program_versions(["vina", "numpy"])
    write_json(OUT / "dock.json", {"schema": "molfabric.docking.poses/v1", "ligands": entries, "programs": programs})
    best = min(entry["poses"][0]["scoreKcalMol"] for entry in entries if entry["status"] == "COMPLETED")
    summary = {"docked": len(entries) - len(failures), "failed": len(failures), "bestScoreKcalMol": best}
    return {"summary": summary, "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
