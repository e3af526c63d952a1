"""Where the paths of a .blend lead: to a file of the project, or elsewhere.

A file counts as there only when it lies in the project. Paths that lead out of it, as every absolute one does, are led to the
project's file of the same name when there is exactly one.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Any, NamedTuple

import bpy

from project import Project

TILE = re.compile(r"<(UDIM|UVTILE)>")


class Missing(NamedTuple):
    """kind: image, library, font …; name as the scene calls the data, path as it refers to it."""

    kind: str
    name: str
    path: str


def lead(project: Project, owner: Any, member: str) -> bool:
    """Changes a path that misses the project, if the project has the one file of its name. Returns whether it did."""
    path = getattr(owner, member)
    if not path or there(project, owner, path):
        return False
    name = re.split(r"[/\\]", path)[-1]
    names = tiled(owner, name)
    found = next((f for f in map(project.named, names) if f), None)
    if found is None:
        return False
    setattr(owner, member, str(found if names == [name] else found.parent / name))
    return True


def tiled(owner: Any, path: str) -> list[str]:
    """The paths of the tiles of an image whose path stands for all of them; else the path alone."""
    tiles = getattr(owner, "tiles", ()) if TILE.search(path) else ()
    return [TILE.sub(str(tile.number), path) for tile in tiles] or [path]


def resolved(owner: Any, path: str) -> Path:
    """The absolute path that a path of the scene, or of the library that the owner comes from, means."""
    holder = owner.id_data if getattr(owner, "id_data", None) is not None else owner
    library = getattr(holder, "library", None)
    absolute = bpy.path.abspath(path.replace("\\", "/"), library=library)
    return Path(bpy.path.native_pathsep(absolute))


def there(project: Project, owner: Any, path: str) -> bool:
    return any(project.holds(normal(resolved(owner, one))) for one in tiled(owner, path))


def normal(path: Path) -> Path:
    """Without "..", which Blender takes as text too."""
    return Path(os.path.normpath(path))
