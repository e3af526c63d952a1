"""Pictures of a predicted protein's confidence: pLDDT along the chains, PAE of all pairs, and the trace of its backbone. Each is
the same to the byte for the same scores."""

from __future__ import annotations

import io
from typing import Any, Callable, NamedTuple

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection

STYLE = {"font.family": "DejaVu Sans", "font.size": 9, "svg.hashsalt": "molfabric", "svg.fonttype": "none",
         "axes.spines.top": False, "axes.spines.right": False}  # fmt: skip
DPI = 120
WIDTH_IN = 6.4
MOST_PAE_ANGSTROM = 31.75
# Bands of pLDDT with the colours and names of the AlphaFold database, from the top.
BANDS = ((90.0, "#0053d6", "very high"), (70.0, "#65cbf3", "confident"), (50.0, "#ffdb13", "low"), (0.0, "#ff7d45", "very low"))


class Figure(NamedTuple):
    svg: bytes
    png: bytes


def color_of(plddt: float) -> str:
    """The colour of a pLDDT from 0 to 100."""
    return next(color for least, color, _ in BANDS if plddt >= least or least == 0)


def drawn(draw: Callable[[Any], None], height_in: float, note: str) -> Figure:
    """Draws on a new figure and renders it twice. note stands above it in red; "" for none."""
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(WIDTH_IN, height_in), layout="constrained")
        try:
            if note:
                figure.suptitle(note, color="#b00020", fontsize=9)
            draw(figure)
            svg, png = io.BytesIO(), io.BytesIO()
            figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
            figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
        finally:
            plt.close(figure)
    return Figure(svg.getvalue(), png.getvalue())


def borders(scores: dict[str, Any]) -> list[int]:
    """Where one chain ends and the next begins, in residues of all chains together."""
    return list(np.cumsum([len(chain["sequence"]) for chain in scores["chains"]])[:-1])


def plddt_figure(scores: dict[str, Any], note: str) -> Figure:
    values = np.array(scores["plddt"])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (least, color, name), top in zip(BANDS, (100.0, 90.0, 70.0, 50.0)):
            axes.axhspan(least, top, color=color, alpha=0.25, lw=0, label=name)
        axes.plot(np.arange(1, len(values) + 1), values, color="#20242a", lw=1)
        for border in borders(scores):
            axes.axvline(border + 0.5, color="#20242a", lw=0.8, ls="--")
        axes.set(xlim=(0.5, len(values) + 0.5), ylim=(0, 100), xlabel="residue, chains one after the other", ylabel="pLDDT")
        axes.legend(loc="lower left", fontsize=7, ncols=4, framealpha=0.8)

    return drawn(draw, 2.6, note)


def pae_figure(scores: dict[str, Any], note: str) -> Figure:
    values = np.array(scores["paeAngstrom"])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        extent = (0.5, len(values) + 0.5, len(values) + 0.5, 0.5)
        shown = axes.imshow(values, cmap="Greens_r", vmin=0, vmax=MOST_PAE_ANGSTROM, extent=extent, interpolation="nearest")
        for border in borders(scores):
            axes.axvline(border + 0.5, color="#20242a", lw=0.6)
            axes.axhline(border + 0.5, color="#20242a", lw=0.6)
        axes.set(xlabel="scored residue", ylabel="aligned residue")
        figure.colorbar(shown, ax=axes, label="expected position error, Å")

    return drawn(draw, 4.8, note)


def trace_figure(places: np.ndarray, plddt: np.ndarray, chains: list[str], note: str) -> Figure:
    """The C-alpha trace [N, 3] in Å along its longest directions, coloured by pLDDT [N]; what is near lies on top."""
    centred = places - places.mean(axis=0)
    axes_of = np.linalg.svd(centred, full_matrices=False)[2]
    # The sign of a principal axis is free: the first residue lies to the left and below, so that one structure has one picture.
    turned = centred @ axes_of.T
    turned *= np.where(turned[0] > 0, -1, 1)
    joined = [i for i in range(len(places) - 1) if chains[i] == chains[i + 1]]
    joined.sort(key=lambda i: turned[i, 2] + turned[i + 1, 2])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        lines = [turned[i : i + 2, :2] for i in joined]
        axes.add_collection(LineCollection(lines, colors="#ffffff", linewidths=5, capstyle="round"))
        axes.add_collection(LineCollection(lines, colors=[color_of(plddt[i]) for i in joined], linewidths=3, capstyle="round"))
        axes.autoscale()
        axes.set_aspect("equal")
        axes.axis("off")

    return drawn(draw, 3.6, note)


def coverage_figure(rows: np.ndarray, same: np.ndarray, note: str) -> Figure:
    """An alignment: rows [M, N] tells where each sequence covers the protein, same [M] which share of that is equal to it. The
    first row is the protein's own."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        order = np.argsort(same, kind="stable")
        shown = np.where(rows[order], same[order, None], np.nan)
        extent = (0.5, rows.shape[1] + 0.5, 0, len(rows))
        drawn_rows = axes.imshow(shown, cmap="viridis", vmin=0, vmax=1, extent=extent, aspect="auto", origin="lower",
                                 interpolation="nearest")  # fmt: skip
        axes.plot(np.arange(1, rows.shape[1] + 1), rows.sum(axis=0), color="#20242a", lw=1)
        axes.set(xlabel="residue, chains one after the other", ylabel="sequences", ylim=(0, max(len(rows), 2)))
        figure.colorbar(drawn_rows, ax=axes, label="identity with the protein")

    return drawn(draw, 2.8, note)
