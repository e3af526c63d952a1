"""The look of ray-traced molecules: materials by what a part shows, and light that stands around the camera.

The measure of all numbers here: a colour of the scene, lit from the front, comes out as that colour (view transform
Standard, no filmic curve), white on the brightest side stays just below white, and the darkest fold stays readable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

from molecule_stage import Part

COLOR_ATTRIBUTE = "molecule"

GLOSSY_COMPONENTS = frozenset(("ligand", "ion", "carbohydrate", "branched"))
GLOSSY_TYPES = frozenset(("ball_and_stick", "line", "carbohydrate"))
SURFACE_TYPES = ("surface", "isosurface", "volume")

# Light of the surroundings from above and from below the picture, as radiance: a white body in the open has that value.
SKY, GROUND = 0.40, 0.24
# What of it mirrors: all of it would lay a grey veil over pure colours.
MIRRORED = 0.4
# A dim surface of glass must not vanish where it is seen along its own plane: there its opacity rises to this much more.
GLASS_EDGE = 0.5
# What remains of the opacity of those sheets of a folded surface that lie behind its first one, so that they do not clutter the
# inside.
GLASS_REAR = 0.35
REAR_PROPERTY = "molecule_rear"
# The floor reaches so many times as far as what stands on it, and its shadows fade from the second part of that on.
FLOOR_REACH, FLOOR_FADES, FLOOR_CORNERS = 3.0, 0.3, 96
# Ambient occlusion: a place is darkened, up to this part, by how much of the sky things take from it that lie nearer than this.
# What a surface in the open loses to its own neighbours does not count.
OCCLUSION_ANGSTROM, OCCLUSION_PART, OCCLUSION_SAMPLES = 7.0, 0.8, 6
OPEN_PART = 0.15
OCCLUSION_NODE = "occlusion"


@dataclass(frozen=True)
class Finish:
    """Roughness and specular are those of Blender's Principled shader; coat is a thin clear lacquer over it."""

    name: str
    roughness: float
    specular: float
    coat: float


MATTE = Finish("matte", 0.42, 0.30, 0.0)
SATIN = Finish("satin", 0.38, 0.35, 0.0)
GLOSSY = Finish("glossy", 0.25, 0.45, 0.15)
GLASS = Finish("glass", 0.30, 0.20, 0.0)


@dataclass(frozen=True)
class Lamp:
    """A distant lamp. Turned: degrees it stands to the right of the camera and above it. angle: degrees of its disc, which softens
    shadows."""

    name: str
    right: float
    above: float
    strength: float
    angle: float


LAMPS = (
    Lamp("key", -38.0, 42.0, 2.1, 32.0),
    Lamp("fill", 48.0, 8.0, 0.40, 60.0),
    Lamp("rim", 150.0, 35.0, 0.9, 16.0),
)


def finish_of(part: Part, translucent: bool) -> Finish:
    """The finish of a part: glass for what can be seen through, lacquer for small molecules, satin for atoms and surfaces, matte
    for chains."""
    if translucent:
        return GLASS
    if part.component in GLOSSY_COMPONENTS or part.type in GLOSSY_TYPES:
        return GLOSSY
    if part.type == "spacefill" or any(name in part.type for name in SURFACE_TYPES):
        return SATIN
    return MATTE


def material_of(finish: Finish) -> bpy.types.Material:
    """The material of a finish, made at its first use. Its colour and opacity are those of the mesh's vertices."""
    name = f"molecule {finish.name}"
    if (made := bpy.data.materials.get(name)) is not None:
        return made
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    color = tree.nodes.new("ShaderNodeAttribute")
    color.attribute_name = COLOR_ATTRIBUTE
    body = tree.nodes.new("ShaderNodeBsdfPrincipled")
    body.inputs["Roughness"].default_value = finish.roughness
    body.inputs["Specular IOR Level"].default_value = finish.specular
    body.inputs["Coat Weight"].default_value = finish.coat
    body.inputs["Coat Roughness"].default_value = 0.08
    tree.links.new(occluded(tree, color.outputs["Color"]), body.inputs["Base Color"])
    shader = body.outputs["BSDF"]
    if finish is GLASS:
        shader = see_through(tree, shader, color.outputs["Alpha"])
    tree.links.new(shader, output.inputs["Surface"])
    return material


