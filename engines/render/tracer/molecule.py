"""A molecular scene for Cycles: what the viewer exported (stage.tar), with the same camera and framing, lit and finished for print.

frames.py calls build once, show and compose for every frame, and summary at the end. By hand, for looking at the light:

    python molecule.py --stage stage.tar --frame 1 --out picture.png --samples 64

Not imitated from the raster tier: its outlines.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from molecule_clip import Clip, clipped
from molecule_film import Film
from molecule_glb import Mesh, Model, Node
from molecule_labels import put_labels
from molecule_look import COLOR_ATTRIBUTE, GLASS, GLASS_REAR, REAR_PROPERTY, Finish, Floor, Surroundings
from molecule_look import add_lamps, finish_of, material_of, set_occlusion
from molecule_stage import Camera, Frame, Part, Region, Stage, StageError, color

# The viewer's y is up, Blender's z: (x, y, z) becomes (x, -z, y).
AXES = Matrix(((1, 0, 0, 0), (0, 0, -1, 0), (0, 1, 0, 0), (0, 0, 0, 1)))
SENSOR_MM = 36.0
# What print asks for; it changes no pixel.
DOTS_PER_INCH, INCH_M = 300.0, 0.0254
DEFAULT_SAMPLES = 64
# Noise at which a pixel is done. With denoising the rest of it goes away; without, the samples asked for are mostly taken.
NOISE_THRESHOLD, NOISE_THRESHOLD_PLAIN = 0.02, 0.005
MIN_SAMPLES = 16
# Bounces: light that met five surfaces adds nothing that can be seen. Shells of a folded surface lie behind one another.
MAX_BOUNCES, MAX_SHELLS = 5, 48
# A path brighter than this after its first bounce is a speck of noise, not light.
CLAMP_INDIRECT, CLAMP_DIRECT = 3.0, 12.0
MAX_WARNINGS = 20
FLOOR_SHADOW, FLOOR_NEAR = "shadow", 0.2
RIGID = 1e-4  # how far a transformation may be from a turn and a shift


class Scene:
    """The one molecular scene of this process. It holds the objects of one model at a time."""

    def __init__(self, stage: Stage, options: dict[str, Any]) -> None:
        self.stage, self.options = stage, options
        self.background = color(options["background"], "the picture") if options.get("background") else None
        self.model: str | None = None
        self.faces: dict[str, int] = {}
        self.materials: set[str] = set()
        self.warnings: list[str] = []
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.scene = bpy.context.scene
        self.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
        self.scene.collection.objects.link(self.camera)
        self.scene.camera = self.camera
        self.surroundings = Surroundings(self.scene)
        add_lamps(self.scene, self.camera)
        self.floor = Floor(self.scene) if options.get("floor") == FLOOR_SHADOW else None
        set_picture(self.scene, stage, options)
        set_sampling(self.scene, options)
        self.film = Film(self.scene, bool(options.get("transparent", stage.transparent)), self.scene.cycles.use_denoising)
        if options.get("format") == "EXR" and any(frame.labels for frame in stage.frames.values()):
            self.warn("labels are left out of EXR frames, which hold light for further work; PNG and JPEG have them")

    def warn(self, text: str) -> None:
        if text not in self.warnings and len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(text)

    def show(self, frame: Frame) -> None:
        if frame.model != self.model:
            self.unload()
            self.load(frame.model, np.array(frame.translation))
        place_camera(self.camera, frame)
        set_occlusion(frame.occlusion)
        self.film.fog(frame.camera.fog)
        self.film.background(self.background or frame.background)
        self.surroundings.turn(self.camera.matrix_world)
        if self.floor:
            see_floor(self.camera.data)
            self.floor.lay(self.camera.matrix_world)

    def unload(self) -> None:
        """Frees the objects and meshes of the model that is shown, so that states do not add up in memory."""
        for thing in [thing for thing in self.scene.objects if thing.type == "MESH" and not thing.is_shadow_catcher]:
            bpy.data.objects.remove(thing)
        for mesh in [mesh for mesh in bpy.data.meshes if not mesh.users]:
            bpy.data.meshes.remove(mesh)
        self.model = None

    def load(self, name: str, translation: np.ndarray) -> None:
        """Makes the objects of a model, whose coordinates are the scene's plus translation."""
        model = Model(self.stage.model(name))
        if model.left_out:
            self.warn(f"{model.left_out:,} parts of {name} that are points or lines are left out")
        made: dict[tuple[int, str], bpy.types.Mesh] = {}
        shells: dict[bpy.types.Object, Part] = {}
        for node in model.nodes:
            part = self.stage.part(name, node.index, node.name)
            thing, finish = self.add(model.meshes[node.mesh], node, part, made, translation)
            if thing is not None and finish is GLASS:
                shells[thing] = part
        self.film.translucent(bool(shells) or self.floor is not None)
        for thing in shells:
            hide_from_light(thing)
            # Of several see-through parts one may lie inside another, and must not fade for it.
            thing[REAR_PROPERTY] = GLASS_REAR if len(set(shells.values())) == 1 else 1.0
        self.model = name
        self.faces[name] = sum(len(model.meshes[node.mesh].faces) for node in model.nodes)

    def add(
        self, mesh: Mesh, node: Node, part: Part, made: dict[tuple[int, str], bpy.types.Mesh], translation: np.ndarray
    ) -> tuple[bpy.types.Object | None, Finish]:
        """One object for a node; nodes of one mesh that nothing is cut from share its data. None where all of it is cut away."""
        finish = finish_of(part, bool((mesh.colors[:, 3] < 1).any()))
        clips, matrix = self.clips_of(part, translation), Matrix(node.matrix)
        if clips:
            left = clipped(placed(mesh, node.matrix), clips, self.options.get("caps") is not False and finish is not GLASS)
            if left is None:
                return None, finish
            data, matrix = blender_mesh(left), Matrix()
            data.materials.append(material_of(finish))
        else:
            key = (node.mesh, finish.name)
            if key not in made:
                made[key] = blender_mesh(mesh)
                made[key].materials.append(material_of(finish))
            data = made[key]
        self.materials.add(finish.name)
        thing = bpy.data.objects.new(f"{finish.name} {node.index}", data)
        thing.matrix_world = AXES @ matrix
        self.scene.collection.objects.link(thing)
        return thing, finish

    def clips_of(self, part: Part, translation: np.ndarray) -> list[Clip]:
        found = [clip_of(region, translation) for region in part.regions]
        if None in found:
            self.warn("clips that are no plane, sphere or box, or that are moved by more than a turn and a shift, are left out")
        return [clip for clip in found if clip is not None]


