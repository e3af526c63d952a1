"""A molecular scene, exported by the viewer, as frames.py renders it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import molecule
from molecule_stage import StageError

from devices import choose
from drawing import draw
from task import executor_error


class StageScene:
    """request["scene"]["file"] is stage.tar. The models stay in Blender from frame to frame as far as they are the same."""

    def __init__(self, request: dict[str, Any]) -> None:
        picture = request["picture"]
        names = ("widthPixels", "heightPixels", "samples", "denoise", "format", "transparent", "background", "floor", "caps")
        try:
            molecule.build(
                Path(request["scene"]["file"]), {**{name: picture[name] for name in names}, "threads": request["threads"]}
            )
        except StageError as error:
            raise executor_error("STAGE_UNREADABLE", f"What the viewer exported cannot be used: {error}") from None
        # A picture tells nothing of the machine that made it, and the same picture is the same file.
        render = bpy.context.scene.render
        for stamp in [name for name in dir(render) if name.startswith("use_stamp_")]:
            setattr(render, stamp, False)
        self.device = choose([bpy.context.scene], picture["device"])
        self.programs = molecule.built().stage.programs

    @property
    def warnings(self) -> list[str]:
        return molecule.summary()["warnings"]

    def render(self, frame: int, path: Path, display: Path | None) -> None:
        try:
            molecule.show(frame)
            draw(bpy.context.scene, path, display)
            molecule.compose(frame, path)
        except StageError as error:
            raise executor_error("STAGE_UNREADABLE", f"What the viewer exported of this frame cannot be used: {error}") from None
