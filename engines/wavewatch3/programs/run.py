"""Runs a case of WAVEWATCH III: unpacks it, runs the programs of the operator's build one after the other, looks after each at what
it said and at the files that the next one needs, and draws what they wrote. A resumable run is computed in windows, each a process
of ww3_shel that goes on from the restart file of the one before; a whole window is saved, and the next attempt goes on from it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any, Callable

import builds
import report
import windows
from cases import check_size, unpack
from task import (
    CHECKPOINT, IN, OUT, RESUME, Failure, Progress, adopt, executor_error, main, one_line, python_version, read_json, saved,
    user_error, write_json,
)

END = "End of program"
STEP = re.compile(r"calculating for (\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)")
VERSION = re.compile(r"version\s+(\S+)")
STARTED = re.compile(r"Restart file read; (.+?)\.?\s*$", re.MULTILINE)
LOG_STEP = re.compile(r"^\s*(\d+)\|\s*\d+\| ", re.MULTILINE)
ERROR = re.compile(r"\berror\b", re.IGNORECASE)
FAILED = re.compile(r"\*\*\* WAVEWATCH[ -]III ERROR|WW3 ERROR:")
TIME, LOG_TIME = "%Y%m%d %H%M%S", "%Y/%m/%d %H:%M:%S"
MAX_PRINTED_CHARS = 4 << 20
# What programs leave for each other, and is no result.
INNER = re.compile(r"(ww3_.*\.nml|.*\.nml\.log|fort\.\d+|ST4TABUHF2?\.bin|.*\.scratch|times\..*|restart\.ww3)")
RAW = {"fields": "out_grd.ww3", "points": "out_pnt.ww3"}


def choose(wanted: str) -> dict[str, Any]:
    """The build that runs the case. There is nothing to work on where it is not told which: that costs nothing."""
    usable, refused = builds.find()
    if not usable:
        raise executor_error("WAVEWATCH_MISSING", "This worker has no build of WAVEWATCH III; its operator lays one below "
                             "MOLFABRIC_WW3." + "".join(f" {name}: {why}." for name, why in refused.items()))
    found = [build for build in usable if build["digest"].startswith(wanted)]
    if len(found) == 1:
        return found[0]
    have = "; ".join(f"{build['digest'][:12]} ({build['switches']})" for build in usable)
    if wanted:
        raise Failure("USER_INPUT", "WAVEWATCH_NO_SUCH_BUILD", f"This worker has no build of the switches {wanted[:12]}; it has "
                      f"{have}.", unbegun=True)
    raise Failure("USER_INPUT", "WAVEWATCH_WHICH_BUILD", f"Say with waveSwitches, or with a file named switch in the case, which "
                  f"build is to run it: {have}.", unbegun=True)


def words(printed: str) -> str:
    """What a program that failed says of it: its lines from the first that speaks of an error, else its last ones."""
    lines = [line.strip(" *") for line in printed.splitlines() if line.strip(" *=-")]
    first = next((i for i, line in enumerate(lines) if ERROR.search(line)), max(len(lines) - 3, 0))
    return one_line(" ".join(lines[first:first + 5]).replace("WAVEWATCH III ERROR", "error")) or "it said nothing"


class Chain:
    """The programs of a build in a folder, and what they have said."""

    def __init__(self, build: dict[str, Any], folder: Path) -> None:
        self.build, self.folder = build, folder
        self.printed: dict[str, str] = {}

    def needs(self, names: list[str]) -> None:
        for name in names:
            if name not in self.build["programs"]:
                raise executor_error("WAVEWATCH_PROGRAM_MISSING", f"The build {self.build['digest'][:12]} has no bin/{name}, "
                                     "which the case needs.")

    def run(self, name: str, makes: list[str], tell: Callable[[str], None] = lambda line: None) -> str:
        """One program. It has ended well when it says so, speaks of no error (ww3_shel may do both, with exit status 0), and has
        made its files."""
        for made in makes:
            (self.folder / made).unlink(missing_ok=True)
        printed = ""
        with subprocess.Popen([self.build["folder"] / "bin" / name], cwd=self.folder, env=builds.environment(self.build),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as process:
            for line in process.stdout or ():
                if len(printed) < MAX_PRINTED_CHARS or ERROR.search(line):
                    printed += line
                tell(line)
        self.printed[name] = self.printed.get(name, "") + printed
        status = process.returncode
        if status < 0:
            raise executor_error("WAVEWATCH_DIED", f"{name} was ended by signal {-status}: {words(printed)}.")
        if status != 0 or END not in printed or FAILED.search(printed):
            raise user_error("WAVEWATCH_ERROR", f"{name} failed with exit status {status}: {words(printed)}.")
        for made in makes:
            path = self.folder / made
            if not path.is_file() or path.stat().st_size == 0:
                raise user_error("WAVEWATCH_NO_OUTPUT", f"{name} says that it ended well, and left no {made}: {words(printed)}.")
        return printed

    def decked(self, name: str, deck: str, text: str, makes: list[str]) -> None:
        """One program with one of its decks."""
        (self.folder / f"{name}.nml").unlink(missing_ok=True)
        (self.folder / f"{name}.nml").write_text(text)
        try:
            self.run(name, makes)
        except Failure as failure:
            failure.message = f"{deck}: {failure.message}"
            raise

    def log(self) -> str:
        path = self.folder / "log.ww3"
        return path.read_text(errors="replace") if path.exists() else ""


def prepare(chain: Chain, request: dict[str, Any]) -> None:
    """Everything before the model itself."""
    stages, folder = request["stages"], chain.folder
    chain.run("ww3_grid", ["mod_def.ww3"])
    if request["start"] == "cold":
        (folder / windows.RESTART).unlink(missing_ok=True)
        if stages["initial"]:
            chain.run("ww3_strt", [windows.RESTART])
    texts = {one["deck"]: (folder / one["deck"]).read_text(errors="replace") for one in stages["forcing"]}
    for one in stages["forcing"]:
        chain.decked("ww3_prnc", one["deck"], texts[one["deck"]], [one["file"]])
    if stages["bounds"]:
        chain.run("ww3_bounc", ["nest.ww3"])
    for name in stages["needs"]:
        if not (folder / name).is_file() or (folder / name).stat().st_size == 0:
            raise user_error("WAVEWATCH_NO_FORCING", f"The model asks for {name}, which is not there or is empty.")


def watcher(request: dict[str, Any], progress: Progress) -> Callable[[str], None]:
    """Turns the model's lines into progress by its time."""
    begin, end = (datetime.strptime(request[name], TIME) for name in ("begin", "end"))

    def tell(line: str) -> None:
        if match := STEP.search(line):
            try:
                now = datetime.strptime(match.group(1), LOG_TIME)
            except ValueError:
                return
            progress(0.05 + 0.85 * min(max((now - begin) / (end - begin), 0), 1), f"at {now} of {end}")

    return tell