def placed(mesh: Mesh, matrix: np.ndarray) -> Mesh:
    """A mesh in its model's coordinates."""
    turn = matrix[:3, :3]
    vertices = (mesh.vertices @ turn.T + matrix[:3, 3]).astype(np.float32)
    normals = mesh.normals
    if normals is not None:
        normals = normals @ np.linalg.inv(turn)
        normals = (normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)).astype(np.float32)
    return Mesh(vertices, normals, mesh.faces if np.linalg.det(turn) > 0 else mesh.faces[:, ::-1], mesh.colors)


def clip_of(region: Region, translation: np.ndarray) -> Clip | None:
    """A region in a model's coordinates; None where it is none that can be cut."""
    moved = np.array(region.transform).reshape(4, 4).T
    turn, shift = moved[:3, :3], moved[:3, 3]
    if region.kind not in ("plane", "sphere", "box") or np.abs(turn @ turn.T - np.eye(3)).max() > RIGID:
        return None
    x, y, z, w = region.rotation
    axes = turn.T @ np.array(Quaternion((w, x, y, z)).to_matrix())
    position = turn.T @ (np.array(region.position) - shift) + translation
    return Clip(region.kind, region.invert, position, axes, np.abs(np.array(region.scale)) / 2, region.whole)


def hide_from_light(shell: bpy.types.Object) -> None:
    """What is inside a shell stays lit as it is without it, and free of the noise of light that comes through."""
    shell.visible_shadow = shell.visible_diffuse = shell.visible_glossy = False


