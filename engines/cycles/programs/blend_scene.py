"""An artist's .blend, opened without running anything that it brings, as frames.py renders it.

Its scripts and Python drivers stay off, nothing of it writes files beside the frame, and paths that lead out of the project lead to
the project's file of that name. What the job asks for overrides the scene's own settings; what it leaves open stays the artist's.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import bpy

from assets import remap
from devices import choose
from drawing import draw
from project import Project
from stated import compositors, hold, require_cycles, shown, unbind
from task import Failure, one_line, user_error

JPEG_QUALITY = 95
MAX_NAMED = 20
# What Blender writes into a picture about the machine that it ran on, and what differs from run to run.
WORKER_STAMPS = ("use_stamp_hostname", "use_stamp_filename", "use_stamp_memory")
CHANGING_STAMPS = ("use_stamp_date", "use_stamp_render_time")


class BlendScene:
    """request: "scene" {"file", "path", "project": [{"file", "path"}, …]}, "picture" and "threads"."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.warnings: list[str] = []
        self.programs: dict[str, str] = {}  # that have written the scene
        self.folder = tempfile.TemporaryDirectory(prefix="project-")
        self.project = Project(Path(self.folder.name).resolve(), request["scene"], request["scene"].get("project", []))
        load(self.project.scene)
        self.scene = bpy.context.scene
        if bpy.data.version[:2] > bpy.app.version[:2]:
            saved = ".".join(map(str, bpy.data.version[:2]))
            self.warnings.append(
                f"the scene was saved by Blender {saved}, which is newer than {bpy.app.version_string} here: what it has new "
                f"is lost"
            )
        self.lacking = remap(self.project)
        self.scenes = shown(self.scene)  # it comes first
        require_cycles(self.scenes)
        self.scripts = silence(self.scene, self.warnings)
        self.apply(request["picture"])
        self.device = choose(self.scenes, request["picture"]["device"])

    def apply(self, picture: dict[str, Any]) -> None:
        if freed := unbind(self.scenes, picture):
            self.warnings.append(f"animation of what the job decides was left out: {'; '.join(freed[:MAX_NAMED])}")
        hold(self.scenes, picture, self.request["threads"])
        set_format(self.scene, picture["format"])
        set_camera(self.scene, picture["camera"])

    def render(self, frame: int, path: Path, display: Path | None) -> None:
        self.scene.frame_set(frame)
        hold(self.scenes, self.request["picture"], self.request["threads"])
        draw(self.scene, path, display)


def load(path: Path) -> None:
    """Opens a .blend with its scripts off. What Blender says of a file that it cannot read holds a path, and is not passed on."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    try:
        outcome = bpy.ops.wm.open_mainfile(filepath=str(path), use_scripts=False, load_ui=False)
    except RuntimeError as error:
        print(error, flush=True)
        outcome = set()
    if "FINISHED" not in outcome or bpy.context.scene is None:
        raise user_error(
            "SCENE_UNREADABLE",
            f"Blender {bpy.app.version_string} cannot read the scene: it is damaged, or from a later Blender. Open and save it "
            f"with Blender 4.5.",
        )


def set_camera(scene: Any, name: str | None) -> None:
    """The camera that the job names is that of every frame; else the scene's, or those that its markers bind."""
    if name is None:
        if scene.camera is None and not any(marker.camera for marker in scene.timeline_markers):
            raise without_camera(scene, "has no active camera; choose one under Scene Properties, Camera")
        return
    found = scene.objects.get(name)
    if found is None or found.type != "CAMERA":
        raise without_camera(scene, f"has no camera “{one_line(name, 80)}”")
    for marker in scene.timeline_markers:
        marker.camera = None
    scene.camera = found


def without_camera(scene: Any, what: str) -> Failure:
    there = [one_line(o.name, 60) for o in scene.objects if o.type == "CAMERA"]
    advice = f", or name one of them in parameters.Camera: {', '.join(there[:MAX_NAMED])}" if there else ""
    return user_error("SCENE_WITHOUT_CAMERA", f"The scene “{one_line(scene.name, 80)}” {what}{advice}.")


def set_format(scene: Any, wanted: str) -> None:
    """EXR is half floats with lossless ZIP, unless the scene itself is set to an EXR of its own kind."""
    image = scene.render.image_settings
    own = image.file_format
    color_mode = "RGBA" if scene.render.film_transparent else "RGB"
    if wanted == "EXR" and own not in ("OPEN_EXR", "OPEN_EXR_MULTILAYER"):
        image.file_format, image.color_mode, image.color_depth, image.exr_codec = "OPEN_EXR", color_mode, "16", "ZIP"
    elif wanted == "PNG" and own != "PNG":
        image.file_format, image.color_mode, image.color_depth = "PNG", color_mode, "8"
    elif wanted == "JPEG" and own != "JPEG":
        image.file_format, image.color_mode, image.quality = "JPEG", "RGB", JPEG_QUALITY


def silence(scene: Any, warnings: list[str]) -> list[str]:
    """Turns off what would run or write beside the frame, and returns what of the file could have run, in words."""
    # In every scene of the file, for a render layer or a strip may bring another one in. What runs or writes is taken out rather
    # than switched off: an animation could switch it on again with a frame.
    trees = dict.fromkeys(tree for each in bpy.data.scenes for tree in compositors(each))
    outputs = [(tree, node) for tree in trees for node in tree.nodes if node.bl_idname == "CompositorNodeOutputFile"]
    removed = sorted({one_line(node.name, 60) for _, node in outputs})
    for tree, node in outputs:
        tree.nodes.remove(node)
    if removed:
        warnings.append(f"the compositor's file outputs are off, a job's files are its frames: {', '.join(removed[:MAX_NAMED])}")
    render = scene.render
    if render.use_multiview:
        render.use_multiview = False
        warnings.append("stereoscopy is off: each frame is one picture")
    render.compositor_device = "CPU"
    render.use_file_extension = False
    for stamp in WORKER_STAMPS + (() if render.use_stamp else CHANGING_STAMPS):
        setattr(render, stamp, False)
    scripts = [f"text {one_line(text.name, 80)} (registered to run at opening)" for text in bpy.data.texts if text.use_module]
    for layer in [layer for each in bpy.data.scenes for layer in each.view_layers]:
        for module in layer.freestyle_settings.modules:
            if module.script:
                scripts.append(f"Freestyle style {one_line(module.script.name, 80)}")
                module.script = None
    scripts += python_drivers()
    if scripts:
        warnings.append(f"scripts in the scene were not run: {'; '.join(scripts[:MAX_NAMED])}")
    return scripts


def python_drivers() -> list[str]:
    """Drivers whose expressions need Python: Blender evaluates simple arithmetic itself, and nothing else while scripts are off."""
    found = []
    for name in (
        "objects",
        "scenes",
        "materials",
        "worlds",
        "meshes",
        "cameras",
        "lights",
        "shape_keys",
        "node_groups",
        "armatures",
        "curves",
    ):
        for owner in getattr(bpy.data, name):
            for curve in owner.animation_data.drivers if owner.animation_data else []:
                if curve.driver.type == "SCRIPTED" and not curve.driver.is_simple_expression:
                    found.append(f"driver of {one_line(owner.name, 60)}, {one_line(curve.data_path, 60)}")
    return found
