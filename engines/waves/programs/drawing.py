"""Draws maps as PNG and SVG and those of several times as a GIF, and writes the report for people."""

from __future__ import annotations

import base64
import html
import io
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Iterable

import numpy as np

from task import write_bytes

SCHEMA = "molfabric.waves.results/v1"
STYLE = ("body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
         "td,th{padding:.2em .8em;text-align:right}img{max-width:100%}")
COLOURS = {True: "#17693a", False: "#a32121", None: "#6b5a00"}
TIME = "%Y%m%d_%H%M%S"
MAX_FRAMES = 200

Times = list[tuple[str, np.ndarray]]  # pairs of a time ("" where there is none) and an array


def rounded(value: float) -> float:
    return float(f"{value:.5g}")


def span(values: Times) -> dict[str, Any]:
    """Least, mean and most of the last time, over the wet points."""
    array = values[-1][1]
    wet = array[np.isfinite(array)]
    if wet.size == 0:
        return {"times": len(values)}
    return {"times": len(values), "least": rounded(wet.min()), "mean": rounded(wet.mean()), "most": rounded(wet.max())}


def limits(values: Times) -> tuple[float, float] | None:
    """Least and most of all times; None where no point is wet."""
    finite = [one[np.isfinite(one)] for _, one in values]
    finite = [one for one in finite if one.size]
    return (min(one.min() for one in finite), max(one.max() for one in finite)) if finite else None


def readable(time: str) -> str:
    return datetime.strptime(time, TIME).strftime("%Y-%m-%d %H:%M:%S")


def prepare() -> Any:
    """Makes pictures depend on their content alone, and returns what draws them."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "molfabric"
    import matplotlib.pyplot as plt

    return plt


def save(drawn: Any, out: Path, name: str) -> str:
    """Writes a figure as PNG and SVG, closes it, and returns the name of the PNG."""
    for ending, more in (("png", {"metadata": {"Software": None}}), ("svg", {"metadata": {"Date": None, "Creator": None}})):
        buffer = io.BytesIO()
        drawn.savefig(buffer, format=ending, dpi=120, **more)
        write_bytes(out / f"{name}.{ending}", buffer.getvalue())
    prepare().close(drawn)
    return f"{name}.png"


def animate(values: Times, figure: Callable[[str, np.ndarray], Any], out: Path, name: str) -> str:
    """Writes the times as a GIF of at most MAX_FRAMES pictures, and returns its name."""
    from PIL import Image

    frames = []
    for time, one in values[:: -(-len(values) // MAX_FRAMES)]:
        drawn = figure(time, one)
        buffer = io.BytesIO()
        drawn.savefig(buffer, format="png", dpi=80)
        prepare().close(drawn)
        frames.append(Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE))
    buffer = io.BytesIO()
    frames[0].save(buffer, format="GIF", save_all=True, append_images=frames[1:], duration=250, loop=0)
    write_bytes(out / f"{name}.gif", buffer.getvalue())
    return f"{name}.gif"


def page(
    request: dict[str, Any], document: dict[str, Any], out: Path, prefix: str, model: str, more: Iterable[str] = (),
) -> str:
    """The report: how it went, checks, warnings, maps, and what more the model has, each a piece of HTML."""
    escape = html.escape
    parts = [f"<p style='color:{COLOURS[document['converged']]}'><strong>{escape(document['convergence']['message'])}</strong></p>"]
    for one in document["checks"]:
        parts.append(f"<p>{'✓' if one['holds'] else '✗'} {escape(one['check'])}{'' if one['holds'] else ': it does not hold'}.</p>")
    for warning in document["warnings"]:
        parts.append(f"<p>{model} warns: {escape(warning)}</p>")
    for name in document["pictures"]:
        kind = "gif" if name.endswith(".gif") else "png"
        content = base64.b64encode((out / f"{prefix}{name}").read_bytes()).decode()
        parts.append(f"<figure><img alt='{escape(name)}' src='data:image/{kind};base64,{content}'></figure>")
    parts += more
    cite = "".join(f"<li>{escape(one['text'])} doi:{escape(one['doi'])}</li>" for one in request["citations"])
    title = escape(request["title"])
    return (f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title><style>{STYLE}</style><h1>{title}</h1>"
            f"<p>{escape(document['deck'])}, {model} {escape(document['version'])}</p>{''.join(parts)}"
            f"<h2>To cite</h2><ul>{cite}</ul></html>\n")
