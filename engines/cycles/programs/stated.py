"""What a job states of its pictures holds in every scene that a picture is made of, whatever animates it.

The compositor and the sequencer may show other scenes, which Blender renders by their own settings; keyframes and drivers set
settings anew with each frame.
"""

from __future__ import annotations

import re
from typing import Any, Iterator


from task import Failure, one_line, user_error

CYCLES = "CYCLES"
ENGINES = {"BLENDER_EEVEE_NEXT": "Eevee", "BLENDER_EEVEE": "Eevee", "BLENDER_WORKBENCH": "Workbench"}
# The bounds of metadata.resolution and metadata.samples; a scene's own values have them too.
MAX_EDGE_PIXELS, MAX_SAMPLES = 8192, 1 << 24
# What the job or the worker decides for every scene.
FIXED = (
    "denoiser",
    "use_auto_tile",
    "device",
    "denoising_use_gpu",
    "threads_mode",
    "threads",
    "compositor_device",
    "use_multiview",
    "use_stamp_hostname",
    "use_stamp_filename",
    "use_stamp_memory",
)


def shown(scene: Any) -> list[Any]:
    """The scene, and the others that its compositor and its sequencer render for it."""
    found = [scene]
    for each in found:
        others = [node.scene for tree in compositors(each) for node in tree.nodes if getattr(node, "scene", None)]
        editor = each.sequence_editor
        others += [strip.scene for strip in (editor.strips_all if editor else ()) if getattr(strip, "scene", None)]
        found += [other for other in dict.fromkeys(others) if other not in found]
    return found


def compositors(scene: Any) -> list[Any]:
    """The scene's compositing tree and the groups in it, each once."""
    trees = [scene.node_tree] if scene.node_tree else []
    for tree in trees:
        trees += [
            group
            for group in dict.fromkeys(getattr(node, "node_tree", None) for node in tree.nodes)
            if group and group not in trees
        ]
    return trees


def require_cycles(scenes: list[Any]) -> None:
    for scene in scenes:
        engine = scene.render.engine
        if engine != CYCLES:
            beside = "" if scene == scenes[0] else f", which “{one_line(scenes[0].name, 80)}” shows,"
            raise user_error(
                "RENDER_ENGINE_UNSUPPORTED",
                f"The scene “{one_line(scene.name, 80)}”{beside} renders with {ENGINES.get(engine, one_line(engine, 40))}; this "
                f"service renders with Cycles. In Blender choose "
                "Cycles under Render Properties, Render Engine, look at the materials and lights, save and submit again.",
            )


def require_bounds(scenes: list[Any]) -> None:
    """Refuses a size or samples that no request may state either."""
    for scene in scenes:
        width, height = size(scene)
        if max(width, height) > MAX_EDGE_PIXELS:
            raise beyond(
                scene,
                "PICTURE_TOO_LARGE",
                f"is {width:,} x {height:,} pixels large; at most {MAX_EDGE_PIXELS:,} an edge are rendered: state a smaller "
                f"metadata.resolution",
            )
        if (count := samples(scene)) > MAX_SAMPLES:
            raise beyond(
                scene,
                "TOO_MANY_SAMPLES",
                f"takes {count:,} samples a pixel; at most {MAX_SAMPLES:,} are taken: state fewer in metadata.samples",
            )


def beyond(scene: Any, code: str, what: str) -> Failure:
    return user_error(code, f"The scene “{one_line(scene.name, 80)}” {what}, or change the scene.")


def size(scene: Any) -> tuple[int, int]:
    render = scene.render
    return render.resolution_x * render.resolution_percentage // 100, render.resolution_y * render.resolution_percentage // 100


def samples(scene: Any) -> int:
    """Of a pixel, in the view layer that takes the most."""
    own, layers = scene.cycles.samples, [layer.samples for layer in scene.view_layers if layer.use and layer.samples]
    return max([own, *layers]) if scene.cycles.use_layer_samples == "USE" else own


def hold(scenes: list[Any], picture: dict[str, Any], threads: int) -> None:
    """Sets what the job states. It may be called as often as one likes; what is set already is left alone."""
    for scene in scenes:
        render, cycles = scene.render, scene.cycles
        if picture["widthPixels"]:
            put(render, resolution_x=picture["widthPixels"], resolution_y=picture["heightPixels"], resolution_percentage=100)
        if picture["samples"]:
            put(cycles, samples=picture["samples"])
            if cycles.use_layer_samples == "USE":
                cycles.use_layer_samples = "BOUNDED"  # a layer may take fewer
        if picture["denoise"] is not None:
            put(cycles, use_denoising=picture["denoise"])
        put(cycles, denoiser="OPENIMAGEDENOISE")  # the one that every worker has
        # Tiles would go through files of several gigabytes in the temporary folder, and the whole picture is put together in memory
        # anyway.
        put(cycles, use_auto_tile=False)
        put(render, threads_mode="FIXED", threads=threads)


def put(owner: Any, **members: Any) -> None:
    for name, value in members.items():
        if getattr(owner, name) != value:
            setattr(owner, name, value)


def unbind(scenes: list[Any], picture: dict[str, Any]) -> list[str]:
    """Takes keyframes and drivers off what the job or the worker decides, and returns which, in words: a value that is set is only
    good until Blender evaluates the next frame."""
    words = {*FIXED}
    if picture["samples"]:
        words |= {"samples", "use_layer_samples"}
    if picture["denoise"] is not None:
        words.add("use_denoising")
    if picture["widthPixels"]:
        words |= {"resolution_x", "resolution_y", "resolution_percentage"}
    removed = []
    for scene in scenes:
        for curves in animated(scene):
            for curve in [curve for curve in curves if last_word(curve.data_path) in words]:
                removed.append(f"{one_line(scene.name, 60)}, {one_line(curve.data_path, 60)}")
                curves.remove(curve)
    return removed


def last_word(path: str) -> str:
    """The property that a path ends with, however it is written: cycles.samples, cycles["samples"], ["cycles"]["samples"]."""
    found = re.findall(r"\w+", path)
    return found[-1] if found else ""


def animated(scene: Any) -> Iterator[Any]:
    """The collections of curves that animate a scene."""
    data = scene.animation_data
    if data is None:
        return
    yield data.drivers
    strips = [strip for track in data.nla_tracks for strip in track.strips]
    for strip in strips:  # a strip may hold others
        strips += list(strip.strips)
    actions = dict.fromkeys([data.action, *(strip.action for strip in strips)])
    for action in filter(None, actions):
        yield from (bag.fcurves for layer in action.layers for strip in layer.strips for bag in strip.channelbags)
