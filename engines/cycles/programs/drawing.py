"""One frame of whatever scene is open in Blender, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

from task import executor_error


def draw(scene: Any, path: Path, display: Path | None) -> None:
    """Renders the scene as it stands. path gets the picture in the scene's format; display, where given, the same as PNG as a
    screen shows it, through the scene's view transform. Raises RuntimeError with Blender's words when it reports an error."""
    whole = path.resolve()
    scene.render.filepath = str(whole)
    scene.render.use_file_extension = False  # the name has it
    outcome = bpy.ops.render.render(write_still=True, scene=scene.name)
    if "FINISHED" not in outcome or not whole.is_file():
        raise executor_error("FRAME_MISSING", "Blender ended this frame without a picture.")
    if display is not None:
        show(scene, display.resolve())


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
