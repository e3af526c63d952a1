"""Makes the scenes that the tests render: Blender's cube with a lamp and a camera, which turns about itself.

    python scenes.py folder

Writes folder/plain.blend, lacking.blend, whose texture is nowhere, and scripted.blend, which would look otherwise if its scripts
ran.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import bpy

FRAMES = 24
RED = (1.0, 0.0, 0.0, 1.0)
# Scripts that a scene brings: one runs when it is opened, the other places the cube, out of sight.
PAINT = f"import bpy\nbpy.data.worlds[0].node_tree.nodes['Background'].inputs[0].default_value = {RED}\n"
PLACE = "[9000.0, len(str(self))][0]"


def fresh() -> Any:
    """A small picture of few samples. Each pixel gets all of them, so that a frame takes about the same time as another."""
    bpy.ops.wm.read_factory_settings(use_empty=False)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y = 160, 90
    scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.use_adaptive_sampling = 4, False, False
    scene.frame_start, scene.frame_end = 1, FRAMES
    cube = bpy.data.objects["Cube"]
    for frame, turn in ((1, 0.0), (FRAMES, 3.0)):
        cube.rotation_euler[2] = turn
        cube.keyframe_insert("rotation_euler", frame=frame)
    return scene


def save(folder: Path, name: str) -> Path:
    path = folder / f"{name}.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)
    return path


def lacking(folder: Path) -> None:
    fresh()
    image = bpy.data.images.new("oak", 8, 8)
    image.source, image.filepath = "FILE", "//textures/oak.png"
    material = bpy.data.objects["Cube"].active_material
    material.use_nodes = True
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    material.node_tree.links.new(node.outputs[0], material.node_tree.nodes["Principled BSDF"].inputs[0])
    save(folder, "lacking")


def scripted(folder: Path) -> None:
    """Opens what it has saved, to be sure that both scripts do what they are for where they may."""
    fresh()
    text = bpy.data.texts.new("paint.py")
    text.from_string(PAINT)
    text.use_module = True
    curve = bpy.data.objects["Cube"].driver_add("location", 0)
    curve.driver.type, curve.driver.use_self, curve.driver.expression = "SCRIPTED", True, PLACE
    path = save(folder, "scripted")
    bpy.ops.wm.open_mainfile(filepath=str(path), use_scripts=True)
    bpy.context.scene.frame_set(1)
    painted = tuple(bpy.data.worlds[0].node_tree.nodes["Background"].inputs[0].default_value)
    placed = bpy.data.objects["Cube"].evaluated_get(bpy.context.evaluated_depsgraph_get()).location[0]
    if painted != RED or placed != 9000.0:
        raise SystemExit(f"the scripts of the scene do nothing: {painted}, {placed}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the scenes that the tests render.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    fresh()
    save(folder, "plain")
    lacking(folder)
    scripted(folder)
    os._exit(0)  # Blender's own end has been seen to hang


if __name__ == "__main__":
    main()