def occluded(tree: Any, color: Any) -> Any:
    """A colour that is darker in folds and pockets, as far as set_occlusion says."""
    around, part = tree.nodes.new("ShaderNodeAmbientOcclusion"), tree.nodes.new("ShaderNodeValue")
    around.samples = OCCLUSION_SAMPLES
    around.inputs["Distance"].default_value = OCCLUSION_ANGSTROM
    part.name = OCCLUSION_NODE
    hidden = math_node(tree, "MAXIMUM", math_node(tree, "SUBTRACT", 1.0 - OPEN_PART, around.outputs["AO"]), 0.0)
    shade = math_node(tree, "SUBTRACT", 1.0, math_node(tree, "MULTIPLY", hidden, part.outputs["Value"]))
    darker = tree.nodes.new("ShaderNodeVectorMath")
    darker.operation = "SCALE"
    tree.links.new(color, darker.inputs[0])
    tree.links.new(shade, darker.inputs["Scale"])
    return darker.outputs["Vector"]


def set_occlusion(on: bool) -> None:
    """Switches the ambient occlusion of all materials that have been made."""
    for material in bpy.data.materials:
        if material.use_nodes and (part := material.node_tree.nodes.get(OCCLUSION_NODE)) is not None:
            part.outputs["Value"].default_value = OCCLUSION_PART if on else 0.0


def see_through(tree: Any, body: Any, opacity: Any) -> Any:
    """Mixes a body with nothing by its opacity, more of it where the surface turns away, and none of it on the side that faces
    away.

    Drawing only the near side, as the raster tier does, keeps a shell of opacity 0.25 from being two shells of 0.44.
    """
    geometry, facing = tree.nodes.new("ShaderNodeNewGeometry"), tree.nodes.new("ShaderNodeLayerWeight")
    facing.inputs["Blend"].default_value = 0.5
    edge = math_node(tree, "POWER", facing.outputs["Facing"], 3.0)
    rise = math_node(tree, "MULTIPLY", edge, GLASS_EDGE)
    room = math_node(tree, "SUBTRACT", 1.0, opacity)
    raised = math_node(tree, "MULTIPLY_ADD", rise, room, opacity)
    front = math_node(tree, "SUBTRACT", 1.0, geometry.outputs["Backfacing"])
    shown = math_node(tree, "MULTIPLY", math_node(tree, "MULTIPLY", raised, front), behind_first(tree))
    nothing, mix = tree.nodes.new("ShaderNodeBsdfTransparent"), tree.nodes.new("ShaderNodeMixShader")
    tree.links.new(shown, mix.inputs[0])
    tree.links.new(nothing.outputs["BSDF"], mix.inputs[1])
    tree.links.new(body, mix.inputs[2])
    return mix.outputs["Shader"]


def behind_first(tree: Any) -> Any:
    """1 at the first sheet that a ray meets, and at the others what the object's property says."""
    path, rear = tree.nodes.new("ShaderNodeLightPath"), tree.nodes.new("ShaderNodeAttribute")
    rear.attribute_type, rear.attribute_name = "OBJECT", REAR_PROPERTY
    first = math_node(tree, "LESS_THAN", path.outputs["Transparent Depth"], 0.5)
    return math_node(tree, "MAXIMUM", first, rear.outputs["Fac"])


def math_node(tree: Any, operation: str, *operands: Any) -> Any:
    """The output of a node that calculates with numbers and outputs of other nodes."""
    node = tree.nodes.new("ShaderNodeMath")
    node.operation = operation
    for socket, operand in zip(node.inputs, operands):
        if isinstance(operand, float):
            socket.default_value = operand
        else:
            tree.links.new(operand, socket)
    return node.outputs["Value"]


def add_lamps(scene: bpy.types.Scene, camera: bpy.types.Object) -> None:
    """Lamps that are fixed to the camera, so that the shading of a turntable stays as it is while the molecule turns."""
    for lamp in LAMPS:
        light = bpy.data.lights.new(lamp.name, "SUN")
        light.energy, light.angle = lamp.strength, math.radians(lamp.angle)
        thing = bpy.data.objects.new(lamp.name, light)
        # A lamp shines along its own -z, which is where the camera looks.
        thing.rotation_euler = Euler((math.radians(-lamp.above), math.radians(lamp.right), 0.0), "XYZ")
        thing.parent = camera
        scene.collection.objects.link(thing)


