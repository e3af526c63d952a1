"""Draws what SWAN wrote: maps of its blocks as PNG and SVG, an animation where they change, the same as netCDF, its tables and
spectra read and held against each other, and a report for people."""

from __future__ import annotations

import base64
import html
import io
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from task import write_bytes, write_json, write_text

SCHEMA = "molfabric.waves.results/v1"
# Quantities of blocks by the names that SWAN gives them: what they are called, their unit, and the colours of their maps.
QUANTITIES = {
    "Hsig": ("Significant wave height", "m", "viridis"), "RTpeak": ("Relative peak period", "s", "cividis"),
    "TPsmoo": ("Smoothed peak period", "s", "cividis"), "Tm01": ("Mean period Tm01", "s", "cividis"),
    "Tm02": ("Mean period Tm02", "s", "cividis"), "Tm_10": ("Energy period", "s", "cividis"),
    "Dir": ("Mean wave direction", "degrees", "twilight"), "PkDir": ("Peak wave direction", "degrees", "twilight"),
    "Dspr": ("Directional spreading", "degrees", "magma"), "Depth": ("Depth", "m", "Blues"),
    "Watlev": ("Water level", "m", "Blues"),
}
STYLE = ("body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
         "td,th{padding:.2em .8em;text-align:right}img{max-width:100%}")
KEY = re.compile(r"^(?P<name>.+?)(?:_(?P<time>\d{8}_\d{6}))?$")
EXCEPTIONS = (-9.0, -99.0, -999.0)
MAX_FRAMES, MAX_ROWS = 200, 100
# Hs of a spectrum is 4 times the root of its integral over SWAN's frequencies; that of the table adds a tail above the highest.
HS_TOLERANCE = 0.02


def make(
    request: dict[str, Any], outputs: dict[str, Path], found: dict[str, Any], state: dict[str, Any], out: Path, prefix: str,
) -> dict[str, Any]:
    """Writes everything that is drawn from the outputs and returns the summary of the deck."""
    fields = read_fields(outputs)
    tables = {name: read_table(path) for name, path in outputs.items() if is_table(path)}
    spectra = {name: read_spectra(path) for name, path in outputs.items() if path.read_bytes()[:5] == b"SWAN "}
    checks = checked(tables, {name: one for name, one in spectra.items() if one})
    pictures = draw(request, fields, out, prefix)
    if fields:
        write_netcdf(request, fields, out / f"{prefix}fields.nc")
    document = {
        "schema": SCHEMA, "deck": request["deck"], "converged": found["converged"], "convergence": found, "checks": checks,
        "warnings": list(dict.fromkeys(state["warnings"]))[:20], "version": state["version"], "steps": request["steps"],
        "fields": {name: span(values) for name, values in fields.items()}, "pictures": pictures,
        "tables": {name: {**table, "rows": table["rows"][:MAX_ROWS]} for name, table in tables.items()},
        "spectra": {name: len(one["density"]) for name, one in spectra.items() if one},
    }
    write_json(out / f"{prefix}results.json", document)
    write_text(out / f"{prefix}report.html", page(request, document, out, prefix))
    return {key: document[key] for key in ("deck", "converged", "convergence", "checks", "version", "steps", "fields")}


Fields = dict[str, list[tuple[str, np.ndarray]]]


def read_fields(outputs: dict[str, Path]) -> Fields:
    """The blocks in files for Matlab, by quantity: pairs of a time ("" of a stationary run) and an array of y by x."""
    from scipy.io import loadmat

    fields: Fields = {}
    for path in outputs.values():
        if path.suffix.lower() != ".mat":
            continue
        for key, values in loadmat(path).items():
            match = KEY.match(key)
            if key.startswith("_") or not match or match.group("name") not in QUANTITIES:
                continue
            array = np.array(values, dtype=float)
            array[np.isin(array, EXCEPTIONS)] = np.nan
            fields.setdefault(match.group("name"), []).append((match.group("time") or "", array))
    return {name: sorted(values, key=lambda one: one[0]) for name, values in sorted(fields.items())}


def span(values: list[tuple[str, np.ndarray]]) -> dict[str, Any]:
    """Least, mean and most of the last time, over the wet points."""
    array = values[-1][1]
    wet = array[np.isfinite(array)]
    if wet.size == 0:
        return {"times": len(values)}
    return {"times": len(values), "least": rounded(wet.min()), "mean": rounded(wet.mean()), "most": rounded(wet.max())}


def rounded(value: float) -> float:
    return float(f"{value:.5g}")


