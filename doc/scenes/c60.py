"""Makes c60.blend: buckminsterfullerene of lacquer and metal on a table, for the gallery. Run with the scientific Python of
set-up."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

import bpy
from mathutils import Vector

GOLDEN = (1 + math.sqrt(5)) / 2


def carbons() -> list[Vector]:
    """The 60 corners of a truncated icosahedron with edges of length 2."""
    corners = []
    for base in ((0, 1, 3 * GOLDEN), (1, 2 + GOLDEN, 2 * GOLDEN), (GOLDEN, 2, GOLDEN**3)):
        for signs in itertools.product((-1, 1), repeat=3):
            signed = [s * v for s, v in zip(signs, base)]
            corners += [tuple(signed[(i + k) % 3] for i in range(3)) for k in range(3)]
    return [Vector(corner) / 2 for corner in sorted(set(corners))]


def material(name: str, color: tuple[float, float, float], metallic: float, roughness: float) -> Any:
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    surface = made.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (*color, 1)
    surface.inputs["Metallic"].default_value, surface.inputs["Roughness"].default_value = metallic, roughness
    return made


def place(thing: Any, look: Any) -> None:
    thing.data.materials.append(look)
    for face in thing.data.polygons:
        face.use_smooth = True


def molecule() -> None:
    corners = carbons()
    ball, stick = material("ball", (0.02, 0.03, 0.05), 0.2, 0.18), material("stick", (0.9, 0.55, 0.2), 1.0, 0.25)
    for corner in corners:
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.27, location=corner, segments=48, ring_count=24)
        place(bpy.context.object, ball)
    for a, b in itertools.combinations(corners, 2):
        if (b - a).length < 1.01:
            bpy.ops.mesh.primitive_cylinder_add(
                radius=0.09, depth=1, location=(a + b) / 2, rotation=(b - a).to_track_quat("Z", "Y").to_euler()
            )
            place(bpy.context.object, stick)


def stage() -> None:
    bpy.ops.mesh.primitive_plane_add(size=80, location=(0, 0, -2.78))
    place(bpy.context.object, material("table", (0.75, 0.77, 0.8), 0.0, 0.5))
    for location, power, size in (((-6, -6, 8), 900, 5), ((8, -3, 5), 300, 6), ((0, 8, 6), 500, 4)):
        bpy.ops.object.light_add(type="AREA", location=location)
        lamp = bpy.context.object
        lamp.data.energy, lamp.data.size = power, size
        lamp.rotation_euler = (-Vector(location)).to_track_quat("-Z", "Y").to_euler()
    bpy.ops.object.camera_add(location=(0, -18, 4.2))
    camera = bpy.context.object
    camera.rotation_euler = (Vector((0, 0, -0.2)) - camera.location).to_track_quat("-Z", "Y").to_euler()
    bpy.context.scene.camera = camera


bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.engine = "CYCLES"
scene.render.resolution_x, scene.render.resolution_y = 960, 540
scene.cycles.samples, scene.cycles.use_denoising = 32, True
scene.view_settings.view_transform = "AgX"
scene.world = bpy.data.worlds.new("white")
scene.world.use_nodes = True
scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.8, 0.85, 0.9, 1)
scene.world.node_tree.nodes["Background"].inputs[1].default_value = 0.5
molecule()
stage()
bpy.ops.wm.save_as_mainfile(filepath=sys.argv[1] if len(sys.argv) > 1 else "c60.blend", compress=True)