def model(chain: Chain, end: str, tell: Callable[[str], None], start: str) -> None:
    """One process of ww3_shel. A model that starts cold where it was to go on has not done what was asked."""
    printed = chain.run("ww3_shel", ["log.ww3"], tell)
    started = STARTED.search(chain.log())
    how = started.group(1) if started else ""
    if start == "restart" and (how != "full restart" or "NO READABLE RESTART FILE" in printed):
        raise user_error("WAVEWATCH_COLD_START", f"The run was to go on from {windows.RESTART}, and the model says: "
                         f"{how or 'nothing of it'}. That file is none of a run of this grid, spectrum and time.")
    check_end(printed, end)


def check_end(printed: str, end: str) -> None:
    """The model must have come to the time at which it was to end."""
    times = STEP.findall(printed)
    if times and times[-1] != datetime.strptime(end, TIME).strftime(LOG_TIME):
        raise user_error("WAVEWATCH_ENDED_EARLY", f"ww3_shel says that it ended well, and ended at {times[-1]} of a run to {end}.")


def steps(log: str) -> int:
    """The number of the last step that a log tells of."""
    found = LOG_STEP.findall(log)
    return int(found[-1]) if found else 0


def compute(chain: Chain, request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The model: in one piece, or window by window. Returns how it started, and its steps."""
    tell = watcher(request, progress)
    if not request["windows"]:
        model(chain, request["end"], tell, request["start"])
        return about(chain.log())
    deck = chain.folder / "ww3_shel.nml"
    text = deck.read_text(errors="replace")
    plan, number, state = resumed(request["windows"], chain.folder)
    while number < len(plan):
        for path in chain.folder.glob("restart???.ww3"):
            path.unlink()
        for name in RAW.values():
            (chain.folder / name).unlink(missing_ok=True)
        deck.write_text(windows.deck(text, plan[number]))
        model(chain, plan[number]["end"], tell, "restart" if number else request["start"])
        now = about(chain.log())
        if number + 1 < len(plan) and now["steps"] % 2:
            # The model takes its two directions of refraction in turns, so it goes on exactly behind an even number of steps alone.
            plan = [*plan[:number], merged(plan[number], plan[-1])]
            continue
        state = now if not number else {**state, "steps": state["steps"] + now["steps"]}
        keep(chain.folder, number, plan, state)
        number += 1
    deck.write_text(text)
    windows.join(CHECKPOINT, chain.folder, plan)
    return state


def merged(first: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """One window from the begin of one to the end of another."""
    def span(name: str) -> list[str]:
        begin, end = first[name], last[name]
        return [begin[0], begin[1] if begin[1] != "0" else end[1], end[2]] if end[1] != "0" else begin

    return {"begin": first["begin"], "end": last["end"], "own": last["own"], "field": span("field"), "point": span("point"),
            "restart": last["restart"] if first["own"] else span("restart")}


def about(log: str) -> dict[str, Any]:
    started, version = STARTED.search(log), VERSION.search(log)
    return {"started": started.group(1) if started else "unknown", "version": version.group(1) if version else "unknown",
            "steps": steps(log)}


def resumed(plan: list[dict[str, Any]], folder: Path) -> tuple[list[dict[str, Any]], int, dict[str, Any]]:
    """How many windows are whole, and what they said. Their restart file is laid where the next one looks for it."""
    number = 0
    while (RESUME / f"window_{number:04d}.json").exists():
        number += 1
    CHECKPOINT.mkdir(parents=True, exist_ok=True)
    if number == 0:
        return plan, 0, {}
    for path in RESUME.iterdir():
        shutil.copyfile(path, CHECKPOINT / path.name)
    if (RESUME / windows.RESTART).exists():
        shutil.copyfile(RESUME / windows.RESTART, folder / windows.RESTART)
    said = read_json(RESUME / f"window_{number - 1:04d}.json")
    return said["plan"], number, said["state"]


def keep(folder: Path, number: int, plan: list[dict[str, Any]], state: dict[str, Any]) -> None:
    """Saves a window: what it wrote, the restart file of the next one, and last what tells that it is whole."""
    names = []
    written = [folder / "log.ww3", *(folder / name for name in RAW.values()), *sorted(folder.glob("restart???.ww3"))]
    for path in written:
        if path.exists():
            names.append(f"window_{number:04d}_{path.name}")
            shutil.copyfile(path, CHECKPOINT / names[-1])
    if number + 1 < len(plan):
        ends = sorted(folder.glob("restart???.ww3"))
        if not ends:
            raise user_error("WAVEWATCH_NO_OUTPUT", "ww3_shel says that it ended well, and left no restart file of a window.")
        shutil.copyfile(ends[-1], folder / windows.RESTART)
        shutil.copyfile(ends[-1], CHECKPOINT / f"{windows.RESTART}.part")
        os.replace(CHECKPOINT / f"{windows.RESTART}.part", CHECKPOINT / windows.RESTART)
        names.append(windows.RESTART)
    write_json(CHECKPOINT / f"window_{number:04d}.json", {"plan": plan, "state": state})
    saved([*names, f"window_{number:04d}.json"])


def finish(chain: Chain, request: dict[str, Any], progress: Progress) -> None:
    """The programs that make netCDF of what the model wrote."""
    stages = request["stages"]
    texts = {deck: (chain.folder / deck).read_text(errors="replace") for deck in stages["fields"] + stages["points"]}
    for kind, name in (("fields", "ww3_ounf"), ("points", "ww3_ounp")):
        raw = chain.folder / RAW[kind]
        if stages[kind] and (not raw.is_file() or raw.stat().st_size == 0):
            raise user_error("WAVEWATCH_NO_OUTPUT", f"The case has {stages[kind][0]}, and ww3_shel wrote no {RAW[kind]}; ask for "
                             "that output with OUTPUT_DATE_NML.")
        for deck in stages[kind]:
            progress(0.92, f"{name} reads {raw.name}", milestone=True)
            chain.decked(name, deck, texts[deck], [])


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    build = choose(request["switches"])
    folder = Path(tempfile.mkdtemp()) / "case"
    folder.mkdir()
    unpack(IN / "case", request["root"], folder)
    before = {path.name for path in folder.iterdir()}
    chain = Chain(build, folder)
    stages = request["stages"]
    chain.needs(["ww3_strt"] * (stages["initial"] and request["start"] == "cold") + ["ww3_prnc"] * bool(stages["forcing"]) +
                ["ww3_bounc"] * stages["bounds"] + ["ww3_ounf"] * bool(stages["fields"]) + ["ww3_ounp"] * bool(stages["points"]))
    progress(0, "preparing the grid", milestone=True)
    prepare(chain, request)
    state = compute(chain, request, progress)
    finish(chain, request, progress)
    return leave(chain, request, before, state)


def leave(chain: Chain, request: dict[str, Any], before: set[str], state: dict[str, Any]) -> dict[str, Any]:
    """Moves what the programs wrote to its place, and draws it."""
    stages = request["stages"]
    inner = {one["file"] for one in stages["forcing"]} | ({"nest.ww3"} if stages["bounds"] else set())
    inner |= {RAW[kind] for kind in RAW if stages[kind]}
    orders = {windows.order_of(chain.folder / raw) for raw in RAW.values() if (chain.folder / raw).exists()} - {""}
    outputs = {}
    for path in sorted(chain.folder.iterdir()):
        if path.name in before or path.name in inner or INNER.fullmatch(path.name) or path.is_dir():
            continue
        check_size(path)
        outputs[path.name] = path
    build = {"switches": chain.build["switches"], "switchesSha256": chain.build["digest"], "version": state["version"],
             "compiler": builds.compiler(chain.build["folder"] / "bin" / "ww3_shel"), "byteOrder": ", ".join(orders) or "unknown"}
    document = report.make(request, outputs, build, state, OUT)
    for name, printed in chain.printed.items():
        (chain.folder / f"{name}.txt").write_text(printed)
        outputs[f"{name}.txt"] = chain.folder / f"{name}.txt"
    for name, path in outputs.items():
        adopt(path, OUT / name)
    return {"summary": document, "programs": {
        "wavewatch3": state["version"], "wavewatch3-switches": build["switchesSha256"], "wavewatch3-compiler": build["compiler"],
        "wavewatch3-byte-order": build["byteOrder"], "python": python_version()}}


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", work))
