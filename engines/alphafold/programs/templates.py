"""Structures that models may take as templates: laid out for ColabFold, which searches them with HHsearch and aligns with
Kalign."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

# Each prints its name and version where it is asked so.
PROGRAMS = {"hhsearch": "-h", "kalign": "--version"}
VERSION = re.compile(r"^(?:HHsearch|kalign)\s+(\d+(?:\.\d+)+)", re.MULTILINE | re.IGNORECASE)


def versions() -> dict[str, str]:
    """The versions of the programs. Errors: FileNotFoundError where one is missing."""
    found = {}
    for program, option in PROGRAMS.items():
        said = subprocess.run([program, option], capture_output=True, text=True, timeout=60)
        number = VERSION.search(said.stdout + said.stderr)
        found[program] = number.group(1) if number else "unknown"
    return found


def lay(entries: Path, folder: Path) -> Path:
    """Copies mmCIF files called by their ids into a new folder, where ColabFold builds its database beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(entries.glob("*.cif")):
        shutil.copyfile(path, folder / path.name)
    return folder


def used(said: Path) -> list[str]:
    """The chains that models were given, "1CBS_A", out of what ColabFold says of a protein; none where it says nothing."""
    if not said.is_file():
        return []
    names = {name for chain in json.loads(said.read_text(encoding="utf-8")).values() for name in chain}
    return sorted(f"{entry.upper()}_{chain}" for entry, _, chain in (name.partition("_") for name in names))