def blender_mesh(mesh: Mesh) -> bpy.types.Mesh:
    """A mesh with Mol*'s own normals and colours, filled in a few calls."""
    made = bpy.data.meshes.new("molecule")
    made.vertices.add(len(mesh.vertices))
    made.vertices.foreach_set("co", mesh.vertices.ravel())
    made.loops.add(mesh.faces.size)
    made.loops.foreach_set("vertex_index", mesh.faces.ravel())
    made.polygons.add(len(mesh.faces))
    made.polygons.foreach_set("loop_start", np.arange(0, mesh.faces.size, 3, dtype=np.int32))
    colors = made.attributes.new(COLOR_ATTRIBUTE, "FLOAT_COLOR", "POINT")
    colors.data.foreach_set("color", mesh.colors.ravel())
    made.update(calc_edges=True)
    if mesh.normals is not None:
        made.normals_split_custom_set_from_vertices(mesh.normals)
    return made


def place_camera(camera: bpy.types.Object, frame: Frame) -> None:
    view, move = frame.camera, Vector(frame.translation)
    position, target, up = (AXES.to_3x3() @ v for v in (Vector(view.position) + move, Vector(view.target) + move, Vector(view.up)))
    backwards = (position - target).normalized()
    right = up.cross(backwards)
    if right.length < 1e-6:  # an up along the view says nothing: any direction across will do
        right = backwards.orthogonal()
    right.normalize()
    above = backwards.cross(right)
    camera.matrix_world = Matrix.Translation(position) @ Matrix((right, above, backwards)).transposed().to_4x4()
    set_lens(camera.data, view)


def set_lens(lens: bpy.types.Camera, view: Camera) -> None:
    """The field of view counts up and down the picture. An orthographic view shows what a perspective one would show at its
    target."""
    lens.sensor_fit, lens.sensor_height, lens.sensor_width = "VERTICAL", SENSOR_MM, SENSOR_MM
    half = math.tan(view.fov_y / 2)
    lens.type = "ORTHO" if view.orthographic else "PERSP"
    lens.lens = SENSOR_MM / (2 * half)
    lens.ortho_scale = 2 * half * math.dist(view.position, view.target)
    lens.clip_start, lens.clip_end = max(view.near, 1e-3), max(view.far, 2e-3)


def see_floor(lens: bpy.types.Camera) -> None:
    """Shows the floor from the viewer's feet on: the camera's planes hold what stands on it, and cut the floor short."""
    lens.clip_start, lens.clip_end = lens.clip_start * FLOOR_NEAR, lens.clip_end / FLOOR_NEAR


def set_picture(scene: bpy.types.Scene, stage: Stage, options: dict[str, Any]) -> None:
    render = scene.render
    render.engine = "CYCLES"
    render.resolution_x = int(options.get("widthPixels") or stage.width)
    render.resolution_y = int(options.get("heightPixels") or stage.height)
    render.resolution_percentage = 100
    render.ppm_factor, render.ppm_base = DOTS_PER_INCH, INCH_M
    render.film_transparent = True  # molecule_film lays the background under the picture
    render.dither_intensity = 0.0  # a background keeps its exact colour
    scene.display_settings.display_device = "sRGB"
    view = scene.view_settings
    view.view_transform, view.look, view.exposure, view.gamma = "Standard", "None", 0.0, 1.0
    kind = {"JPEG": "JPEG", "EXR": "OPEN_EXR"}.get(options.get("format", "PNG"), "PNG")
    image = render.image_settings
    image.file_format = kind
    image.color_mode = "RGBA" if options.get("transparent", stage.transparent) and kind != "JPEG" else "RGB"
    image.color_depth = "16" if kind == "OPEN_EXR" else "8"
    image.quality = 95


def set_sampling(scene: bpy.types.Scene, options: dict[str, Any]) -> None:
    cycles, denoise = scene.cycles, bool(options.get("denoise", True))
    cycles.samples = int(options.get("samples") or DEFAULT_SAMPLES)
    cycles.use_auto_tile = False  # tiles would go through files of several gigabytes
    cycles.use_adaptive_sampling = True
    cycles.adaptive_min_samples = min(MIN_SAMPLES, cycles.samples)
    cycles.adaptive_threshold = NOISE_THRESHOLD if denoise else NOISE_THRESHOLD_PLAIN
    cycles.use_denoising = denoise
    if denoise:
        cycles.denoiser, cycles.denoising_input_passes = "OPENIMAGEDENOISE", "RGB_ALBEDO_NORMAL"
        cycles.denoising_prefilter, cycles.denoising_quality = "ACCURATE", "HIGH"
    cycles.max_bounces, cycles.diffuse_bounces, cycles.glossy_bounces = MAX_BOUNCES, 3, 2
    cycles.transmission_bounces, cycles.volume_bounces, cycles.transparent_max_bounces = 0, 0, MAX_SHELLS
    cycles.caustics_reflective = cycles.caustics_refractive = False
    cycles.sample_clamp_indirect, cycles.sample_clamp_direct = CLAMP_INDIRECT, CLAMP_DIRECT
    scene.render.use_persistent_data = True
    if threads := int(options.get("threads") or 0):
        scene.render.threads_mode, scene.render.threads = "FIXED", threads


