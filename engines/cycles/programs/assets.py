"""The files that a .blend refers to: where they lie in the project, and which of those that the scene uses are missing."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Iterable, Iterator

import bpy

import caches
import imports
from places import Missing, lead, normal, resolved, there, tiled
from project import Project

DIGITS = re.compile(r"^(.*?)(\d+)(\.[^./\\]*)?$")
# Frames of a sequence, or of the job, that are looked for one by one.
MAX_SEQUENCE_FILES = 20_000


def remap(project: Project) -> list[tuple[Any, Missing]]:
    """Leads every path that misses the project to the project's file of the same name. Libraries are loaded again, and theirs too.
    Returns what is lacking of files whose paths are taken out, with the data-blocks that want them."""
    for _ in range(8):  # a library may bring libraries
        moved = [library for library in bpy.data.libraries if lead(project, library, "filepath")]
        for library in moved:
            library.reload()
        if not moved:
            break
    for owner in owners():
        lead(project, owner, "filepath")
    drop_muted(project)
    return imports.restrict(project) + caches.restrict(project)


def owners() -> Iterator[Any]:
    """Everything beside libraries that has a path to a file of its own, and does not carry it with it; what caches.py and
    imports.py look after is not among it."""
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


def missing(
    project: Project, scenes: list[Any], frames: Iterable[int], lacking: list[tuple[Any, Missing]]
) -> tuple[list[Missing], list[Missing]]:
    """What the scenes use and the project lacks: what pictures need, and sounds, which they do not. The first scene is the one that
    is rendered, and lacking is what remap has returned."""
    used = used_by(scenes[0])
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
        gone = [Missing(kind_of(owner), owner.name, path) for path in lacking_files(project, owner, users.get(owner, []), frames)]
        (silent if isinstance(owner, bpy.types.Sound) else needed).extend(gone)
    needed += [one for scene in scenes for one in lacking_strips(project, scene)] + [one for block, one in lacking if block in used]
    return needed, silent


def kind_of(owner: Any) -> str:
    kinds = {
        "Image": "image",
        "VectorFont": "font",
        "Sound": "sound",
        "CacheFile": "cache",
        "Volume": "volume",
        "MovieClip": "movie clip",
        "ShaderNodeScript": "OSL script",
    }
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
    numbers, match = numbers_of(owner, users, frames), DIGITS.match(path)
    if numbers is not None and match:
        head, digits, tail = match.groups()
        paths = [f"{head}{number:0{len(digits)}d}{tail or ''}" for number in sorted(numbers)[:MAX_SEQUENCE_FILES]]
    else:
        paths = tiled(owner, path) if getattr(owner, "source", "FILE") == "TILED" else [path]
    return [p for p in paths if not project.holds(normal(resolved(owner, p)))]


def numbers_of(owner: Any, users: list[Any], frames: Iterable[int]) -> set[int] | None:
    """The numbers of the files that a sequence shows at the frames; None of what is one file."""
    if isinstance(owner, bpy.types.Image):
        return {number_at(user, frame) for user in users for frame in frames} if owner.source == "SEQUENCE" and users else None
    if isinstance(owner, bpy.types.MovieClip) and owner.source == "SEQUENCE" and (match := DIGITS.match(owner.filepath)):
        return {
            int(match[2]) + frame - owner.frame_start + owner.frame_offset
            for frame in frames
            if owner.frame_start <= frame < owner.frame_start + owner.frame_duration
        }
    if isinstance(owner, bpy.types.CacheFile) and owner.is_sequence:
        return {int(owner.frame)} if owner.override_frame else set(frames)
    if isinstance(owner, bpy.types.Volume) and owner.is_sequence:
        return {number + owner.frame_offset for frame in frames if (number := volume_number(owner, frame)) is not None}
    return None


def number_at(user: Any, frame: int) -> int:
    """The number of the file that an image sequence shows at a frame, as Blender counts (BKE_image_user_frame_get). Cycles counts
    so whether or not the user is set to refresh by itself."""
    place, length = frame - user.frame_start + 1, user.frame_duration
    if length and user.use_cyclic:
        place = place % length or length
    return min(max(place, 0), length) + user.frame_offset


def volume_number(volume: Any, frame: int) -> int | None:
    """The same of a volume, before its offset (volume_sequence_frame); None at a frame that shows none."""
    place, length = frame - volume.frame_start + 1, volume.frame_duration
    if length < 1 or volume.sequence_mode == "CLIP" and not 1 <= place <= length:
        return None
    if volume.sequence_mode == "REPEAT":
        return place % length or length
    if volume.sequence_mode == "PING_PONG" and length > 1:
        there_and_back = 2 * length - 2
        place = place % there_and_back or there_and_back
        return 2 * length - place if place > length else place
    return min(max(place, 1), length)


def lacking_strips(project: Project, scene: Any) -> list[Missing]:
    """Pictures and films of the sequencer, where the frames come from there."""
    editor = scene.sequence_editor if scene.render.use_sequencer else None
    return [
        Missing("strip", strip.name, path)
        for strip in (editor.strips_all if editor else ())
        for path in lacking_of(project, scene, strip)
    ]


def lacking_of(project: Project, scene: Any, strip: Any) -> list[str]:
    if strip.type not in ("IMAGE", "MOVIE"):
        return []
    paths = (
        [strip.filepath]
        if strip.type == "MOVIE"
        else [f"{strip.directory.removesuffix('/')}/{element.filename}" for element in strip.elements[:MAX_SEQUENCE_FILES]]
    )
    return [path for path in paths if not project.holds(normal(resolved(scene, path)))]


def drop_muted(project: Project) -> None:
    """Removes muted strips whose files are not there: an animation could bring them in."""
    for scene in bpy.data.scenes:
        editor = scene.sequence_editor
        for strip in [strip for strip in (editor.strips_all if editor else ()) if strip.mute and lacking_of(project, scene, strip)]:
            (strip.parent_meta() or editor).strips.remove(strip)
