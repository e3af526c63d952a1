"""Makes the scenes that the tests render: small ones with Cycles, some of them hostile or broken.

    python scenes.py folder ran

Writes folder/<name>.blend and the files beside them. What a script in a scene would write if it ran is a file whose name begins
with ran.
"""

from __future__ import annotations

import argparse
import os
import shutil
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


def importing(paths: dict[str, str], fake: bool = False) -> Any:
    """A group of Geometry Nodes that imports files by their paths, whose kinds are OBJ, Text and so on. The cube shows it."""
    tree = bpy.data.node_groups.new("imports", "GeometryNodeTree")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    tree.use_fake_user = True
    joined, end = tree.nodes.new("GeometryNodeJoinGeometry"), tree.nodes.new("NodeGroupOutput")
    tree.links.new(joined.outputs[0], end.inputs[0])
    for kind, path in paths.items():
        node = tree.nodes.new(f"GeometryNodeImport{kind}")
        node.inputs["Path"].default_value = path
        if kind == "Text":  # as one would read it from a picture
            curves = tree.nodes.new("GeometryNodeStringToCurves")
            tree.links.new(node.outputs[0], curves.inputs["String"])
            node = curves
        tree.links.new(node.outputs[0], joined.inputs[0])
    if not fake:
        bpy.data.objects["Cube"].modifiers.new("imports", "NODES").node_group = tree
    return tree


