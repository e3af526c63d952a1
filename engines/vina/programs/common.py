"""What the docking programs beside this file share: their command line, their files, their failures, and PDBQT reading.

Each program reads a request document (JSON), reads its inputs below in/, writes its outputs below out/, and prints progress
as one JSON object a line: {"progress": 0.42, "message": "docking imatinib (2 of 5)"}. On success it ends with exit status 0
and has written out/result.json last. A failure that it understands is written to out/failure.json and ends with
FAILURE_STATUS. This module imports nothing beyond the standard library, so that docking starts fast.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterable, NamedTuple

FAILURE_STATUS = 65
OLDEST_VINA = (1, 2, 5)
IN = Path("in")
OUT = Path("out")

# What a plan that the release before has made does not say: an upgrade ends its jobs with these programs.
UNSAID = {"ligandCpuSeconds": 300, "rankBy": "vina"}

MAX_MESSAGE_CHARS = 500
MAX_FAILURE_ITEMS = 100
PROGRESS_INTERVAL_S = 0.5

# AutoDock atom types that Vina's scoring function has parameters for, except water and glue types.
RECEPTOR_TYPES = frozenset(
    "C A N NA NS O OA OS P S SA H HD HS F I Cl CL Br BR Si At Mg MG Mn MN Zn ZN Ca CA Fe FE Cu Na K Hg Co U Cd Ni".split()
)
GLUE_TYPES = frozenset(f"{prefix}{n}" for prefix in ("G", "CG") for n in range(4))
LIGAND_TYPES = frozenset("C A N NA NS O OA OS P S SA H HD HS F I Cl Br Si".split()) | GLUE_TYPES

# The largest coordinate that the PDB format's eight columns hold, in Å.
MAX_COORDINATE = 9999.0


class Failure(Exception):
    """A failure of the whole shard that is understood. failure_class is USER_INPUT or EXECUTOR. unbegun says that there was nothing
    to work on: what the shard has used until then is not charged."""

    def __init__(self, failure_class: str, code: str, message: str, items: list[dict[str, Any]] | None = None, unbegun: bool = False) -> None:
        super().__init__(message)
        self.failure_class, self.code, self.message, self.items, self.unbegun = failure_class, code, message, items or [], unbegun


def user_error(code: str, message: str) -> Failure:
    return Failure("USER_INPUT", code, message)


class Progress:
    """Prints progress lines, at most one every PROGRESS_INTERVAL_S seconds except the first and the last."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = stream or sys.stdout
        self.last = -math.inf

    def __call__(self, fraction: float, message: str) -> None:
        now = time.monotonic()
        if fraction < 1 and now - self.last < PROGRESS_INTERVAL_S:
            return
        self.last = now
        line = json.dumps({"progress": round(min(max(fraction, 0.0), 1.0), 4), "message": one_line(message)})
        self.stream.write(line + "\n")
        self.stream.flush()


def one_line(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Text of a user without control characters and line breaks, at most limit characters long."""
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


# SHA-256 of what write_text has written below OUT, by its name there: result.json states it.
written: dict[str, str] = {}


def write_text(path: Path, text: str) -> None:
    """Writes a file so that it is either absent or complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    os.replace(temporary, path)
    if path.is_relative_to(OUT):
        written[path.relative_to(OUT).as_posix()] = sha256(text.encode())


def write_json(path: Path, document: Any) -> None:
    write_text(path, json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1) + "\n")


def read_json(path: Path) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def program_versions(names: Iterable[str]) -> dict[str, str]:
    from importlib import metadata

    return {"python": ".".join(map(str, sys.version_info[:3])), **{name: metadata.version(name) for name in names}}


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


class PdbqtAtom(NamedTuple):
    serial: int
    name: str
    residue: str
    chain: str
    number: str
    x: float
    y: float
    z: float
    type: str


def pdbqt_atom(line: str) -> PdbqtAtom:
    """Parses one ATOM or HETATM line of a PDBQT file. Raises ValueError with what is wrong."""
    try:
        x, y, z = (float(line[start : start + 8]) for start in (30, 38, 46))
    except ValueError:
        raise ValueError("its coordinates are not numbers") from None
    if not all(math.isfinite(c) and abs(c) <= MAX_COORDINATE for c in (x, y, z)):
        raise ValueError("its coordinates are out of range")
    try:
        charge = float(line[66:76])
    except ValueError:
        raise ValueError("it has no partial charge in columns 67 to 76") from None
    if not math.isfinite(charge):
        raise ValueError("its partial charge is not a finite number")
    atom_type = line[77:].strip()
    if not atom_type:
        raise ValueError("it has no AutoDock atom type in column 78")
    serial = line[6:11].strip()
    return PdbqtAtom(
        int(serial) if serial.isdigit() else 0,
        line[12:16].strip(), line[17:20].strip(), line[21:22].strip(), line[22:27].strip(), x, y, z, atom_type,
    )


def is_atom(line: str) -> bool:
    return line.startswith(("ATOM", "HETATM"))


def main(description: str, work: Callable[[dict[str, Any], Progress], dict[str, Any]]) -> int:
    """Runs a program: reads the request, does the work, writes out/result.json or out/failure.json. Returns the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--request", type=Path, default=Path("request.json"), help="request document (default: request.json)")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    progress = Progress()
    try:
        result = work({**UNSAID, **read_json(arguments.request)}, progress)
    except Failure as failure:
        document = {
            "class": failure.failure_class,
            "code": failure.code,
            "message": one_line(failure.message, 2 * MAX_MESSAGE_CHARS),
            "items": failure.items[:MAX_FAILURE_ITEMS],
            "unbegun": failure.unbegun,
        }
        write_json(OUT / "failure.json", document)
        print(f"{failure.code}: {document['message']}", file=sys.stderr)
        return FAILURE_STATUS
    write_json(OUT / "result.json", {**result, "files": written})
    progress(1.0, "done")
    return 0