def is_table(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(1) == b"%"


def read_table(path: Path) -> dict[str, Any]:
    """A TABLE with HEADER: its columns with their units, and rows of numbers; None for SWAN's exception values."""
    columns: list[str] = []
    units: list[str] = []
    rows = []
    for line in path.read_text(errors="replace").splitlines():
        words = line.split()
        if line.startswith("%"):
            if len(words) > 1 and words[1].startswith("["):
                units = words[1:]
            elif len(words) > 1 and "Table:" not in line and not columns:
                columns = words[1:]
            continue
        if words:
            rows.append([None if float(word) in EXCEPTIONS else float(word) for word in words])
    return {"columns": columns, "units": units, "rows": rows}


def read_spectra(path: Path) -> dict[str, Any] | None:
    """A file of one-dimensional spectra: frequencies (Hz) and the density (m2/Hz) of each location and time. None for others."""
    lines = path.read_text(errors="replace").splitlines()
    frequencies: list[float] = []
    densities = []
    at = 0
    while at < len(lines):
        word = lines[at].split()[:1]
        if word in (["AFREQ"], ["RFREQ"]):
            count = int(lines[at + 1].split()[0])
            frequencies = [float(line.split()[0]) for line in lines[at + 2: at + 2 + count]]
            at += 1 + count
        elif word in (["CDIR"], ["NDIR"]) and "directions" in lines[at]:
            return None  # over directions too
        elif word == ["LOCATION"]:
            rows = [line.split() for line in lines[at + 1: at + 1 + len(frequencies)]]
            densities.append([max(float(row[0]), 0) if float(row[0]) not in EXCEPTIONS else 0.0 for row in rows])
            if any(float(row[0]) < 0 and float(row[0]) not in EXCEPTIONS for row in rows):
                return {"frequencies": frequencies, "density": densities, "negative": True}
            at += len(frequencies)
        at += 1
    return {"frequencies": frequencies, "density": densities, "negative": False} if densities else None


def checked(tables: dict[str, Any], spectra: dict[str, Any]) -> list[dict[str, Any]]:
    """What must hold: no spectrum is negative, and its wave height is that of the table of the same points."""
    found = []
    for name, one in spectra.items():
        found.append({"check": f"{name}: no density is negative", "holds": not one["negative"]})
        heights = [4 * float(np.sqrt(np.trapezoid(density, one["frequencies"]))) for density in one["density"]]
        for other, table in tables.items():
            column = next((i for i, title in enumerate(table["columns"]) if title == "Hsig"), None)
            rows = [] if column is None else [row[column] for row in table["rows"]]
            if len(rows) != len(heights) or any(row is None or row <= 0 for row in rows):
                continue
            off = max(abs(height / row - 1) for height, row in zip(heights, rows))
            found.append({"check": f"wave heights of {name} and {other} agree within {HS_TOLERANCE:.0%}",
                          "holds": off <= HS_TOLERANCE, "worst": rounded(off)})
    return found


def axes(request: dict[str, Any], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, str] | None:
    """The coordinates of a regular grid without rotation; None for others, which are drawn by their numbers."""
    grid = request["grid"]
    if grid["rotation"] != 0 or tuple(shape) != (grid["meshes"][1] + 1, grid["meshes"][0] + 1):
        return None
    x = grid["origin"][0] + np.linspace(0, grid["extent"][0], shape[1])
    y = grid["origin"][1] + np.linspace(0, grid["extent"][1], shape[0])
    return x, y, "degrees" if request["spherical"] else "m"


def figure(request: dict[str, Any], name: str, time: str, values: np.ndarray, least: float, most: float) -> Any:
    import matplotlib.pyplot as plt

    title, unit, colours = QUANTITIES[name]
    drawn, plot = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
    placed = axes(request, values.shape)
    extent = None if placed is None else (placed[0][0], placed[0][-1], placed[1][0], placed[1][-1])
    image = plot.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=least, vmax=most, interpolation="nearest",
                        aspect="equal" if extent and extent[2] != extent[3] else "auto")
    plot.set(xlabel=f"x ({placed[2]})" if placed else "column", ylabel=f"y ({placed[2]})" if placed else "row",
             title=title + (f", {readable(time)}" if time else ""))
    drawn.colorbar(image, label=unit)
    return drawn


def readable(time: str) -> str:
    return datetime.strptime(time, "%Y%m%d_%H%M%S").strftime("%Y-%m-%d %H:%M:%S")


