"""The figures of an analysis, as SVG and PNG: the same bytes for the same values, with text as outlines.

Colours are Okabe and Ito's, told apart by everybody. Each figure stands in one column and a half of a page, 140 mm.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402  # after the choice of the backend
import numpy as np  # noqa: E402
from matplotlib.ticker import MaxNLocator, ScalarFormatter  # noqa: E402

BLUE, SKY, VERMILION, GREY, INK = "#0072b2", "#9cc9e6", "#d55e00", "#6b7580", "#1a1f26"
WIDTH_IN, HEIGHT_IN, DPI = 5.5, 2.5, 240
# With more values, a curve is drawn as the lowest and the highest in each of so many stretches: all that ink can show.
MAX_STRETCHES = 1200
# The part of a run that a running mean is over.
WINDOW_PART = 0.04
# Fewer values have no distribution worth drawing, and no running mean.
LEAST_FOR_DISTRIBUTION = 30
MAX_NAMED_RESIDUES = 14

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "axes.unicode_minus": True,
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "molfabric",
    "path.simplify": False,
}


class Curve(NamedTuple):
    """A quantity over time. times_ps and values have the shape (n,)."""

    label: str  # of the axis, with the unit
    times_ps: np.ndarray
    values: np.ndarray
    mean: str  # mean and its error, written
    target: float | None = None
    target_label: str = ""
    from_zero: bool = False  # the axis begins at 0


class Figure(NamedTuple):
    svg: bytes
    png: bytes
    text: str  # what it shows, for those who do not see it


def drawn(draw: Callable[[Any], None], height_in: float, text: str) -> Figure:
    """Draws on a new figure and renders it twice."""
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(WIDTH_IN, height_in), layout="constrained")
        try:
            draw(figure)
            svg, png = io.BytesIO(), io.BytesIO()
            figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
            figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
        finally:
            plt.close(figure)
    return Figure(svg.getvalue(), png.getvalue(), text)


def over_time(curves: Sequence[Curve], text: str, start_ps: float = 0.0) -> Figure:
    """Quantities over time, one below the other, each with its running mean and its distribution at the side. The axis begins at
    start_ps."""
    return drawn(lambda figure: draw_curves(figure, curves, start_ps), HEIGHT_IN + 1.35 * (len(curves) - 1), text)


def draw_curves(figure: Any, curves: Sequence[Curve], start_ps: float) -> None:
    panels = figure.subplots(
        len(curves), 2, squeeze=False, sharex="col", sharey="row", gridspec_kw={"width_ratios": [1, 0.13], "wspace": 0.02}
    )
    scale, unit = time_unit(max(float(curve.times_ps[-1]) for curve in curves))
    window_ps = 0.0
    for curve, (main, side) in zip(curves, panels):
        times, several = curve.times_ps / scale, len(curve.values) >= LEAST_FOR_DISTRIBUTION
        main.plot(
            *thinned(times, curve.values),
            color=SKY if several else BLUE,
            linewidth=0.6 if several else 0.9,
            marker="" if several else "o",
            markersize=2.5,
        )
        if several:
            width = max(round(WINDOW_PART * len(times)) // 2, 1)
            window_ps = (2 * width + 1) * float(curve.times_ps[-1] - curve.times_ps[0]) / (len(times) - 1)
            main.plot(*thinned(times, running_mean(curve.values, width)), color=BLUE, linewidth=1.3, solid_joinstyle="round")
            draw_distribution(side, curve.values)
        if curve.target is not None:
            main.axhline(curve.target, color=VERMILION, linewidth=1, dashes=(4, 2.5), zorder=3)
        main.set_ylabel(curve.label)
        main.set_title(curve.mean, loc="right", color=GREY, pad=5)
        dress(main, side)
        main.set_xlim(start_ps / scale, max(float(times[-1]), start_ps / scale + 1e-9))
        if curve.from_zero:
            main.set_ylim(0, max(float(curve.values.max()) * 1.08, 1e-3))
    panels[-1, 0].set_xlabel(f"Time ({unit})")
    panels[0, 0].set_title(legend(window_ps / scale, unit, curves[0].target_label), loc="left", color=GREY, pad=5)


def time_unit(longest_ps: float) -> tuple[float, str]:
    for scale, unit in ((1e6, "µs"), (1e3, "ns")):
        if longest_ps >= 2 * scale:
            return scale, unit
    return 1.0, "ps"


def legend(window: float, unit: str, target: str) -> str:
    parts = [f"dark line: {window:.2g} {unit} mean"] if window else []
    return "; ".join(parts + ([f"dashed: {target}"] if target else []))


class Separated(ScalarFormatter):
    """Numbers in full, with separators between thousands from five digits on."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        written = super().__call__(x, pos)
        whole, point, rest = written.lstrip("\u2212-").partition(".")
        return written if len(whole) < 5 else written[: len(written) - len(whole + point + rest)] + f"{int(whole):,}{point}{rest}"


