"""The files that a .blend refers to: where they lie in the project, and which of those that the scene uses are missing.

A file counts as there only when it lies in the project. Paths that lead out of it, as every absolute one does, are led to the project's file of
the same name when there is exactly one.
"""

from __future__ import annotations

import os.path
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple

import bpy

from project import Project

TILE = re.compile(r"<(UDIM|UVTILE)>")
DIGITS = re.compile(r"^(.*?)(\d+)(\.[^./\\]*)?$")
# Frames of an image sequence, or of the job, that are looked for one by one.
MAX_SEQUENCE_FILES = 20_000


class Missing(NamedTuple):
    """kind: image, library, font …; name as the scene calls the data, path as it refers to it."""

    kind: str
    name: str
    path: str


def remap(project: Project) -> None:
    """Leads every path that misses the project to the project's file of the same name. Libraries are loaded again, and theirs too."""
    for _ in range(8):  # a library may bring libraries
        moved = [library for library in bpy.data.libraries if lead(project, library, "filepath")]
        for library in moved:
            library.reload()
        if not moved:
            break
    for owner in owners():
        lead(project, owner, "filepath")


def owners() -> Iterator[Any]:
    """Everything beside libraries that has a path to a file of its own, and does not carry it with it."""
    data = bpy.data
    yield from (image for image in data.images if image.source in ("FILE", "SEQUENCE", "MOVIE", "TILED") and not packed(image))
    yield from (font for font in data.fonts if font.filepath not in ("", "<builtin>") and not font.packed_file)
    yield from (sound for sound in data.sounds if not sound.packed_file)
    yield from data.cache_files
    yield from (volume for volume in data.volumes if not volume.packed_file)
    yield from data.movieclips
    yield from (node for _, tree in trees() for node in tree.nodes if external(node))


def packed(image: Any) -> bool:
    return image.packed_file is not None or len(image.packed_files) > 0


def trees() -> Iterator[tuple[Any, Any]]:
    """Every node tree with the data-block that carries it; a group is its own."""
    for name in ("materials", "worlds", "lights", "scenes", "textures", "linestyles"):
        yield from ((owner, owner.node_tree) for owner in getattr(bpy.data, name) if getattr(owner, "node_tree", None))
    yield from ((tree, tree) for tree in bpy.data.node_groups)


def external(node: Any) -> bool:
    """A node that reads a file: an OSL script or a light's measured distribution."""
    return node.bl_idname in ("ShaderNodeScript", "ShaderNodeTexIES") and node.mode == "EXTERNAL" and node.filepath != ""


def lead(project: Project, owner: Any, member: str) -> bool:
    """Changes a path that misses the project, if the project has the one file of its name. Returns whether it did."""
    path = getattr(owner, member)
    if not path or there(project, owner, path):
        return False
    name = re.split(r"[/\\]", path)[-1]
    names = [TILE.sub(str(tile.number), name) for tile in owner.tiles] if TILE.search(name) else [name]
    found = next((f for f in map(project.named, names) if f), None)
    if found is None:
        return False
    setattr(owner, member, str(found if names == [name] else found.parent / name))
    return True


def resolved(owner: Any, path: str) -> Path:
    """The absolute path that a path of the scene, or of the library that the owner comes from, means."""
    holder = owner.id_data if hasattr(owner, "id_data") and owner.id_data is not None else owner
    library = getattr(holder, "library", None)
    absolute = bpy.path.abspath(path.replace("\\", "/"), library=library)
    return Path(bpy.path.native_pathsep(absolute))


def there(project: Project, owner: Any, path: str) -> bool:
    absolute = resolved(owner, path)
    if TILE.search(absolute.name):
        return any(project.holds(normal(absolute.with_name(TILE.sub(str(tile.number), absolute.name)))) for tile in owner.tiles)
    return project.holds(normal(absolute))


def normal(path: Path) -> Path:
    """Without "..", which Blender takes as text too."""
    return Path(os.path.normpath(path))


