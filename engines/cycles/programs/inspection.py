"""What is in a .blend, for the people who have submitted it; and what is not, as the failure of its job."""

from __future__ import annotations

import re
from typing import Any

import bpy

from assets import missing
from places import Missing
from stated import require_bounds, samples, size
from task import one_line, user_error

MAX_NAMED = 20
MAX_ITEMS = 100
# Physics that depend on the frames before: without a bake each chunk of frames would start them anew.
SIMULATIONS = ("CLOTH", "SOFT_BODY", "DYNAMIC_PAINT", "PARTICLE_SYSTEM")


def inspect(opened: Any) -> dict[str, Any]:
    """scene.json without the load times. Raises a Failure when an asset is missing, or the picture is too large. opened is a
    BlendScene."""
    scene, warnings = opened.scene, list(opened.warnings)
    require_bounds(opened.scenes)
    frames = [frame for first, last, step in opened.request["ranges"] for frame in range(first, last + 1, step)]
    needed, silent = missing(opened.project, opened.scenes, frames, opened.lacking)
    if needed:
        raise assets_missing(needed)
    if silent:
        warnings.append(
            f"sounds are missing, which no picture needs: {', '.join(one_line(m.path, 100) for m in silent[:MAX_NAMED])}"
        )
    outside = [frame for frame in frames if not scene.frame_start <= frame <= scene.frame_end]
    if outside:
        warnings.append(
            f"{len(outside)} of the {len(frames)} frames lie outside of the scene's own range, {scene.frame_start} to "
            f"{scene.frame_end}"
        )
    found = settings(scene)
    film = opened.request["film"]
    if film["video"] and film["fps"] != found["fps"]:
        warnings.append(f"the film has {film['fps']:g} frames a second, the scene {found['fps']:g}; metadata.fps decides")
    if unbaked := unbaked_simulations(scene):
        warnings.append(
            f"simulations without a bake start anew with every chunk of frames; bake and submit again: "
            f"{', '.join(unbaked[:MAX_NAMED])}"
        )
    return {
        **found,
        **contents(scene),
        "device": opened.device,
        "scripts": opened.scripts[:MAX_ITEMS],
        "warnings": warnings[:MAX_ITEMS],
    }


def assets_missing(needed: list[Missing]) -> Exception:
    named = "; ".join(f"{m.kind} “{one_line(m.name, 60)}” ({one_line(m.path, 160)})" for m in needed[:MAX_NAMED])
    more = f" and {len(needed) - MAX_NAMED} more" if len(needed) > MAX_NAMED else ""
    files = "A file that the scene uses is" if len(needed) == 1 else f"{len(needed)} files that the scene uses are"
    items = [
        {"item": one_line(m.name, 100), "label": one_line(m.path, 300), "step": "check", "message": f"{m.kind} is missing"}
        for m in needed[:MAX_ITEMS]
    ]
    return user_error(
        "MISSING_ASSETS",
        f"{files} missing: {named}{more}. Attach them with their paths in the project, or pack them (File, External Data, Pack "
        f"Resources).",
        items,
    )


def settings(scene: Any) -> dict[str, Any]:
    render, (width, height) = scene.render, size(scene)
    return {
        "scene": one_line(scene.name, 100),
        "engine": "Cycles",
        "savedBy": ".".join(map(str, bpy.data.version)),
        "widthPixels": width,
        "heightPixels": height,
        "samples": samples(scene),
        "denoise": scene.cycles.use_denoising,
        "camera": one_line(scene.camera.name, 100) if scene.camera else None,
        "fps": round(render.fps / render.fps_base, 3),
        "frameStart": scene.frame_start,
        "frameEnd": scene.frame_end,
        "frameStep": scene.frame_step,
        "viewTransform": scene.view_settings.view_transform,
        "transparent": render.film_transparent,
        "motionBlur": render.use_motion_blur,
        "persistentData": render.use_persistent_data,
    }


def contents(scene: Any) -> dict[str, Any]:
    """Objects by type, and polygons of the meshes once an object; instances are not counted."""
    objects = list(scene.objects)
    types: dict[str, int] = {}
    for thing in objects:
        types[thing.type.lower()] = types.get(thing.type.lower(), 0) + 1
    return {
        "objects": len(objects),
        "objectTypes": dict(sorted(types.items())),
        "polygons": sum(len(o.data.polygons) for o in objects if o.type == "MESH"),
        "images": len([i for i in bpy.data.images if re.fullmatch("FILE|SEQUENCE|MOVIE|TILED", i.source)]),
        "libraries": len(bpy.data.libraries),
    }


def unbaked_simulations(scene: Any) -> list[str]:
    found = [one_line(o.name, 60) for o in scene.objects if any(unbaked(m) for m in o.modifiers if m.show_render)]
    world = scene.rigidbody_world
    if world and world.enabled and world.collection and world.collection.objects and not world.point_cache.is_baked:
        found.append("rigid bodies")
    return found


def unbaked(modifier: Any) -> bool:
    if modifier.type == "FLUID":
        domain = modifier.domain_settings
        return bool(domain) and not domain.has_cache_baked_any
    if modifier.type == "PARTICLE_SYSTEM":
        system = modifier.particle_system
        return system.settings.type == "EMITTER" and system.settings.physics_type != "NO" and not system.point_cache.is_baked
    cache = getattr(modifier, "point_cache", None)
    return modifier.type in SIMULATIONS and cache is not None and not cache.is_baked
