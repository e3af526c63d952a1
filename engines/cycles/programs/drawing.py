"""One frame of whatever scene is open in Blender, as a file."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import bpy

from task import Failure, executor_error, user_error

# A file that ends this close to the limit of a file's size has been cut off by it: writers fill blocks.
BLOCK_BYTES = 64 << 10


def draw(scene: Any, path: Path, display: Path | None) -> None:
    """Renders the scene as it stands. path gets the picture in the scene's format; display, where given, the same as PNG as a
    screen shows it, through the scene's view transform. Raises a Failure when a file would be too large, and RuntimeError with
    Blender's words when it reports another error."""
    whole = path.resolve()
    scene.render.filepath = str(whole)
    scene.render.use_file_extension = False  # the name has it
    try:
        outcome = bpy.ops.render.render(write_still=True, scene=scene.name)
    except RuntimeError:
        if cut_off(whole):
            raise too_large() from None
        raise
    if cut_off(whole):
        raise too_large()
    if "FINISHED" not in outcome or not whole.is_file():
        raise executor_error("FRAME_MISSING", "Blender ended this frame without a picture.")
    if display is not None:
        show(scene, display.resolve())


def cut_off(path: Path) -> bool:
    """Whether a file has reached the size at which the task's files end."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return limit != resource.RLIM_INFINITY and path.is_file() and path.stat().st_size > limit - BLOCK_BYTES


def too_large() -> Failure:
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return user_error(
        "FRAME_TOO_LARGE",
        f"The frame's file is larger than the {limit:,} bytes that a picture of this size may have: render fewer passes, or state "
        f"a smaller metadata.resolution.",
    )


def show(scene: Any, path: Path) -> None:
    settings = scene.render.image_settings
    kept = {name: getattr(settings, name) for name in ("file_format", "color_mode", "color_depth")}
    try:
        settings.file_format = "PNG"
        settings.color_mode, settings.color_depth = "RGBA" if scene.render.film_transparent else "RGB", "8"
        bpy.data.images["Render Result"].save_render(str(path), scene=scene)
    finally:
        for name, value in kept.items():
            setattr(settings, name, value)
