"""Lays a job's files out as the project that its scene knows, so that relative paths lead to them.

Every file is staged under a number; the project is a folder of links to them by their logical paths. A logical path comes from
a user and is checked: nothing is ever laid out beside the folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from task import Failure, one_line, user_error

# As many as a job has attachments at the most, and the scene itself.
MAX_FILES = 10_001
# Linux knows no longer paths and names; some room is left for the folder of the project.
MAX_PATH_BYTES, MAX_NAME_BYTES = 3000, 255
MAX_DEPTH = 64


class Project:
    """The files of a job below root, which is an empty folder of this process. files: [{"file": staged file, "path": logical path},
    …]."""

    def __init__(self, root: Path, scene: dict[str, Any], files: list[dict[str, Any]]) -> None:
        if len(files) >= MAX_FILES:
            raise user_error(
                "PROJECT_TOO_LARGE", f"The project has {len(files):,} files beside its scene; at most {MAX_FILES - 1:,} are taken."
            )
        self.root = root
        # The scene comes first: a file that claims its place does not get it.
        self.scene = self._place(scene["path"], scene["file"])
        self.by_name: dict[str, list[Path]] = {}
        for file in files:
            path = self._place(file["path"], file["file"])
            self.by_name.setdefault(path.name.casefold(), []).append(path)

    def holds(self, path: Path) -> bool:
        """Whether a path lies in the project and there is a file or folder."""
        return ".." not in path.parts and path.is_relative_to(self.root) and path.exists()

    def named(self, name: str) -> Path | None:
        """The only file of a name, in whatever folder it lies; None when there is none, or more than one."""
        found = self.by_name.get(name.casefold(), [])
        return found[0] if len(found) == 1 else None

    def _place(self, logical: str, staged: str) -> Path:
        parts = checked(logical)
        path = self.root.joinpath(*parts)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_symlink():
                path.symlink_to(Path(staged).resolve())
        except OSError as error:
            raise misplaced(logical, f"another file lies in its way ({error.strerror})") from None
        return path


def checked(logical: str) -> list[str]:
    """The parts of a logical path. Raises a Failure when it could lead elsewhere."""
    parts = logical.split("/")
    if len(logical.encode()) > MAX_PATH_BYTES or len(parts) > MAX_DEPTH:
        raise misplaced(logical, f"it is longer than {MAX_PATH_BYTES} bytes or deeper than {MAX_DEPTH} folders")
    if "\0" in logical or "\\" in logical or any(part in ("", ".", "..") for part in parts):
        raise misplaced(logical, "it must be relative to the project, with / between folders and without . and ..")
    if any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        raise misplaced(logical, f"a name in it is longer than {MAX_NAME_BYTES} bytes")
    return parts


def misplaced(logical: str, why: str) -> Failure:
    return user_error("PROJECT_PATH_INVALID", f"The project's file “{one_line(logical, 120)}” cannot be laid out: {why}.")
