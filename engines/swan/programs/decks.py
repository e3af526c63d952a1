"""Cuts a deck into windows of time, and joins what they wrote. A window is the deck with its COMPUTE shortened, its outputs
beginning behind the window before, and hot files at both ends: unformatted ones, with which SWAN goes on to the last byte."""

from __future__ import annotations

import math
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

TIME = "%Y%m%d.%H%M%S"
COMPUTE = re.compile(r"^\s*COMP\w*(?:\s+NONST\w*)?\s+(\d{8}\.\d{6})\s+(\S+)\s+(\w+)\s+(\d{8}\.\d{6})", re.IGNORECASE)
OUTPUT = re.compile(r"(\bOUT\w*\s+)(\d{8}\.\d{6})(\s+)([\d.]+)(\s+)(\w+)", re.IGNORECASE)
BLOCK_OF_TIME = re.compile(r"^\d{8}\.\d{6}\s+date and time", re.MULTILINE)
MATLAB, MATLAB_HEADER_BYTES = (b"IM", b"MI"), 128  # level 5: the order of bytes ends the header
SECONDS = {"SE": 1, "MI": 60, "HR": 3600, "DA": 86400}


def window(text: str, windows: list[dict[str, Any]], number: int, hot: str) -> str:
    """The deck of one window; windows have begin and end as SWAN writes times."""
    begin, end = windows[number]["begin"], windows[number]["end"]
    first, last = number == 0, number + 1 == len(windows)
    lines = []
    for line in text.splitlines():
        head = line.strip().upper()
        if match := COMPUTE.match(line):
            if not first:
                lines.append(f"INITIAL HOTSTART '{hot}' UNF")
            lines.append(f"COMPUTE NONSTAT {begin} {match.group(2)} {match.group(3)} {end}")
            if not last:
                lines.append(f"HOTFILE '{hot}' UNF")
        elif head.startswith("HOTF") and not last or head.startswith("INIT") and not first:
            continue
        else:
            lines.append(line if first else OUTPUT.sub(lambda found: later(found, begin), line))
    return "\n".join(lines) + "\n"


def later(found: re.Match[str], begin: str) -> str:
    """An OUTPUT whose first time lies behind the begin of the window."""
    start, now = datetime.strptime(found.group(2), TIME), datetime.strptime(begin, TIME)
    step = float(found.group(4)) * SECONDS[found.group(6)[:2].upper()]
    if start <= now:
        passed = (now - start).total_seconds()
        start += timedelta(seconds=step * (math.floor(passed / step + 1e-9) + 1))
    return "".join((found.group(1), start.strftime(TIME), *found.group(3, 4, 5, 6)))


def join(checkpoint: Path, folder: Path, before: set[str], count: int, hot: str, own: set[str]) -> None:
    """Joins each output of all windows, in order: what a run without windows would have written, but for its headers."""
    for path in list(folder.iterdir()):
        if path.name not in before and path.name not in own:
            path.unlink()
    (folder / hot).unlink(missing_ok=True)
    prefix = len("window_0000_")
    names = sorted({path.name[prefix:] for path in checkpoint.glob("window_????_*")})
    for name in names:
        with open(folder / name, "wb") as joined:
            for number in range(count):
                part = checkpoint / f"window_{number:04d}_{name}"
                if part.exists():
                    joined.write(part.read_bytes() if joined.tell() == 0 else headless(part))
    shutil.rmtree(checkpoint)


def headless(part: Path) -> bytes:
    """A part without what only the first one needs: the header of a table or of a file for Matlab, and of spectra all before their
    first time."""
    content = part.read_bytes()
    if content.startswith(b"%"):
        lines = content.splitlines(keepends=True)
        return b"".join(line for line in lines if not line.startswith(b"%"))
    if content[126:128] in MATLAB:
        return content[MATLAB_HEADER_BYTES:]  # what follows is one element a quantity and time
    if content.startswith(b"SWAN "):
        match = BLOCK_OF_TIME.search(content.decode(errors="replace"))
        return content[match.start():] if match else content
    return content
