"""Runs one deck of SWAN: unpacks the case, computes, judges how it went, draws what it wrote. A resumable run over time is computed
in windows, each a process of its own that starts from the hot file of the one before; a whole window is saved, and the next attempt
goes on behind it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import decks
import report
from cases import check_size, unpack
from task import (
    CHECKPOINT, IN, OUT, RESUME, Progress, adopt, executor_error, main, one_line, python_version, read_json, saved, user_error,
    write_json,
)

HOT = "molfabric.hot"
OWN = {"INPUT", "PRINT", "Errfile", "norm_end", "swaninit", HOT}
STEP = re.compile(r"step\s+(\d+);")
ITERATION = re.compile(r"iteration\s+(\d+);")
ACCURACY = re.compile(r"accuracy OK in\s*([\d.]+) % of wet grid points \(\s*([\d.]+) % required\)")
PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)\}")
VERSION = re.compile(r"VERSION NUMBER\s+(\S+)")


def program() -> str:
    """The operator's own SWAN where there is one on the path, else that of set-up, beside this Python."""
    found = shutil.which("swan.exe") or shutil.which("swan") or shutil.which("swan.exe", path=str(Path(sys.prefix) / "bin"))
    if not found:
        raise executor_error("SWAN_MISSING", "This worker has no swan.exe; its operator installs it with `make setup-waves`.")
    return found


class Run:
    """What one process of SWAN has said. accuracies are of each computation the last percentage that was reached and the one that
    was required; None where SWAN tested none."""

    def __init__(self, folder: Path) -> None:
        self.printed = (folder / "PRINT").read_text(errors="replace") if (folder / "PRINT").exists() else ""
        errors = folder / "Errfile"
        said = errors.read_text(errors="replace").splitlines() if errors.exists() else []
        self.errors = [one_line(line) for line in said if line.strip()]
        self.ended = (folder / "norm_end").exists()
        self.errors += [one_line(line.replace("*", "")) for line in self.printed.splitlines()
                        if re.match(r"\s*\*+ (Terminating|Severe|Error)", line) and "No start" not in line]
        self.warnings = [one_line(line) for line in self.printed.splitlines() if re.match(r"\s*\*+ Warning", line)]

    def version(self) -> str:
        match = VERSION.search(self.printed)
        return match.group(1) if match else "unknown"

    def check(self, log: str) -> None:
        """SWAN always exits with 0: what counts is norm_end, no Errfile, and a PRINT without errors."""
        if self.errors:
            raise user_error("SWAN_ERROR", "SWAN says: " + "; ".join(dict.fromkeys(self.errors)) + ".")
        if not self.ended:
            raise executor_error("SWAN_DIED", f"SWAN ended before its end: {one_line(log[-300:]) or 'it said nothing'}.")

    def accuracies(self) -> list[tuple[float, float] | None]:
        """Of each computation or time step, in order: the iteration number falls where the next one begins."""
        found: list[tuple[float, float] | None] = []
        last = 0
        for line in self.printed.splitlines():
            if match := ITERATION.search(line):
                number = int(match.group(1))
                if number < last or last == 0:
                    found.append(None)
                elif number == last and "sweep 1" in line:
                    found.append(None)
                last = number
            elif (match := ACCURACY.search(line)) and found:
                found[-1] = (float(match.group(1)), float(match.group(2)))
        return found