def dress(main: Any, side: Any) -> None:
    """What every pair of panels has: few ticks, no offset that hides the numbers, and a side without an axis."""
    main.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    main.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    main.yaxis.set_major_formatter(Separated(useOffset=False))
    main.margins(y=0.08)
    side.axis("off")


def draw_distribution(side: Any, values: np.ndarray) -> None:
    counts, edges = np.histogram(values, bins=min(max(round(math.sqrt(len(values))), 8), 40))
    side.stairs(counts, edges, orientation="horizontal", fill=True, color=SKY, linewidth=0)
    side.hlines(float(values.mean()), 0, counts.max(), color=BLUE, linewidth=1.3)
    side.set_xlim(0, counts.max() * 1.05)


def thinned(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest of each stretch, in their order; all values where they are few."""
    if len(values) <= 2 * MAX_STRETCHES:
        return times, values
    kept = [0, len(values) - 1]
    for stretch in np.array_split(np.arange(len(values)), MAX_STRETCHES):
        kept += [int(stretch[values[stretch].argmin()]), int(stretch[values[stretch].argmax()])]
    order = np.unique(kept)
    return times[order], values[order]


def running_mean(values: np.ndarray, width: int) -> np.ndarray:
    """Mean over width values on both sides, as far as there are any, of values of shape (n,)."""
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    places = np.arange(len(values))
    first, end = np.maximum(places - width, 0), np.minimum(places + width + 1, len(values))
    return (sums[end] - sums[first]) / (end - first) + values.mean()


class Place(NamedTuple):
    """A residue on the axis of a figure: its chain, its author's number, and what to write where there are few."""

    chain: str
    number: str
    name: str


def per_residue(places: Sequence[Place], rmsf: np.ndarray, label: str, text: str) -> Figure:
    """RMSF in nm along the chains, a line each. rmsf has the shape of places."""
    return drawn(lambda figure: draw_residues(figure.subplots(), places, rmsf, label), HEIGHT_IN, text)


def draw_residues(axes: Any, places: Sequence[Place], rmsf: np.ndarray, label: str) -> None:
    starts = [i for i, place in enumerate(places) if i == 0 or place.chain != places[i - 1].chain]
    ends = [*starts[1:], len(places)]
    gap = max(len(places) // 40, 1) if len(starts) > 1 else 0
    x = np.arange(len(places)) + gap * (np.searchsorted(starts, np.arange(len(places)), side="right") - 1)
    few = len(places) <= MAX_NAMED_RESIDUES
    for number, (start, end) in enumerate(zip(starts, ends)):
        if few:
            axes.vlines(x[start:end], 0, rmsf[start:end], color=SKY, linewidth=2)
            axes.plot(x[start:end], rmsf[start:end], "o", color=BLUE, markersize=4.5)
        else:
            axes.fill_between(x[start:end], 0, rmsf[start:end], color=SKY, alpha=0.45, linewidth=0)
            axes.plot(
                x[start:end], rmsf[start:end], color=BLUE, linewidth=1.2, marker="o" if end - start == 1 else "", markersize=2.5
            )
        if len(starts) > 1 and len(starts) <= 8:
            middle = (x[start] + x[end - 1]) / 2
            axes.text(
                middle,
                1.01,
                f"chain {places[start].chain or number + 1}",
                transform=axes.get_xaxis_transform(),
                ha="center",
                va="bottom",
                color=GREY,
            )
    ticks = range(len(places)) if few else round_ticks(places, starts, ends)
    axes.set_xticks([x[i] for i in ticks], [f"{places[i].name}\n{places[i].number}" if few else places[i].number for i in ticks])
    axes.set_xlabel("Residue")
    axes.set_ylabel(label)
    axes.set_ylim(0, max(float(rmsf.max()) * 1.1, 1e-3))
    axes.set_xlim(x[0] - (0.6 if few else 0), x[-1] + (0.6 if few else 0))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def round_ticks(places: Sequence[Place], starts: list[int], ends: list[int]) -> list[int]:
    """Residues with round numbers, about a dozen in all and none nearer to a chain's end than half a distance; without any, the
    first of each chain."""
    distance = next((d for d in (5, 10, 20, 25, 50, 100, 200, 500, 1000) if len(places) / d <= 12), 5000)
    ticks = []
    for start, end in zip(starts, ends):
        found = [i for i in range(start, end) if (number := as_number(places[i].number)) is not None and number % distance == 0]
        ticks += found or [start]
    return ticks[: 4 * 12]


def as_number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
