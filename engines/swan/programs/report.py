"""Draws what SWAN wrote: maps of its blocks as PNG and SVG, an animation where they change, the same as netCDF, its tables and
spectra read and held against each other, and a report for people."""

from __future__ import annotations

import html
import io
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from drawing import SCHEMA, Times, animate, limits, page, prepare, readable, rounded, save, span
from task import write_bytes, write_json, write_text

# Quantities of blocks by the names that SWAN gives them: what they are called, their unit, and the colours of their maps.
QUANTITIES = {
    "Hsig": ("Significant wave height", "m", "viridis"), "RTpeak": ("Relative peak period", "s", "cividis"),
    "TPsmoo": ("Smoothed peak period", "s", "cividis"), "Tm01": ("Mean period Tm01", "s", "cividis"),
    "Tm02": ("Mean period Tm02", "s", "cividis"), "Tm_10": ("Energy period", "s", "cividis"),
    "Dir": ("Mean wave direction", "degrees", "twilight"), "PkDir": ("Peak wave direction", "degrees", "twilight"),
    "Dspr": ("Directional spreading", "degrees", "magma"), "Depth": ("Depth", "m", "Blues"),
    "Watlev": ("Water level", "m", "Blues"),
}
KEY = re.compile(r"^(?P<name>.+?)(?:_(?P<time>\d{8}_\d{6}))?$")
EXCEPTIONS = (-9.0, -99.0, -999.0)
MAX_ROWS = 100
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
        "schema": SCHEMA, "deck": request["label"], **scenario_of(request), "converged": found["converged"],
        "convergence": found, "checks": checks,
        "warnings": list(dict.fromkeys(state["warnings"]))[:20], "version": state["version"], "steps": request["steps"],
        "fields": {name: span(values) for name, values in fields.items()}, "pictures": pictures,
        "tables": {name: {**table, "rows": table["rows"][:MAX_ROWS]} for name, table in tables.items()},
        "spectra": {name: len(one["density"]) for name, one in spectra.items() if one},
    }
    write_json(out / f"{prefix}results.json", document)
    write_text(out / f"{prefix}report.html", page(request, document, out, prefix, "SWAN", tables_of(document)))
    return {key: document[key] for key in ("deck", "converged", "convergence", "checks", "version", "steps", "fields")}


def scenario_of(request: dict[str, Any]) -> dict[str, Any]:
    """Of a run of a scenario its name and its cells."""
    return {"scenario": request["scenario"], "values": request["values"]} if request.get("scenario") else {}


Fields = dict[str, Times]


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
    """A file of spectra: frequencies (Hz) and the density (m2/Hz) of each location and time, of spectra over directions too the
    integral over them. negative says that a value is below 0. None for other files."""
    lines = path.read_text(errors="replace").splitlines()
    frequencies: list[float] = []
    width = 0.0  # of a direction in degrees; 0 of spectra over frequencies alone
    densities: list[list[float]] = []
    negative = False
    at = 0
    while at < len(lines):
        word = lines[at].split()[:1]
        # A file over frequencies alone has CDIR or NDIR too: the mean direction, among its quantities.
        if word in (["AFREQ"], ["RFREQ"]) or word in (["CDIR"], ["NDIR"]) and "spectral" in lines[at]:
            count = int(lines[at + 1].split()[0])
            axis = [float(line.split()[0]) for line in lines[at + 2: at + 2 + count]]
            if word[0].endswith("FREQ"):
                frequencies = axis
            else:
                width = abs(axis[1] - axis[0]) if count > 1 else 360.0
            at += 1 + count
        elif word in (["LOCATION"], ["FACTOR"], ["ZERO"], ["NODATA"]):
            whole = word[0] in ("ZERO", "NODATA")
            rows = [] if whole else [[float(cell) for cell in line.split()] for line in lines[at + 1: at + 1 + len(frequencies)]]
            if word == ["FACTOR"]:
                factor = float(lines[at + 1])
                rows = [[float(cell) * factor for cell in line.split()] for line in lines[at + 2: at + 2 + len(frequencies)]]
                at += 1
            negative = negative or any(value < 0 for row in rows for value in row[:None if width else 1]
                                       if value not in EXCEPTIONS)
            densities.append([density_of(row, width) for row in rows] or [0.0] * len(frequencies))
            at += len(rows)
        at += 1
    return {"frequencies": frequencies, "density": densities, "negative": negative} if densities else None


def density_of(row: list[float], width: float) -> float:
    """The density of a frequency: of a row over directions that are width degrees apart its sum, else its first value."""
    if width:
        return max(sum(row), 0.0) * width
    return max(row[0], 0.0) if row[0] not in EXCEPTIONS else 0.0


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
    title, unit, colours = QUANTITIES[name]
    drawn, plot = prepare().subplots(figsize=(6.4, 5.2), layout="constrained")
    placed = axes(request, values.shape)
    extent = None if placed is None else (placed[0][0], placed[0][-1], placed[1][0], placed[1][-1])
    image = plot.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=least, vmax=most, interpolation="nearest",
                        aspect="equal" if extent and extent[2] != extent[3] else "auto")
    plot.set(xlabel=f"x ({placed[2]})" if placed else "column", ylabel=f"y ({placed[2]})" if placed else "row",
             title=title + (f", {readable(time)}" if time else ""))
    drawn.colorbar(image, label=unit)
    return drawn


def draw(request: dict[str, Any], fields: Fields, out: Path, prefix: str) -> list[str]:
    """A map of each quantity at the last time as PNG and SVG, and a GIF of the wave height where there are several times."""
    names = []
    for name, values in fields.items():
        ends = limits(values)
        if ends is None:
            continue

        def one(time: str, array: np.ndarray, name: str = name, ends: tuple[float, float] = ends) -> Any:
            return figure(request, name, time, array, *ends)

        save(one(*values[-1]), out, prefix + name)
        names.append(f"{name}.png")
        if name == "Hsig" and len(values) > 1:
            animate(values, one, out, prefix + name)
            names.append(f"{name}.gif")
    return names


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


def tables_of(document: dict[str, Any]) -> list[str]:
    """The tables for the report."""
    parts = []
    for name, table in document["tables"].items():
        titles = [f"{title} {unit}" for title, unit in zip(table["columns"], table["units"])]
        heads = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
        cells = [[f"<td>{'' if cell is None else f'{cell:g}'}</td>" for cell in row] for row in table["rows"]]
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        parts.append(f"<h2>{html.escape(name)}</h2><table><tr>{heads}</tr>{rows}</table>")
    return parts
