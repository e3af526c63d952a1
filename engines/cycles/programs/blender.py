"""Blender in a process of its own, which is told what to do line by line: it may crash or hang without the shard's end."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

from task import Failure, executor_error

# An answer of Blender's side: the description of a scene is the longest.
MAX_ANSWER_BYTES = 8 << 20
READ_BYTES = 64 << 10
# A line of what Blender prints is cut off here: a scene's names and paths are in it.
MAX_LOG_LINE_BYTES = 8 << 10
# Where set-up puts Blender and the numpy that it was built with, before the scientific Python's own.
BLENDER_FOLDER = os.path.join(sys.prefix, "share", "molfabric", "blender")
Heard = Callable[[dict[str, Any]], None]


class Died(Exception):
    """Blender's process ended or did not answer. The message says so to people, after a subject. slow: it was still at work."""

    def __init__(self, message: str, slow: bool = False) -> None:
        super().__init__(message)
        self.slow = slow


class Blender:
    """One process. ask may be called until it raises Died; stop ends it, at any time and as often as one likes."""

    def __init__(self, request: Path) -> None:
        answers, written = os.pipe()
        script = Path(__file__).with_name("frames.py")
        # What it keeps for itself goes with it, however it ends.
        self.temp = tempfile.mkdtemp(prefix="blender-")
        places = {name: self.temp for name in ("TMPDIR", "TMP", "TEMP", "HOME")}
        # Answers have a pipe of their own, which nothing else writes to.
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(script), "--request", str(request), "--answers", str(written)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[written],
            env={**os.environ, **places, "PYTHONPATH": BLENDER_FOLDER},
        )
        os.close(written)
        self.answers, self.heard = answers, b""
        self.printed = threading.Thread(target=self._log, name="blender-log", daemon=True)
        self.printed.start()

    def _log(self) -> None:
        """What Blender prints goes to the log, but for its forty lines a frame on what it is doing."""
        assert self.process.stdout is not None
        ended = True  # the line before; what follows the first piece of a long one is left out
        while piece := self.process.stdout.readline(MAX_LOG_LINE_BYTES):
            if ended and not piece.startswith(b"Fra:"):
                sys.stderr.buffer.write(piece.removesuffix(b"\n") + b"\n")
                sys.stderr.buffer.flush()
            ended = piece.endswith(b"\n")

    def ask(
        self, command: dict[str, Any], limit_s: float, hear: Heard = lambda _: None, meanwhile: Callable[[], None] = lambda: None
    ) -> dict[str, Any]:
        """Sends a command and returns its answer. What Blender tells on the way goes to hear; meanwhile is done once while it
        works. Raises Died, or a Failure that Blender's side has understood."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self._died() from None
        end = time.monotonic() + limit_s
        meanwhile()
        while True:
            line = self._line(end, limit_s)
            if "failure" in line:
                raise Failure(*(line["failure"][name] for name in ("class", "code", "message", "items")))
            if "answer" in line:
                return line["answer"]
            hear(line)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.printed.join()
        shutil.rmtree(self.temp, ignore_errors=True)
        if self.answers >= 0:
            os.close(self.answers)
            self.answers = -1

    def _line(self, end: float, limit_s: float) -> dict[str, Any]:
        while b"\n" not in self.heard:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise Died(f"took longer than {limit_s:,.0f} s", slow=True)
            piece = os.read(self.answers, READ_BYTES)
            if not piece or len(self.heard) > MAX_ANSWER_BYTES:
                raise self._died()
            self.heard += piece
        line, _, self.heard = self.heard.partition(b"\n")
        return json.loads(line)

    def _died(self) -> Died:
        self.stop()
        status = self.process.returncode
        if status < 0:
            return Died(f"was ended by signal {-status} ({signal.Signals(-status).name})")
        return Died(f"ended by itself with status {status}")


def opened(request: Path, limit_s: float) -> tuple[Blender, dict[str, Any]]:
    """Starts Blender and opens the scene. Raises Died when it does not survive that."""
    blender = Blender(request)
    try:
        return blender, blender.ask({"do": "open"}, limit_s)
    except BaseException:
        blender.stop()
        raise


def programs(answer: dict[str, Any]) -> dict[str, str]:
    if not answer.get("blender"):
        raise executor_error("PROGRAM_ERROR", "Blender did not tell its version.")
    return {**answer["programs"], "blender": answer["blender"], "python": ".".join(map(str, sys.version_info[:3]))}
