"""Makes the scenes that the tests render: small ones with Cycles, some of them hostile or broken.

    python scenes.py folder ran

Writes folder/<name>.blend and the files beside them. What a script in a scene would write if it ran is a file whose name begins with ran.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import bpy


def fresh(frames: int = 10) -> Any:
    """Blender's cube, lamp and camera; the cube turns about itself once."""
    bpy.ops.wm.read_factory_settings(use_empty=False)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y = 160, 90
    scene.cycles.samples, scene.cycles.use_denoising = 4, False
    scene.frame_start, scene.frame_end = 1, frames
    cube = bpy.data.objects["Cube"]
    for frame, turn in ((1, 0.0), (frames, 3.0)):
        cube.rotation_euler[2] = turn
        cube.keyframe_insert("rotation_euler", frame=frame)
    return scene


def save(folder: Path, name: str, **how: Any) -> None:
    path = folder / f"{name}.blend"
    path.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True, **how)


def textured(path: str, source: str = "FILE") -> Any:
    """Paints the cube with an image that is not part of the scene's file, and returns the node that does."""
    image = bpy.data.images.new("wood", 8, 8, tiled=source == "TILED")
    if source == "TILED":
        image.tiles.new(1002)
    image.source, image.filepath = source, path
    material = bpy.data.objects["Cube"].active_material
    material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    material.node_tree.links.new(node.outputs[0], material.node_tree.nodes["Principled BSDF"].inputs[0])
    return node


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = bpy.data.images.new("drawn", 8, 8)
    image.generated_color = (1.0, 0.0, 0.0, 1.0)
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)


def evil(folder: Path, ran: Path) -> None:
    """Everything that could run or write: a registered text, a Python driver, a Freestyle style, which an
    animation switches on with each frame, and a file output."""
    scene = fresh()
    text = bpy.data.texts.new("evil.py")
    text.from_string(f"open({str(ran)!r} + '.text', 'w')")
    text.use_module = True
    driver = bpy.data.objects["Cube"].driver_add("location", 0).driver
    driver.type, driver.expression = "SCRIPTED", f"open({str(ran)!r} + '.driver', 'w') and 0"
    scene.render.use_freestyle = True
    style = bpy.data.texts.new("style.py")
    style.from_string(f"open({str(ran)!r} + '.style', 'w')")
    settings = scene.view_layers[0].freestyle_settings
    settings.mode = "SCRIPT"
    settings.modules.new().script = style
    layer = f'view_layers["{scene.view_layers[0].name}"].freestyle_settings'
    scene.keyframe_insert(f"{layer}.mode", frame=1)
    scene.keyframe_insert(f"{layer}.modules[0].use", frame=1)
    scene.use_nodes = True
    output = scene.node_tree.nodes.new("CompositorNodeOutputFile")
    output.base_path = str(ran) + ".output"
    scene.node_tree.links.new(scene.node_tree.nodes["Render Layers"].outputs[0], output.inputs[0])
    save(folder, "evil")


def lacking(folder: Path) -> None:
    """A scene whose files of every other kind are missing: tiles, a sequence, a volume, a light's distribution, a strip."""
    scene = fresh()
    textured("//tiles/wood.<UDIM>.png", "TILED")
    textured("//steps/step_0001.png", "SEQUENCE").image_user.frame_duration = 2
    fog = bpy.data.volumes.new("fog")
    fog.filepath = "//fog.vdb"
    scene.collection.objects.link(bpy.data.objects.new("fog", fog))
    lamp = bpy.data.objects["Light"].data
    lamp.use_nodes = True
    node = lamp.node_tree.nodes.new("ShaderNodeTexIES")
    node.mode, node.filepath = "EXTERNAL", "//lamp.ies"
    lamp.node_tree.links.new(node.outputs[0], lamp.node_tree.nodes["Emission"].inputs["Strength"])
    scene.sequence_editor_create().strips.new_image("clip", "//clip.png", 1, 1)
    unused = bpy.data.images.new("unused", 8, 8)
    unused.source, unused.filepath, unused.use_fake_user = "FILE", "//unused.png", True
    save(folder, "lacking")


def project(folder: Path) -> None:
    """A shot with a texture beside it and a linked prop, which has a texture of its own."""
    root = folder / "project"
    picture(root / "textures" / "wood.png")
    fresh()
    textured("//../textures/wood.png")
    cube = bpy.data.objects["Cube"]
    cube.name = "Prop"
    save(root / "props", "prop")
    scene = fresh()
    with bpy.data.libraries.load(str(root / "props" / "prop.blend"), link=True) as (_, wanted):
        wanted.objects = ["Prop"]
    scene.collection.objects.link(wanted.objects[0])
    bpy.data.objects["Cube"].hide_render = True
    save(root / "shots", "shot", relative_remap=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the scenes of the tests.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("ran", type=Path, help="beginning of the names of files that must not appear")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    fresh()
    save(folder, "plain")
    fresh()
    textured("//textures/wood.png")
    save(folder, "untextured")
    fresh()
    textured("C:\\Users\\artist\\wood.png")
    save(folder, "elsewhere", relative_remap=False)
    fresh().camera = None
    save(folder, "without-camera")
    fresh().render.engine = "BLENDER_EEVEE_NEXT"
    save(folder, "eevee")
    evil(folder, arguments.ran.resolve())
    lacking(folder)
    project(folder)
    os._exit(0)  # Blender's own end has been seen to hang


if __name__ == "__main__":
    main()