def draw(request: dict[str, Any], fields: Fields, out: Path, prefix: str) -> list[str]:
    """A map of each quantity at the last time as PNG and SVG, and a GIF of the wave height where there are several times."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "molfabric"
    import matplotlib.pyplot as plt

    names = []
    for name, values in fields.items():
        time, last = values[-1]
        finite = [one[np.isfinite(one)] for _, one in values]
        if not any(one.size for one in finite):
            continue
        least, most = min(one.min() for one in finite if one.size), max(one.max() for one in finite if one.size)
        drawn = figure(request, name, time, last, least, most)
        for ending, more in (("png", {"metadata": {"Software": None}}), ("svg", {"metadata": {"Date": None, "Creator": None}})):
            buffer = io.BytesIO()
            drawn.savefig(buffer, format=ending, dpi=120, **more)
            write_bytes(out / f"{prefix}{name}.{ending}", buffer.getvalue())
        plt.close(drawn)
        names.append(f"{name}.png")
        if name == "Hsig" and len(values) > 1:
            names.append(animate(request, name, values, least, most, out, prefix))
    return names


def animate(
    request: dict[str, Any], name: str, values: list[tuple[str, np.ndarray]], least: float, most: float, out: Path, prefix: str,
) -> str:
    import matplotlib.pyplot as plt
    from PIL import Image

    chosen = values[:: -(-len(values) // MAX_FRAMES)]
    frames = []
    for time, one in chosen:
        drawn = figure(request, name, time, one, least, most)
        buffer = io.BytesIO()
        drawn.savefig(buffer, format="png", dpi=80)
        plt.close(drawn)
        frames.append(Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE))
    buffer = io.BytesIO()
    frames[0].save(buffer, format="GIF", save_all=True, append_images=frames[1:], duration=250, loop=0)
    write_bytes(out / f"{prefix}{name}.gif", buffer.getvalue())
    return f"{name}.gif"


def write_netcdf(request: dict[str, Any], fields: Fields, path: Path) -> None:
    """The blocks as netCDF 3 with the names and units of the CF conventions, as xarray opens it."""
    from scipy.io import netcdf_file

    times = sorted({time for values in fields.values() for time, _ in values})
    shape = next(iter(fields.values()))[0][1].shape
    buffer = io.BytesIO()
    written = netcdf_file(buffer, "w", version=2)
    written.Conventions = "CF-1.8"
    written.title = request["title"]
    written.source = "SWAN"
    written.createDimension("time", len(times))
    for dimension, size in zip(("y", "x"), shape):
        written.createDimension(dimension, size)
    placed = axes(request, shape)
    for dimension, values, size in zip(("x", "y"), placed[:2] if placed else (None, None), shape[::-1]):
        variable = written.createVariable(dimension, "f8", (dimension,))
        variable[:] = np.arange(size) if values is None else values
        variable.units = placed[2] if placed else "1"
    clock = written.createVariable("time", "f8", ("time",))
    clock.units = "seconds since 1970-01-01 00:00:00"
    clock[:] = [(datetime.strptime(time, "%Y%m%d_%H%M%S") - datetime(1970, 1, 1)).total_seconds() if time else 0 for time in times]
    for name, values in fields.items():
        if values[0][1].shape != shape:
            continue
        variable = written.createVariable(name, "f4", ("time", "y", "x"))
        variable.long_name, variable.units = QUANTITIES[name][:2]
        variable._FillValue = np.float32(np.nan)
        variable[:] = np.nan
        for time, one in values:
            variable[times.index(time)] = one
    written.flush()
    write_bytes(path, buffer.getvalue())
    written.fp = io.BytesIO()  # what closing would write again


def page(request: dict[str, Any], document: dict[str, Any], out: Path, prefix: str) -> str:
    """The report: how it went, maps, tables, checks."""
    escape = html.escape
    colour = {True: "#17693a", False: "#a32121", None: "#6b5a00"}[document["converged"]]
    parts = [f"<p style='color:{colour}'><strong>{escape(document['convergence']['message'])}</strong></p>"]
    for one in document["checks"]:
        parts.append(f"<p>{'✓' if one['holds'] else '✗'} {escape(one['check'])}{'' if one['holds'] else ': it does not hold'}.</p>")
    for warning in document["warnings"]:
        parts.append(f"<p>SWAN warns: {escape(warning)}</p>")
    for name in document["pictures"]:
        kind = "gif" if name.endswith(".gif") else "png"
        content = base64.b64encode((out / f"{prefix}{name}").read_bytes()).decode()
        parts.append(f"<figure><img alt='{escape(name)}' src='data:image/{kind};base64,{content}'></figure>")
    for name, table in document["tables"].items():
        heads = "".join(f"<th>{escape(title)} {escape(unit)}</th>" for title, unit in zip(table["columns"], table["units"]))
        cells = [[f"<td>{'' if cell is None else f'{cell:g}'}</td>" for cell in row] for row in table["rows"]]
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        parts.append(f"<h2>{escape(name)}</h2><table><tr>{heads}</tr>{rows}</table>")
    cite = "".join(f"<li>{escape(one['text'])} doi:{escape(one['doi'])}</li>" for one in request["citations"])
    title = escape(request["title"])
    return (f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title><style>{STYLE}</style><h1>{title}</h1>"
            f"<p>{escape(document['deck'])}, SWAN {escape(document['version'])}</p>{''.join(parts)}"
            f"<h2>To cite</h2><ul>{cite}</ul></html>\n")
