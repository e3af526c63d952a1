"""Finds the builds of WAVEWATCH III that an operator has laid out in the folder that MOLFABRIC_WW3 names: one folder for each
switch file, whose name is the file's SHA-256 or at least its first 12 digits, with the file `switch` and the programs in `bin`. It
imports nothing beyond the standard library, because the version probe runs it alone."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FOLDER = "MOLFABRIC_WW3"
NEEDED = ("ww3_grid", "ww3_shel")
PROGRAMS = (*NEEDED, "ww3_strt", "ww3_prnc", "ww3_bounc", "ww3_ounf", "ww3_ounp")
NAME = re.compile(r"[0-9a-f]{12,64}")
MAX_SWITCH_BYTES = 64 << 10
MAX_BUILDS = 100
# How compilers sign what they make.
COMPILERS = (re.compile(rb"GCC: \([^)\0]*\) [0-9][0-9.]*"), re.compile(rb"Intel\(R\) Fortran[^\0]{0,80}"),
             re.compile(rb"flang version [0-9][0-9.]*"), re.compile(rb"NVFORTRAN[^\0]{0,40}"))


def find() -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The builds that may be used, and of each other folder why it may not."""
    folder = Path(os.environ.get(FOLDER, ""))
    usable: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    if not os.environ.get(FOLDER) or not folder.is_dir():
        return usable, refused
    for path in sorted(path for path in folder.iterdir() if path.is_dir())[:MAX_BUILDS]:
        found = look(path)
        if isinstance(found, str):
            refused[path.name] = found
        else:
            usable.append(found)
    return usable, refused


def look(path: Path) -> dict[str, Any] | str:
    """One build, or what is wrong with it."""
    switch = path / "switch"
    if not switch.is_file() or switch.stat().st_size > MAX_SWITCH_BYTES:
        return "it has no switch file, `switch`"
    content = switch.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if not NAME.fullmatch(path.name) or not digest.startswith(path.name):
        return f"its switch file has the SHA-256 {digest}, by which or by whose first 12 digits or more it must be named"
    switches = " ".join(content.decode(errors="replace").split())
    if "MPI" in switches.split():
        return "it is built for MPI; the programs run as one process each, so build them with SHRD"
    programs = [name for name in PROGRAMS if os.access(path / "bin" / name, os.X_OK)]
    for name in NEEDED:
        if name not in programs:
            return f"it has no program bin/{name}"
    return {"folder": path, "digest": digest, "switches": switches, "programs": programs}


def environment(build: dict[str, Any]) -> dict[str, str]:
    """The environment of its programs. Libraries of their own lie in the build's folder lib. What gfortran's programs print is
    seen at once."""
    lib = build["folder"] / "lib"
    more = {"LD_LIBRARY_PATH": str(lib)} if lib.is_dir() else {}
    return {**os.environ, "GFORTRAN_UNBUFFERED_PRECONNECTED": "y", **more}


def starts(build: dict[str, Any]) -> str:
    """What keeps a build's model from starting; "" where it does: without a deck it says what it is, and stops."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([build["folder"] / "bin" / "ww3_shel"], cwd=folder, env=environment(build), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    said = ran.stdout.decode(errors="replace")
    return "" if "WAVEWATCH III" in said else "bin/ww3_shel does not start: " + " ".join(said.split())[:200]


def compiler(program: Path) -> str:
    """What a program says that it was compiled with."""
    content = program.read_bytes()
    signs = {match.group().decode(errors="replace").strip() for sign in COMPILERS for match in sign.finditer(content)}
    return ", ".join(sorted(signs)[:3]) or "unknown"