current: Scene | None = None


def built() -> Scene:
    if current is None:
        raise RuntimeError("build has not been called")
    return current


def build(stage: Path, options: dict[str, Any]) -> None:
    """Sets up Blender's scene for a stage, in place of whatever was open. Raises StageError when the stage cannot be used."""
    global current
    current = Scene(Stage(stage), options)


def show(frame: int) -> None:
    """Shows the model of a frame with its camera; a model is loaded only when it is another than that of the frame before."""
    scene = built()
    if frame not in scene.stage.frames:
        raise StageError(f"The stage has no frame {frame}.")
    scene.show(scene.stage.frames[frame])


def compose(frame: int, picture: Path) -> None:
    """Puts the labels of a frame over its finished picture, which is replaced as a whole. A frame without labels and an EXR stay as
    they are."""
    scene = built()
    name = scene.stage.frames[frame].labels
    if name is not None and scene.options.get("format") != "EXR":
        put_labels(scene.stage.labels(name), picture)


def summary() -> dict[str, Any]:
    """What was shown so far: faces of the largest model, how many models, finishes by name, and warnings."""
    scene = built()
    return {
        "faces": max(scene.faces.values(), default=0),
        "models": len(scene.faces),
        "materials": sorted(scene.materials),
        "warnings": list(scene.warnings),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Renders one frame of a stage with Cycles on the processor.")
    parser.add_argument("--stage", type=Path, required=True, help="stage.tar of the viewer's export")
    parser.add_argument("--frame", type=int, default=1, help="number of the frame (default: 1)")
    parser.add_argument("--out", type=Path, required=True, help="picture to write: .png, .jpg or .exr")
    parser.add_argument("--samples", type=int, default=DEFAULT_SAMPLES, help=f"samples a pixel (default: {DEFAULT_SAMPLES})")
    parser.add_argument("--width", type=int, default=0, help="width in pixels (default: the stage's)")
    parser.add_argument("--height", type=int, default=0, help="height in pixels (default: the stage's)")
    parser.add_argument("--threads", type=int, default=0, help="processor threads (default: all)")
    floors = ("none", FLOOR_SHADOW)
    parser.add_argument("--floor", choices=floors, default=floors[0], help="a floor that shows shadows alone (default: none)")
    parser.add_argument("--open", action="store_true", help="leave open what clips have cut")
    parser.add_argument("--plain", action="store_true", help="do not denoise")
    parser.add_argument("--transparent", action="store_true", help="no background")
    arguments = parser.parse_args()
    kind = {".jpg": "JPEG", ".jpeg": "JPEG", ".exr": "EXR"}.get(arguments.out.suffix.lower(), "PNG")
    started = time.monotonic()
    options = {
        "samples": arguments.samples,
        "denoise": not arguments.plain,
        "threads": arguments.threads,
        "format": kind,
        "floor": arguments.floor,
        "caps": not arguments.open,
        "widthPixels": arguments.width,
        "heightPixels": arguments.height,
        **({"transparent": True} if arguments.transparent else {}),
    }
    try:
        build(arguments.stage, options)
        show(arguments.frame)
        loaded = time.monotonic()
        bpy.context.scene.render.filepath = str(arguments.out.resolve())
        bpy.ops.render.render(write_still=True)
        compose(arguments.frame, arguments.out)
    except StageError as error:
        print(error, file=sys.stderr)
        return 65
    took = {"loadSeconds": round(loaded - started, 2), "seconds": round(time.monotonic() - loaded, 2)}
    print(json.dumps({**summary(), **took, "blender": bpy.app.version_string.split(" ")[0]}), flush=True)
    os._exit(0)  # Blender's own end takes time and has been seen to hang


if __name__ == "__main__":
    sys.exit(main())
