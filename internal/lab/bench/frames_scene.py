"""Makes the scene of the benchmark of frames: a crowd of shapes on a floor, round which a camera goes once.

python frames_scene.py scene.blend frames
"""

import math
import os
import random
import sys

import bpy

SEED = 42
OBJECTS = 300
FLOOR_METRES, ORBIT_METRES = 24.0, 13.0
WIDTH_PIXELS, HEIGHT_PIXELS, SAMPLES, BOUNCES = 640, 360, 6, 3


def material(name: str, shade: random.Random) -> bpy.types.Material:
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    surface = made.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (shade.random(), shade.random(), shade.random(), 1.0)
    surface.inputs["Metallic"].default_value = float(shade.random() < 0.3)
    surface.inputs["Roughness"].default_value = shade.uniform(0.1, 0.8)
    return made


def crowd(scene: bpy.types.Scene) -> None:
    """Shapes that share three meshes; every one has its place, size and material."""
    shade = random.Random(SEED)
    bpy.ops.mesh.primitive_uv_sphere_add(segments=48, ring_count=24)
    bpy.ops.mesh.primitive_torus_add(major_segments=64, minor_segments=24)
    bpy.ops.mesh.primitive_monkey_add()
    models = list(scene.objects)
    for model in models:
        for face in model.data.polygons:
            face.use_smooth = True
        model.hide_render = True
    materials = [material(f"shade {number}", shade) for number in range(12)]
    for number in range(OBJECTS):
        shape = bpy.data.objects.new(f"shape {number}", models[number % len(models)].data.copy())
        shape.data.materials.append(shade.choice(materials))
        shape.scale = [shade.uniform(0.2, 0.5)] * 3
        shape.location = (shade.uniform(-0.4, 0.4) * FLOOR_METRES, shade.uniform(-0.4, 0.4) * FLOOR_METRES, shade.uniform(0.3, 2.5))
        shape.rotation_euler = [shade.uniform(0.0, math.tau) for _ in range(3)]
        scene.collection.objects.link(shape)
    bpy.ops.mesh.primitive_plane_add(size=FLOOR_METRES)


def light(scene: bpy.types.Scene) -> None:
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.rotation_euler = 3.0, (0.7, 0.2, 0.4)
    scene.collection.objects.link(sun)
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.5, 0.6, 0.8, 1.0)


def orbit(scene: bpy.types.Scene, frames: int) -> None:
    """The camera looks at the middle of the floor from a frame's place on the circle."""
    hub = bpy.data.objects.new("hub", None)
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.parent, camera.location, camera.rotation_euler = hub, (0.0, -ORBIT_METRES, 6.0), (math.radians(66.0), 0.0, 0.0)
    for thing in (hub, camera):
        scene.collection.objects.link(thing)
    scene.camera = camera
    for frame, turn in ((1, 0.0), (frames + 1, math.tau)):
        hub.rotation_euler[2] = turn
        hub.keyframe_insert("rotation_euler", frame=frame)
    for curve in hub.animation_data.action.fcurves:
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


def main(path: str, frames: int) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    crowd(scene)
    light(scene)
    orbit(scene, frames)
    scene.frame_start, scene.frame_end = 1, frames
    render = scene.render
    render.engine, render.use_persistent_data = "CYCLES", True
    render.resolution_x, render.resolution_y, render.resolution_percentage = WIDTH_PIXELS, HEIGHT_PIXELS, 100
    render.image_settings.file_format, render.image_settings.color_mode, render.image_settings.color_depth = "PNG", "RGB", "8"
    scene.cycles.samples, scene.cycles.seed, scene.cycles.max_bounces = SAMPLES, SEED, BOUNCES
    # Every pixel takes all its samples, so that the work does not depend on how they are shared out.
    scene.cycles.use_adaptive_sampling = scene.cycles.use_denoising = False
    bpy.ops.wm.save_as_mainfile(filepath=path, compress=True)


main(os.path.abspath(sys.argv[1]), int(sys.argv[2]))
sys.stdout.flush()
os._exit(0)  # Blender's own end takes time and has been seen to hang
