"""The figures of the docking report, as SVG text: the scores' histogram and drawings of molecules."""

from __future__ import annotations

import math
import re
import statistics
from html import escape

from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

MAX_BINS = 32
LEAST_BINS = 20  # allowed, so that a few ligands show as the single ones they are
BIN_STEPS = [0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0]  # kcal/mol
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1056, 320, 54, 16, 66, 50
LABEL_CHAR_WIDTH = 6.6  # of the chart's 12 px type, on average

DRAWING_WIDTH, DRAWING_HEIGHT = 200, 140
BOND_LENGTH = 17.0  # in all drawings, unless the molecule is too large for it
# RDKit draws in colours that stand for classes of the style sheet, which has shades for light, dark and paper.
ATOM_CLASSES = {"#000000": "k", "#0000ff": "n", "#ff0000": "o", "#cccc00": "s", "#00cc00": "x", "#ff7f00": "p"}
ATOM_COLOURS = {-1: (0.0, 0.0, 0.0), 7: (0.0, 0.0, 1.0), 8: (1.0, 0.0, 0.0), 16: (0.8, 0.8, 0.0), 15: (1.0, 0.5, 0.0)} | {
    halogen: (0.0, 0.8, 0.0) for halogen in (9, 17, 35, 53)
}
SHAPE = re.compile(r"<(path|ellipse|polygon)\s[^>]*?/>")


def bin_counts(scores: list[float]) -> tuple[float, int, list[int]]:
    """Width of a bin in kcal/mol, number of the first bin (its lower edge divided by the width), and ligands in each."""
    low, high = min(scores), max(scores)
    for step in BIN_STEPS:
        first, last = math.floor(low / step + 1e-9), math.floor(high / step + 1e-9)
        if last - first < min(MAX_BINS, max(LEAST_BINS, 2 * math.isqrt(len(scores)) + 4)):
            break
    counts = [0] * max(min(last - first + 1, MAX_BINS), 1)
    for score in scores:
        counts[min(math.floor(score / step + 1e-9) - first, len(counts) - 1)] += 1
    return step, first, counts


def tick_step(most: float, ticks: int) -> float:
    """A round distance so that at most so many ticks reach from 0 to most."""
    rough = most / ticks
    power = 10 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough - 1e-12)