class Surroundings:
    """The world: light from all around, more of it from above the picture than from below. The camera does not see it."""

    def __init__(self, scene: bpy.types.Scene) -> None:
        world = bpy.data.worlds.new("molecule")
        scene.world = world
        world.use_nodes = True
        # A smooth sky is found well enough by light that bounces; its own map of directions would be made anew for every frame.
        world.cycles.sampling_method = "NONE"
        tree = world.node_tree
        tree.nodes.clear()
        output, sky = tree.nodes.new("ShaderNodeOutputWorld"), tree.nodes.new("ShaderNodeBackground")
        tree.links.new(self.sky_strength(tree), sky.inputs["Strength"])
        tree.links.new(sky.outputs["Background"], output.inputs["Surface"])

    def sky_strength(self, tree: Any) -> Any:
        direction, self.up = tree.nodes.new("ShaderNodeTexCoord"), tree.nodes.new("ShaderNodeVectorMath")
        self.up.operation = "DOT_PRODUCT"
        tree.links.new(direction.outputs["Generated"], self.up.inputs[0])
        height = math_node(tree, "MULTIPLY_ADD", self.up.outputs["Value"], 0.5, 0.5)
        strength = math_node(tree, "MULTIPLY_ADD", height, SKY - GROUND, GROUND)
        path = tree.nodes.new("ShaderNodeLightPath")
        return math_node(
            tree, "MULTIPLY", strength, math_node(tree, "MULTIPLY_ADD", path.outputs["Is Glossy Ray"], MIRRORED - 1.0, 1.0)
        )

    def turn(self, camera: Matrix) -> None:
        """Sets above to be the camera's above."""
        self.up.inputs[1].default_value = camera.to_3x3().col[1]


def linear_color(color: tuple[float, float, float]) -> tuple[float, ...]:
    """The linear values of sRGB ones between 0 and 1 (IEC 61966-2-1)."""
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color)


class Floor:
    """A floor below what is shown, square to the picture's up, of which nothing is seen but the shadows on it."""

    def __init__(self, scene: bpy.types.Scene) -> None:
        turn = np.arange(FLOOR_CORNERS) * 2 * math.pi / FLOOR_CORNERS
        disc = np.stack((np.cos(turn), np.sin(turn), np.zeros(FLOOR_CORNERS)), axis=1)
        mesh = bpy.data.meshes.new("floor")
        mesh.from_pydata(disc.tolist(), [], [list(range(FLOOR_CORNERS))])
        self.thing = bpy.data.objects.new("floor", mesh)
        self.thing.is_shadow_catcher = True
        mesh.materials.append(fading())
        scene.collection.objects.link(self.thing)
        self.scene = scene

    def lay(self, camera: Matrix) -> None:
        """Puts the floor right below everything, as the camera has below."""
        things = [thing for thing in self.scene.objects if thing.type == "MESH" and thing is not self.thing]
        if not things:
            return
        up = camera.to_3x3().col[1].normalized()
        corners = np.array([thing.matrix_world @ Vector(corner) for thing in things for corner in thing.bound_box])
        middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
        reach = float(np.linalg.norm(corners - middle, axis=1).max())
        below = lowest(things, np.array(up)) - float(middle @ np.array(up))
        turn = up.to_track_quat("Z", "Y").to_matrix().to_4x4()
        self.thing.matrix_world = Matrix.Translation(Vector(middle) + below * up) @ turn @ Matrix.Scale(FLOOR_REACH * reach, 4)


def lowest(things: list[bpy.types.Object], up: np.ndarray) -> float:
    """How far down the lowest vertex lies, along a direction that is up."""
    found, places = math.inf, dict[str, np.ndarray]()
    for thing in things:
        if thing.data.name not in places:
            flat = np.empty(3 * len(thing.data.vertices), np.float32)
            thing.data.vertices.foreach_get("co", flat)
            places[thing.data.name] = flat.reshape(-1, 3)
        matrix = np.array(thing.matrix_world)
        found = min(found, float((places[thing.data.name] @ (matrix[:3, :3].T @ up)).min() + matrix[:3, 3] @ up))
    return found


def fading() -> bpy.types.Material:
    """The material of the floor, less of it towards its edge, so that no shadow ends there."""
    material = bpy.data.materials.new("molecule floor")
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    place, length = tree.nodes.new("ShaderNodeTexCoord"), tree.nodes.new("ShaderNodeVectorMath")
    length.operation = "LENGTH"
    tree.links.new(place.outputs["Object"], length.inputs[0])
    beyond = math_node(tree, "SUBTRACT", length.outputs["Value"], FLOOR_FADES)
    share = math_node(tree, "MINIMUM", math_node(tree, "MAXIMUM", math_node(tree, "DIVIDE", beyond, 1 - FLOOR_FADES), 0.0), 1.0)
    body, nothing, mix = (tree.nodes.new(f"ShaderNode{kind}") for kind in ("BsdfDiffuse", "BsdfTransparent", "MixShader"))
    tree.links.new(share, mix.inputs[0])
    tree.links.new(body.outputs["BSDF"], mix.inputs[1])
    tree.links.new(nothing.outputs["BSDF"], mix.inputs[2])
    tree.links.new(mix.outputs["Shader"], tree.nodes.new("ShaderNodeOutputMaterial").inputs["Surface"])
    return material