def compute(folder: Path, threads: int, tell: Any) -> str:
    """One process of SWAN in a folder with its INPUT. Returns the end of what it printed."""
    for name in ("norm_end", "Errfile", "PRINT"):
        (folder / name).unlink(missing_ok=True)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_STACKSIZE": "64M"}
    tail = ""
    with subprocess.Popen([program()], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        for line in process.stdout or ():
            tail = (tail + line)[-2000:]
            tell(line)
    return tail


def watcher(request: dict[str, Any], progress: Progress, first: int) -> Any:
    """Turns SWAN's lines into progress: of steps where it goes over time, else of iterations, of which it rarely needs all."""
    steps, iterations = request["steps"], request["iterations"]

    def tell(line: str) -> None:
        step, iteration = STEP.search(line), ITERATION.search(line)
        if steps and step:
            at = first + int(step.group(1))
            progress(0.95 * min(at / steps, 1), f"{request['label']}: step {at} of {steps}")
        elif iteration and not steps:
            at = int(iteration.group(1))
            progress(0.95 * at / (at + max(iterations, 20) / 4), f"{request['label']}: iteration {at} of at most {iterations}")

    return tell


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    case = Path(tempfile.mkdtemp()) / "case"
    unpack(IN / "case", request["root"], case)
    folder = case / Path(request["deck"]).parent
    text = filled((case / request["deck"]).read_text(errors="replace"), request.get("values") or {})
    before = {path.name for path in folder.iterdir()}
    windows = request["windows"]
    done, state = resumed(folder) if windows else (0, {"accuracies": [], "warnings": [], "version": ""})
    for number in range(done, max(len(windows), 1)):
        if windows:
            for path in folder.iterdir():  # what the window before has written lies in its checkpoint
                if path.name not in before and path.name != HOT:
                    path.unlink()
            text_now, first = decks.window(text, windows, number, HOT), windows[number]["firstStep"]
        else:
            text_now, first = text, 0
        (folder / "INPUT").unlink(missing_ok=True)
        (folder / "INPUT").write_text(text_now)
        log = compute(folder, request["threads"], watcher(request, progress, first))
        run = Run(folder)
        run.check(log)
        state = {"accuracies": state["accuracies"] + run.accuracies(), "warnings": state["warnings"] + run.warnings,
                 "version": run.version()}
        if windows:
            keep(folder, before, number, state, number + 1 == len(windows))
    if windows:
        decks.join(CHECKPOINT, folder, before, len(windows), HOT, OWN)
    return leave(request, folder, before, state)


def filled(text: str, values: dict[str, str]) -> str:
    """A deck with the cells of a scenario in place of {column}; those of none leave it as it is."""
    return PLACEHOLDER.sub(lambda match: values[match.group(1)], text) if values else text


def resumed(folder: Path) -> tuple[int, dict[str, Any]]:
    """How many windows are whole, and what they said. Their hot file is laid where the next one looks for it."""
    number = 0
    while (RESUME / f"window_{number:04d}.json").exists():
        number += 1
    if number == 0:
        return 0, {"accuracies": [], "warnings": [], "version": ""}
    CHECKPOINT.mkdir(parents=True, exist_ok=True)
    for path in RESUME.iterdir():
        shutil.copyfile(path, CHECKPOINT / path.name)
    if (RESUME / "hot").exists():
        shutil.copyfile(RESUME / "hot", folder / HOT)
    return number, read_json(RESUME / f"window_{number - 1:04d}.json")


def keep(folder: Path, before: set[str], number: int, state: dict[str, Any], last: bool) -> None:
    """Saves a window: what it wrote, its hot file, and last what tells that it is whole."""
    CHECKPOINT.mkdir(parents=True, exist_ok=True)
    names = []
    for path in sorted(folder.iterdir()):
        if path.name not in before and path.name not in OWN:
            names.append(f"window_{number:04d}_{path.name}")
            shutil.copyfile(path, CHECKPOINT / names[-1])
    if not last:
        shutil.copyfile(folder / HOT, CHECKPOINT / "hot.part")
        os.replace(CHECKPOINT / "hot.part", CHECKPOINT / "hot")
        names.append("hot")
    write_json(CHECKPOINT / f"window_{number:04d}.json", state)
    saved([*names, f"window_{number:04d}.json"])


def leave(request: dict[str, Any], folder: Path, before: set[str], state: dict[str, Any]) -> dict[str, Any]:
    """Moves what SWAN wrote to its place, and draws it."""
    prefix = request["prefix"]
    outputs = {}
    for path in sorted(folder.iterdir()):
        if path.name in before or path.name in OWN or path.is_dir():
            continue
        check_size(path)
        outputs[path.name] = path
    found = convergence(state["accuracies"], request["steps"])
    document = report.make(request, outputs, found, state, OUT, prefix)
    shutil.copyfile(folder / "PRINT", OUT / f"{prefix}PRINT.txt.part")
    adopt(OUT / f"{prefix}PRINT.txt.part", OUT / f"{prefix}PRINT.txt")
    for name, path in outputs.items():
        adopt(path, OUT / f"{prefix}{name}")
    failures = [] if found["converged"] is not False else [{
        "item": request["label"], "step": "converge", "message": found["message"]}]
    return {"summary": document, "failures": failures, "programs": {"swan": state["version"], "python": python_version()}}


def convergence(accuracies: list[list[float] | None], steps: int) -> dict[str, Any]:
    """Whether the iterations ended because nothing changed any more. converged is None where SWAN did not test it."""
    tested = [one for one in accuracies if one]
    short = [one for one in tested if one[0] < one[1]]
    last = {"reachedPercent": tested[-1][0], "requiredPercent": tested[-1][1]} if tested else {}
    if not tested:
        why = "Each time step took one iteration, which SWAN does not test for convergence."
        return {"converged": None, "message": why if steps else "SWAN tested no convergence."}
    if short:
        worst = min(short)
        return {"converged": False, **last, "message":
                f"Not converged: {len(short)} of {len(tested)} computations or time steps ended at their most iterations, at worst "
                f"with {worst[0]:g} % of the wet points accurate, where {worst[1]:g} % are required. Give NUMERIC more iterations, "
                "or look at the points that change."}
    return {"converged": True, **last, "message": f"Converged: at the end {last['reachedPercent']:g} % of the wet points were "
            f"accurate, where {last['requiredPercent']:g} % are required."}


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", work))
