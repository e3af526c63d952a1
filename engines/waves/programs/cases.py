"""Unpacks the archive of a case, and leaves the files that a model has written."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Iterator

from task import user_error

MAX_FILE_BYTES = 512 << 20


def unpack(archive: Path, root: str, folder: Path) -> None:
    """Unpacks the case without its root. Its names, sizes and kinds have been judged before the job was taken; links are left out
    here as well, and a name that leads out of the folder fails."""
    for name, stream in members(archive):
        name = name.removeprefix("./").removeprefix(root)
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise user_error("CASE_UNSAFE", f"The case holds {name}, which leads out of its folder.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            shutil.copyfileobj(stream, file)


def members(archive: Path) -> Iterator[tuple[str, Any]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                if not entry.is_dir():
                    yield entry.filename, opened.open(entry)
        return
    with tarfile.open(archive, "r:gz") as opened:
        for entry in opened:
            if entry.isfile():
                yield entry.name, opened.extractfile(entry)


def check_size(path: Path) -> None:
    """Refuses an output that is too large to be kept."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise user_error("OUTPUT_TOO_LARGE",
                         f"{path.name} has more than {MAX_FILE_BYTES >> 20} MiB; ask for fewer quantities or times.")