def imports(folder: Path) -> None:
    """Files that Geometry Nodes import: of the project, from elsewhere, and from a place that other nodes compute."""
    fresh()
    importing({"OBJ": "//meshes/tetra.obj", "STL": "C:\\Users\\artist\\tetra.stl"})
    importing({"Text": "/etc/hostname"}, fake=True)
    strip = bpy.context.scene.sequence_editor_create().strips.new_image("muted", "/etc/hostname", 1, 1)
    strip.mute = True
    strip.keyframe_insert("mute", frame=1)
    save(folder, "imported")
    (folder / "tetra.obj").write_text("v 0 0 3\nv 1 0 3\nv 0 1 3\nv 0 0 4\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 3\nvertex 1 0 3\nvertex 0 1 3\nendloop\nendfacet\n"
    (folder / "tetra.stl").write_text(f"solid a\n{facet}endsolid a\n")
    fresh()
    tree = importing({"Text": "/etc/hostname", "OBJ": "//../../shape.obj", "PLY": "//gone.ply", "CSV": ""})
    path = tree.nodes.new("FunctionNodeInputString")
    path.string = "/etc/passwd"
    computed = tree.nodes.new("GeometryNodeImportVDB")
    tree.links.new(path.outputs[0], computed.inputs["Path"])
    save(folder, "importing")


def animated(folder: Path) -> None:
    """Samples that keyframes and a driver set, in the scene and in another that its compositor shows; a view layer has its own,
    too."""
    scene = fresh(3)
    other = scene.copy()
    other.name = "Backdrop"
    for each in (scene, other):
        each.cycles.samples = 64
        each.view_layers[0].samples = 32
        each.cycles.keyframe_insert("samples", frame=1)
    other.animation_data_clear()
    driver = other.driver_add("cycles.samples").driver
    driver.type, driver.expression = "SCRIPTED", "60 + 4"
    other.render.resolution_x = other.render.resolution_y = 500
    scene.use_nodes = True
    layers, mix = scene.node_tree.nodes.new("CompositorNodeRLayers"), scene.node_tree.nodes.new("CompositorNodeMixRGB")
    layers.scene = other
    scene.node_tree.links.new(scene.node_tree.nodes["Render Layers"].outputs[0], mix.inputs[1])
    scene.node_tree.links.new(layers.outputs[0], mix.inputs[2])
    scene.node_tree.links.new(mix.outputs[0], scene.node_tree.nodes["Composite"].inputs[0])
    save(folder, "animated")
    other.render.engine = "BLENDER_WORKBENCH"
    save(folder, "other-engine")
    scene.use_nodes = False
    scene.node_tree.nodes.clear()
    scene.sequence_editor_create().strips.new_scene("backdrop", other, 1, 1)
    save(folder, "strip-engine")


def excessive(folder: Path) -> None:
    """Sizes and samples beyond what a request may state."""
    scene = fresh()
    scene.render.resolution_x, scene.render.resolution_percentage = 4097, 200
    save(folder, "too-wide")
    scene = fresh()
    scene["cycles"]["samples"] = 1 << 25  # the property itself ends at half of it
    save(folder, "too-many-samples")
    scene = fresh()
    scene.view_layers[0].samples = (1 << 24) + 1
    save(folder, "too-many-in-a-layer")


def caches(folder: Path) -> None:
    """Everything that keeps data in files of its own, none of which is there."""
    scene = fresh()
    save(folder, "caches")  # simulations are baked to files only of a scene that has one itself
    cube = bpy.data.objects["Cube"]
    cube.modifiers.new("mesh", "MESH_CACHE").filepath = "/etc/passwd"
    hidden = cube.modifiers.new("hidden", "MESH_CACHE")
    hidden.filepath, hidden.show_render = "//hidden.pc2", False
    hidden.keyframe_insert("show_render", frame=1)
    cube.modifiers.new("sculpt", "MULTIRES")
    with bpy.context.temp_override(object=cube, active_object=cube):
        bpy.ops.object.multires_subdivide(modifier="sculpt")
        bpy.ops.object.multires_external_save(modifier="sculpt", filepath=str(folder / "sculpt.btx"))
    (folder / "sculpt.btx").unlink(missing_ok=True)
    bpy.ops.mesh.primitive_plane_add()
    cloth = bpy.context.object
    cloth.name = "Flag"
    cache = cloth.modifiers.new("cloth", "CLOTH").point_cache
    cache.frame_end, cache.use_disk_cache = 2, True
    bpy.ops.mesh.primitive_plane_add()
    emitter = bpy.context.object
    emitter.name = "Sparks"
    emitter.modifiers.new("sparks", "PARTICLE_SYSTEM")
    bpy.ops.ptcache.bake_all(bake=True)
    cache = emitter.particle_systems[0].point_cache
    cache.use_external, cache.filepath = True, "//sparks"
    sequence = bpy.data.volumes.new("smoke")
    sequence.filepath, sequence.is_sequence, sequence.frame_duration, sequence.frame_offset = "//smoke_0001.vdb", True, 2, 10
    scene.collection.objects.link(bpy.data.objects.new("smoke", sequence))
    with_alembic(folder, cube)
    with_bakes(folder)
    clip(scene, folder)
    for name in ("blendcache_caches", "frames"):
        shutil.rmtree(folder / name, ignore_errors=True)
    save(folder, "caches")


def with_alembic(folder: Path, cube: Any) -> None:
    """A sequence of Alembic files with a layer over it."""
    bpy.ops.cachefile.open(filepath=str(folder / "walk_0001.abc"))
    cache = bpy.data.cache_files[0]
    cache.filepath, cache.is_sequence = "//walk_0001.abc", True
    cache.layers.new(filepath="//layer.abc")
    cube.modifiers.new("alembic", "MESH_SEQUENCE_CACHE").cache_file = cache


def with_bakes(folder: Path) -> None:
    """Geometry Nodes with a bake on disk, and a fluid with one."""
    bpy.ops.mesh.primitive_plane_add()
    tree = importing({}, fake=True)
    bake = tree.nodes.new("GeometryNodeBake")
    tree.links.new(bake.outputs[0], tree.nodes["Group Output"].inputs[0])
    modifier = bpy.context.object.modifiers.new("nodes", "NODES")
    modifier.node_group, modifier.bake_target, modifier.bake_directory = tree, "DISK", "//baked"
    bpy.context.view_layer.update()
    bpy.ops.mesh.primitive_cube_add()
    modifier = bpy.context.object.modifiers.new("pool", "FLUID")
    modifier.show_viewport = False  # nothing is to be simulated here
    modifier.fluid_type = "DOMAIN"
    modifier.domain_settings.cache_type, modifier.domain_settings.cache_directory = "ALL", "//pool"
    modifier.domain_settings.has_cache_baked_any = True


def clip(scene: Any, folder: Path) -> None:
    """Frames of a film that a camera was tracked with, which the compositor shows."""
    for number in (1, 2):
        picture(folder / "frames" / f"shot_{number:04d}.png")
    found = bpy.data.movieclips.load(str(folder / "frames" / "shot_0001.png"))
    found.filepath, found.name = "//frames/shot_0001.png", "shot"
    scene.use_nodes = True
    scene.node_tree.nodes.new("CompositorNodeMovieClip").clip = found


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
    imports(folder)
    animated(folder)
    excessive(folder)
    caches(folder)
    project(folder)
    os._exit(0)  # Blender's own end has been seen to hang


if __name__ == "__main__":
    main()