def missing(project: Project, scene: Any, frames: Iterable[int]) -> tuple[list[Missing], list[Missing]]:
    """What the scene uses and the project lacks: what pictures need, and sounds, which they do not."""
    used = used_by(scene)
    needed: list[Missing] = []
    for library in bpy.data.libraries:
        if library in used and not there(project, library, library.filepath):
            needed.append(Missing("library", library.name, library.filepath))
    silent: list[Missing] = []
    users = image_users(used)
    # The tree within a material is no data-block of its own; its nodes belong to the material.
    holders = {tree: holder for holder, tree in trees()}
    for owner in owners():
        holder = holders.get(owner.id_data, owner.id_data)
        if holder not in used or not owner.filepath and not isinstance(owner, bpy.types.Image):
            continue
        lacking = [Missing(kind_of(owner), owner.name, path) for path in lacking_files(project, owner, users.get(owner, []), frames)]
        (silent if isinstance(owner, bpy.types.Sound) else needed).extend(lacking)
    needed += lacking_strips(project, scene) + lacking_caches(project, used)
    return needed, silent


def kind_of(owner: Any) -> str:
    kinds = {"Image": "image", "VectorFont": "font", "Sound": "sound", "CacheFile": "cache", "Volume": "volume", "MovieClip": "movie clip", "ShaderNodeScript": "OSL script"}
    return kinds.get(type(owner).__name__, "IES light")


def used_by(scene: Any) -> set[Any]:
    """Every data-block that the scene reaches, and the libraries that those come from."""
    uses: dict[Any, list[Any]] = defaultdict(list)
    for block, users in bpy.data.user_map().items():
        for user in users:
            uses[user].append(block)
    reached, waiting = {scene}, [scene]
    while waiting:
        for block in uses[waiting.pop()]:
            if block not in reached:
                reached.add(block)
                waiting.append(block)
    libraries = {block.library for block in reached if block.library}
    for library in list(libraries):
        while library.parent:
            library = library.parent
            libraries.add(library)
    return reached | libraries


def image_users(used: set[Any]) -> dict[Any, list[Any]]:
    """By image, how nodes step through it."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for holder, tree in trees():
        for node in tree.nodes if holder in used else []:
            image, user = getattr(node, "image", None), getattr(node, "image_user", None)
            if image and (user or node.bl_idname == "CompositorNodeImage"):
                found[image].append(user or node)
    return found


def lacking_files(project: Project, owner: Any, users: list[Any], frames: Iterable[int]) -> list[str]:
    """The paths, as the scene has them, of an owner's files that the project lacks."""
    path = owner.filepath
    source = getattr(owner, "source", "FILE")
    if source == "TILED":
        paths = [TILE.sub(str(tile.number), path) for tile in owner.tiles]
    elif source == "SEQUENCE" and users and (match := DIGITS.match(path)):
        head, digits, tail = match.groups()
        numbers = sorted({number_at(user, frame) for user in users for frame in frames})[:MAX_SEQUENCE_FILES]
        paths = [f"{head}{number:0{len(digits)}d}{tail or ''}" for number in numbers]
    else:
        paths = [path]
    return [p for p in paths if not project.holds(normal(resolved(owner, p)))]


def number_at(user: Any, frame: int) -> int:
    """The number of the file that an image sequence shows at a frame, as Blender counts (BKE_image_user_frame_get). Cycles counts
    so whether or not the user is set to refresh by itself."""
    place, length = frame - user.frame_start + 1, user.frame_duration
    if length and user.use_cyclic:
        place = place % length or length
    return min(max(place, 0), length) + user.frame_offset


def lacking_strips(project: Project, scene: Any) -> list[Missing]:
    """Pictures and films of the sequencer, where the frames come from there."""
    editor = scene.sequence_editor
    found = []
    for strip in editor.strips_all if editor and scene.render.use_sequencer else []:
        if strip.mute or strip.type not in ("IMAGE", "MOVIE"):
            continue
        paths = [strip.filepath] if strip.type == "MOVIE" else [f"{strip.directory.removesuffix('/')}/{element.filename}" for element in strip.elements[:MAX_SEQUENCE_FILES]]
        found += [Missing("strip", strip.name, path) for path in paths if not project.holds(normal(resolved(scene, path)))]
    return found


def lacking_caches(project: Project, used: set[Any]) -> list[Missing]:
    """Folders of fluids that have been baked, and files of simulations that are kept outside of the scene."""
    found = []
    for thing in (block for block in used if isinstance(block, bpy.types.Object)):
        for modifier in thing.modifiers:
            domain = getattr(modifier, "domain_settings", None)
            if domain and domain.has_cache_baked_any and not project.holds(normal(resolved(thing, domain.cache_directory))):
                found.append(Missing("fluid cache", thing.name, domain.cache_directory))
            cache = getattr(modifier, "point_cache", None)
            if cache and cache.use_external and not project.holds(normal(resolved(thing, cache.filepath))):
                found.append(Missing("simulation cache", thing.name, cache.filepath))
    return found
