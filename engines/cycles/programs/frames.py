"""Blender's side of a shard: opens a scene and renders the frames that it is told to, with Cycles. It is started by blender.py.

Commands come as JSON lines on standard input: {"do": "open"}, {"do": "inspect"}, {"do": "render", "frame": 7, "path": …,
"display": … or null}. Each gets one line on the pipe of answers, {"answer": {…}} or {"failure": {…}}; {"sample": 12, "samples": 64}
may come before it. An error of one command does not end the process.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

from confine import confine
from task import OUT, Failure, executor_error, one_line, read_json

PR_SET_PDEATHSIG = 1
SAMPLE = re.compile(r"Sample (\d+)/(\d+)")
TELL_INTERVAL_S = 0.5
MAX_ITEMS = 100


class Side:
    """Answers commands until there are none left."""

    def __init__(self, request: dict[str, Any], answers: TextIO) -> None:
        self.request, self.answers = request, answers
        self.told = 0.0
        self.samples = 0
        self.scene: Any = None

    def tell(self, document: dict[str, Any]) -> None:
        self.answers.write(json.dumps(document) + "\n")
        self.answers.flush()

    def serve(self, commands: TextIO) -> None:
        for line in commands:
            command = json.loads(line)
            work = {"open": self.open, "inspect": self.inspect, "render": self.render}[command.pop("do")]
            try:
                self.tell({"answer": work(**command)})
            except Failure as failure:
                self.tell({"failure": document_of(failure)})
            except Exception as error:
                traceback.print_exc()
                self.tell(
                    {"failure": document_of(executor_error("RENDER_ERROR", f"Blender stopped with an error: {reason(error)}."))}
                )

    def open(self) -> dict[str, Any]:
        wall, cpu = time.monotonic(), cpu_seconds()
        import bpy

        if self.request["scene"]["kind"] == "stage":
            from stage_scene import StageScene as Opened
        else:
            from blend_scene import BlendScene as Opened
        self.scene = Opened(self.request)
        bpy.app.handlers.render_stats.append(self.statistics)
        return {
            "blender": bpy.app.version_string.split(" ")[0],
            "seconds": round(time.monotonic() - wall, 3),
            "cpuSeconds": round(cpu_seconds() - cpu, 3),
            "device": self.scene.device,
            "programs": self.scene.programs,
            "warnings": self.scene.warnings[:MAX_ITEMS],
        }

    def inspect(self) -> dict[str, Any]:
        from inspection import inspect

        return inspect(self.scene)

    def render(self, frame: int, path: str, display: str | None) -> dict[str, Any]:
        wall, cpu = time.monotonic(), cpu_seconds()
        self.samples = 0
        self.scene.render(frame, Path(path), Path(display) if display else None)
        return {
            "seconds": round(time.monotonic() - wall, 3),
            "cpuSeconds": round(cpu_seconds() - cpu, 3),
            "memoryPeakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "samples": self.samples,
        }

    def statistics(self, *said: Any) -> None:
        """Blender's line of statistics, which it gives to its handlers while it renders."""
        if not said or not isinstance(said[0], str) or not (found := SAMPLE.search(said[0])):
            return
        self.samples = max(self.samples, int(found[1]))
        now = time.monotonic()
        if now - self.told >= TELL_INTERVAL_S:
            self.told = now
            self.tell({"sample": int(found[1]), "samples": int(found[2])})


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def reason(error: Exception) -> str:
    return one_line(str(error).removeprefix("Error: "), 300).rstrip(".") or type(error).__name__


def document_of(failure: Failure) -> dict[str, Any]:
    return {"class": failure.failure_class, "code": failure.code, "message": failure.message, "items": failure.items[:MAX_ITEMS]}


def keep_to_files(request: dict[str, Any], path: Path) -> None:
    """Leaves this process the files of its task and no others. The drivers of devices keep files in places of their own."""
    if request["picture"]["device"] != "cpu":
        return
    scene = request["scene"]
    staged = [Path(file["file"]) for file in [scene, *scene.get("project", [])]]  # links to where inputs are kept
    confine([Path(__file__).parent, path, *(file.resolve() for file in staged)], [OUT, Path(tempfile.gettempdir())])


def main() -> None:
    parser = argparse.ArgumentParser(description="Renders frames with Blender; see blender.py.")
    parser.add_argument("--request", type=Path, required=True, help="request document")
    parser.add_argument("--answers", type=int, required=True, help="file descriptor that the answers are written to")
    arguments = parser.parse_args()
    # A Blender whose driver is gone would render for nobody.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    request = read_json(arguments.request)
    keep_to_files(request, arguments.request)
    with os.fdopen(arguments.answers, "w", encoding="utf-8") as answers:
        Side(request, answers).serve(sys.stdin)
    sys.stdout.flush()
    os._exit(0)  # Blender's own end takes time and has been seen to hang


if __name__ == "__main__":
    main()
