"""What happens to a picture between Cycles and its file: the opacity of glass is denoised, what is far away fades, and the
background is laid under it.

The background is not rendered, because the denoiser would change it: a page that is #ffffff must come out as #ffffff.
"""

from __future__ import annotations

from typing import Any

import bpy

from molecule_look import linear_color

# The denoiser and the pixel filter carry colour this far over an edge; farther away there is nothing but the background.
EDGE_PIXELS = 2
LEAST_OPACITY = 1e-3  # of a pixel whose distance counts


class Film:
    """The nodes that every frame of a scene passes. Cycles renders without a background; a transparent picture stays so."""

    def __init__(self, scene: bpy.types.Scene, transparent: bool, denoise: bool) -> None:
        self.denoise, self.scene = denoise, scene
        scene.use_nodes = True
        self.tree = scene.node_tree
        self.tree.nodes.clear()
        layers, self.opacity = self.node("RLayers"), self.node("SetAlpha")
        self.opacity.mode = "REPLACE_ALPHA"
        self.link(self.only_near_edges(layers), self.opacity.inputs["Image"])
        self.plain = layers.outputs["Alpha"]
        self.smooth = self.denoised(layers.outputs["Alpha"])
        picture = self.faded(self.opacity.outputs["Image"], layers)
        self.over = None
        if not transparent:
            self.over = self.node("AlphaOver")
            self.link(picture, self.over.inputs[2])
            picture = self.over.outputs["Image"]
        self.link(picture, self.node("Composite").inputs["Image"])
        self.translucent(False)

    def node(self, kind: str) -> Any:
        return self.tree.nodes.new(f"CompositorNode{kind}")

    def link(self, output: Any, socket: Any) -> None:
        self.tree.links.new(output, socket)

    def background(self, color: tuple[float, float, float]) -> None:
        """Sets the background, sRGB values between 0 and 1, of a picture that has one."""
        if self.over is not None:
            self.over.inputs[1].default_value = (*linear_color(color), 1.0)

    def translucent(self, seen: bool) -> None:
        """Says whether glass or a shadow on nothing is seen: only then is the opacity noisy, which Cycles' own denoising leaves as
        it is."""
        self.link(self.smooth if seen and self.denoise else self.plain, self.opacity.inputs["Alpha"])

    def faded(self, picture: Any, layers: Any) -> Any:
        """The picture with as much taken from it, colour and opacity alike, as its distance says."""
        self.scene.view_layers[0].use_pass_mist = True
        self.scene.world.mist_settings.falloff = "LINEAR"
        # The pass has 1 where nothing is seen: at an edge it is taken back by the pixel's opacity.
        opacity = self.math("MAXIMUM", layers.outputs["Alpha"], LEAST_OPACITY)
        clear = self.math("DIVIDE", self.math("SUBTRACT", 1.0, layers.outputs["Mist"]), opacity)
        far = self.math("SUBTRACT", 1.0, self.math("MINIMUM", clear, 1.0))
        # 3 x² − 2 x³, as the raster tier has it.
        curved = self.math("MULTIPLY", self.math("MULTIPLY", far, far), self.math("SUBTRACT", 3.0, self.math("MULTIPLY", far, 2.0)))
        self.fogged = self.node("Math")
        self.fogged.operation = "MULTIPLY"
        self.link(curved, self.fogged.inputs[0])
        fade = self.node("SetAlpha")
        fade.mode = "APPLY"
        self.link(picture, fade.inputs["Image"])
        self.link(self.math("SUBTRACT", 1.0, self.fogged.outputs["Value"]), fade.inputs["Alpha"])
        return fade.outputs["Image"]

    def fog(self, between: tuple[float, float] | None) -> None:
        """Sets between which distances from the camera, in Å, things fade; None where nothing does."""
        self.fogged.inputs[1].default_value = 0.0 if between is None else 1.0
        if between is not None:
            mist = self.scene.world.mist_settings
            mist.start, mist.depth = between[0], between[1] - between[0]

    def math(self, operation: str, *operands: Any) -> Any:
        """The output of a node that calculates with numbers and outputs of other nodes."""
        node = self.node("Math")
        node.operation = operation
        for socket, operand in zip(node.inputs, operands):
            if isinstance(operand, float):
                socket.default_value = operand
            else:
                self.link(operand, socket)
        return node.outputs["Value"]

    def only_near_edges(self, layers: Any) -> Any:
        """The light of the picture, and exactly none where nothing is seen or near."""
        self.near = self.near_things(layers.outputs["Alpha"])
        cut = self.node("MixRGB")
        cut.blend_type = "MULTIPLY"
        cut.inputs[0].default_value = 1.0
        self.link(layers.outputs["Image"], cut.inputs[1])
        self.link(self.near, cut.inputs[2])
        return cut.outputs["Image"]

    def near_things(self, alpha: Any) -> Any:
        """1 where something is seen at most EDGE_PIXELS away, else 0."""
        seen, wider = self.node("Math"), self.node("DilateErode")
        seen.operation = "GREATER_THAN"
        seen.inputs[1].default_value = 0.0
        wider.mode, wider.distance = "STEP", EDGE_PIXELS
        self.link(alpha, seen.inputs[0])
        self.link(seen.outputs["Value"], wider.inputs["Mask"])
        return wider.outputs["Mask"]

    def denoised(self, alpha: Any) -> Any:
        smooth, cut = self.node("Denoise"), self.node("Math")
        smooth.use_hdr = False
        cut.operation = "MULTIPLY"
        cut.use_clamp = True
        self.link(alpha, smooth.inputs["Image"])
        self.link(smooth.outputs["Image"], cut.inputs[0])
        self.link(self.near, cut.inputs[1])
        return cut.outputs["Value"]
