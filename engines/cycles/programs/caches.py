"""Files of a .blend that no data-block of their own stands for: caches of modifiers, simulations and Geometry Nodes, and layers of
Alembic.

Each of them keeps a path of the project, or none: neither an animation nor a driver that switches it on brings another file in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, NamedTuple

import bpy

from places import Missing, lead, normal, resolved
from project import Project

# How Blender calls the folder beside a scene in which it keeps baked simulations, and the ending that it cuts off the scene's name.
BAKES, ENDING = "blendcache_", ".blend"
NOTHING = ".nothing"
FOLDERS = ("ocean cache", "fluid cache", "simulation cache", "Geometry Nodes bake")


class Kept(NamedTuple):
    """A file or folder that something in a scene reads: kind, the property that has its path, the data-block that it belongs to,
    and whether a picture needs it."""

    kind: str
    owner: Any
    member: str
    block: Any
    needed: bool


def restrict(project: Project) -> list[tuple[Any, Missing]]:
    """Leads what the scene keeps outside of itself to the project. What the project lacks is returned, with the data-blocks that
    want it, and its path is taken out."""
    wanted = []
    for kept in found():
        path = getattr(kept.owner, kept.member)
        if kept.kind not in FOLDERS:
            lead(project, kept.owner, kept.member)
        if project.holds(normal(resolved(kept.owner, getattr(kept.owner, kept.member)))):
            continue
        if kept.needed:
            wanted.append((kept.block, Missing(kept.kind, kept.block.name, path)))
        # An empty path would mean a default folder; of this one nothing is there.
        setattr(kept.owner, kept.member, str(project.root / NOTHING) if kept.kind in FOLDERS else "")
    return wanted + lacking_bakes(project)


def found() -> Iterator[Kept]:
    for cache in bpy.data.cache_files:
        yield from (Kept("cache layer", layer, "filepath", cache, not layer.hide_layer) for layer in cache.layers)
    for camera in bpy.data.cameras:
        if getattr(camera, "custom_filepath", ""):
            yield Kept(
                "OSL script", camera, "custom_filepath", camera, camera.type == "CUSTOM" and camera.custom_mode == "EXTERNAL"
            )
    for thing in bpy.data.objects:
        for modifier in thing.modifiers:
            yield from of_modifier(thing, modifier)
    for block, cache in simulations():
        if cache.filepath or cache.use_external:
            yield Kept("simulation cache", cache, "filepath", block, cache.use_external)


def of_modifier(thing: Any, modifier: Any) -> Iterator[Kept]:
    shown = modifier.show_render
    if modifier.type == "MESH_CACHE":
        yield Kept("mesh cache", modifier, "filepath", thing, shown)
    elif modifier.type == "MULTIRES" and modifier.is_external:
        yield Kept("multiresolution data", modifier, "filepath", thing, shown)
    elif modifier.type == "OCEAN":
        yield Kept("ocean cache", modifier, "filepath", thing, shown and modifier.is_cached)
    elif modifier.type == "FLUID" and modifier.domain_settings:
        domain = modifier.domain_settings
        yield Kept("fluid cache", domain, "cache_directory", thing, shown and domain.has_cache_baked_any)
    elif modifier.type == "NODES":
        on_disk = {
            bake: (modifier.bake_target if bake.bake_target == "INHERIT" else bake.bake_target) == "DISK" for bake in modifier.bakes
        }
        own = [bake for bake in modifier.bakes if bake.use_custom_path]
        yield from (
            Kept("Geometry Nodes bake", bake, "directory", thing, shown and on_disk[bake])
            for bake in modifier.bakes
            if bake.directory
        )
        if modifier.bake_directory:
            needed = any(wanted for bake, wanted in on_disk.items() if bake not in own)
            yield Kept("Geometry Nodes bake", modifier, "bake_directory", thing, shown and needed)


def simulations() -> Iterator[tuple[Any, Any]]:
    """Every cache of points, with the data-block that it belongs to."""
    for thing in bpy.data.objects:
        for modifier in thing.modifiers:
            canvas = getattr(modifier, "canvas_settings", None)
            caches = [
                getattr(modifier, "point_cache", None),
                *(surface.point_cache for surface in (canvas.canvas_surfaces if canvas else ())),
            ]
            yield from ((thing, cache) for cache in caches if cache)
        yield from ((thing, system.point_cache) for system in thing.particle_systems)
    yield from (
        (scene, scene.rigidbody_world.point_cache)
        for scene in bpy.data.scenes
        if scene.rigidbody_world and scene.rigidbody_world.point_cache
    )


def lacking_bakes(project: Project) -> list[tuple[Any, Missing]]:
    """Simulations that were baked to files beside their scene, which are not there."""
    wanted = []
    for block, cache in simulations():
        if cache.use_external or not (cache.use_disk_cache and cache.is_baked):
            continue
        library = block.library if cache.use_library_path else None
        scene = normal(resolved(block, library.filepath)) if library else Path(bpy.data.filepath)
        folder = scene.with_name(BAKES + scene.name[: -len(ENDING)])
        if not project.holds(folder):
            wanted.append((block, Missing("simulation cache", block.name, f"//{folder.name}")))
    return wanted