def minus(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


class Chart:
    """Coordinates of the histogram and the SVG written so far."""

    def __init__(self, step: float, first: int, counts: list[int]) -> None:
        self.step, self.first, self.counts = step, first, counts
        self.unit = max(1, round(tick_step(max(counts), 4)))
        self.most = self.unit * math.ceil(max(counts) / self.unit)
        self.parts: list[str] = []

    def x(self, score: float) -> float:
        return LEFT + (score / self.step - self.first) / len(self.counts) * (WIDTH - LEFT - RIGHT)

    def y(self, count: float) -> float:
        return HEIGHT - BOTTOM - count / self.most * (HEIGHT - TOP - BOTTOM)

    def line(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def text(self, x: float, y: float, anchor: str, text: str, kind: str = "") -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" '
            f'text-anchor="{anchor}"{kind and f" class={chr(34)}{kind}{chr(34)}"}>{escape(text)}</text>'
        )

    def axes(self) -> None:
        for count in range(0, self.most + 1, self.unit):
            self.line("grid" if count else "axis", LEFT, self.y(count), WIDTH - RIGHT, self.y(count))
            self.text(LEFT - 8, self.y(count) + 4, "end", f"{count:,}")
        every = math.ceil(len(self.counts) / 11)
        digits = next(
            digits for digits in range(3) if abs(self.step * every * 10**digits - round(self.step * every * 10**digits)) < 1e-6
        )
        base = self.y(0)
        for number in range(len(self.counts) + 1):
            edge = (self.first + number) * self.step
            if (self.first + number) % every == 0:
                self.line("axis", self.x(edge), base, self.x(edge), base + 5)
                self.text(self.x(edge), base + 20, "middle", minus(edge, digits))
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", "Score of the best pose (kcal/mol)")
        self.parts.append(f'<text transform="translate(13 {(TOP + base) / 2:.0f}) rotate(-90)" text-anchor="middle">Ligands</text>')

    def bars(self) -> None:
        for number, count in enumerate(self.counts):
            low, high = (self.first + number) * self.step, (self.first + number + 1) * self.step
            if count:
                left, top = self.x(low) + 0.75, self.y(count)
                title = f"<title>{minus(low, 2)} to {minus(high, 2)} kcal/mol: {count:,}</title>"
                self.parts.append(
                    f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" width="{self.x(high) - left - 0.75:.1f}" '
                    f'height="{self.y(0) - top:.1f}">{title}</rect>'
                )

    def marks(self, figures: list[tuple[str, float, str]]) -> None:
        """Lines at scores, each label in a row of its own, on the side where no line of an earlier row crosses it."""
        earlier: list[float] = []
        for row, (name, score, kind) in enumerate(figures):
            x, y, label = self.x(score), 14 + 17 * row, f"{name} {minus(score, 2)}"
            width = 6 + LABEL_CHAR_WIDTH * len(label)
            right = x + width < WIDTH and not any(x < other < x + width for other in earlier)
            self.line(f"mark {kind}".strip(), x, y - 9, x, self.y(0))
            self.text(x + (6 if right else -6), y, "start" if right else "end", label, "say")
            earlier.append(x)


def histogram(scores: list[float]) -> str:
    """The distribution of scores in kcal/mol as an SVG, best, median and mean marked. scores must not be empty."""
    chart = Chart(*bin_counts(scores))
    chart.axes()
    chart.bars()
    best, median, mean = min(scores), statistics.median(scores), statistics.fmean(scores)
    chart.marks([("best", best, ""), ("median", median, "dash"), ("mean", mean, "dot")])
    label = (
        f"Histogram of the best scores of {len(scores):,} ligands: best {best:.2f}, median {median:.2f}, mean {mean:.2f} kcal/mol"
    )
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(chart.parts)}</svg>'


def restyle(shape: re.Match[str]) -> str:
    """A shape of RDKit's drawing with a class in place of its fixed colours, so that the page decides them."""
    text = shape[0]
    points = " ".join(re.findall(r"\b(?:d|cx|cy|rx|ry|points)='[^']*'", text)).replace("'", '"').replace("\n", " ")
    fill, stroke = re.search(r"fill[:=]'?(#\w{6}|none)", text), re.search(r"stroke[:=]'?(#\w{6}|none)", text)
    filled = fill is not None and fill[1] != "none"
    colour = (fill if filled else stroke) or fill
    letter = ATOM_CLASSES.get(colour[1].lower(), "k") if colour else "k"
    return f'<{shape[1]} class="{"f" if filled else "b"} {letter}" {points}/>'


def drawing(smiles: str | None, label: str) -> str:
    """The molecule's structural formula as an SVG of a fixed scale; "" where it cannot be drawn."""
    molecule = Chem.MolFromSmiles(smiles) if smiles else None
    if molecule is None:
        return ""
    canvas = rdMolDraw2D.MolDraw2DSVG(DRAWING_WIDTH, DRAWING_HEIGHT)
    options = canvas.drawOptions()
    options.setAtomPalette(ATOM_COLOURS)
    options.clearBackground, options.fixedBondLength, options.bondLineWidth, options.padding = False, BOND_LENGTH, 1, 0.03
    options.minFontSize, options.maxFontSize = 7, 11
    try:
        rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule)
        canvas.FinishDrawing()
    except (RuntimeError, ValueError):  # what RDKit raises for a molecule it cannot lay out
        return ""
    shapes = "".join(restyle(shape) for shape in SHAPE.finditer(canvas.GetDrawingText()))
    name = escape(f"Structural formula of {label}", quote=True)
    return f'<svg class="mol" viewBox="0 0 {DRAWING_WIDTH} {DRAWING_HEIGHT}" role="img" aria-label="{name}">{shapes}</svg>'
