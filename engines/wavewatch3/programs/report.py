"""Draws what WAVEWATCH III left as netCDF: maps of its fields as PNG and SVG, an animation of the wave height, what must hold of
fields and spectra, and a report for people. It reads netCDF 3, the form that ww3_ounf and ww3_ounp write unless told otherwise."""

from __future__ import annotations

import html
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from drawing import SCHEMA, TIME, Times, animate, limits, page, prepare, readable, save, span
from task import write_json, write_text

# Fields by the names that ww3_ounf gives them: what they are called, their unit, and the colours of their maps.
QUANTITIES = {
    "hs": ("Significant wave height", "m", "viridis"), "lm": ("Mean wave length", "m", "cividis"),
    "t02": ("Mean period Tm02", "s", "cividis"), "t0m1": ("Energy period", "s", "cividis"),
    "t01": ("Mean period Tm01", "s", "cividis"), "fp": ("Peak frequency", "Hz", "cividis"),
    "dir": ("Mean wave direction", "degrees", "twilight"), "dp": ("Peak wave direction", "degrees", "twilight"),
    "spr": ("Directional spreading", "degrees", "magma"), "dpt": ("Depth", "m", "Blues"), "wlv": ("Water level", "m", "Blues"),
}
UNITS = re.compile(r"(days|hours|seconds) since (\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
MAX_VALUES = 40_000_000  # of a field that are read for its maps; of longer ones times are left out
NETCDF3 = b"CDF"


def make(
    request: dict[str, Any], outputs: dict[str, Path], build: dict[str, Any], state: dict[str, Any], out: Path,
) -> dict[str, Any]:
    """Writes everything that is drawn from the outputs and returns the summary of the run."""
    netcdf = {name: path for name, path in outputs.items() if name.endswith(".nc")}
    read = {name: path for name, path in netcdf.items() if path.read_bytes()[:3] == NETCDF3}
    fields, axes = read_fields(list(read.values())) if request["drawn"] else ({}, None)
    checks = checked(read, fields, build)
    pictures = draw(fields, axes, out)
    begin, end = (datetime.strptime(request[name], "%Y%m%d %H%M%S") for name in ("begin", "end"))
    message = (f"Ran from {begin} to {end} in {state['steps']} steps; {state['started']}. WAVEWATCH III steps through time and "
               "tests no convergence.")
    warnings = [f"{name} is netCDF 4, which is not drawn" for name in netcdf if name not in read]
    document = {
        "schema": SCHEMA, "deck": request["deck"], "model": "wavewatch3", "converged": None,
        "convergence": {"converged": None, "message": message}, "checks": checks, "warnings": warnings[:20],
        "version": build["version"], "steps": state["steps"], "started": state["started"], "build": build,
        "fields": {name: span(values) for name, values in fields.items()}, "pictures": pictures,
    }
    write_json(out / "results.json", document)
    write_text(out / "report.html", page(request, document, out, "", "WAVEWATCH III", [about(build)]))
    return {key: document[key] for key in ("deck", "converged", "convergence", "checks", "version", "steps", "build", "fields")}


def opened(path: Path) -> Any:
    from scipy.io import netcdf_file

    return netcdf_file(path, "r", mmap=False, maskandscale=True)


def clock(file: Any) -> list[str]:
    """The times of a file."""
    variable = file.variables["time"]
    match = UNITS.match(variable.units.decode())
    if not match:
        return [f"{i}" for i in range(variable.shape[0])]
    zero = datetime.fromisoformat(f"{match.group(2)} {match.group(3)}")
    seconds = [timedelta(**{match.group(1): float(value)}) for value in np.asarray(variable[:])]
    return [(zero + one + timedelta(milliseconds=500)).strftime(TIME) for one in seconds]


Axes = tuple[np.ndarray, np.ndarray] | None


def read_fields(paths: list[Path]) -> tuple[dict[str, Times], Axes]:
    """The fields over rows and columns, by quantity: pairs of a time and an array. Axes are those of a grid without rotation."""
    fields: dict[str, Times] = {}
    axes: Axes = None
    for path in paths:
        with opened(path) as file:
            if "time" not in file.variables or not all(name in file.variables for name in ("longitude", "latitude")):
                continue
            times = clock(file)
            x, y = (np.array(file.variables[name][:]) for name in ("longitude", "latitude"))
            for name in QUANTITIES:
                variable = file.variables.get(name)
                if variable is None or len(variable.shape) != 3 or variable.dimensions[0] != "time":
                    continue
                stride = max(1, int(np.ceil(np.prod(variable.shape) / MAX_VALUES)))
                for i in range(len(times) - 1, -1, -stride):  # the last is always among them
                    values = np.ma.filled(np.ma.array(variable[i], dtype=float), np.nan)
                    fields.setdefault(name, []).append((times[i], values))
                if x.ndim == 1 and y.ndim == 1:
                    axes = (x, y)
    return {name: sorted(values, key=lambda one: one[0]) for name, values in sorted(fields.items())}, axes


def checked(netcdf: dict[str, Path], fields: dict[str, Times], build: dict[str, Any]) -> list[dict[str, Any]]:
    """What must hold: the build is what its switch file says, no wave height and no spectral density is negative."""
    found = []
    switches, negative, spectra = set(), [], 0
    for name, path in netcdf.items():
        with opened(path) as file:
            switches.add(" ".join(getattr(file, "WAVEWATCH_III_switches", b"").decode(errors="replace").split()))
            if "efth" in file.variables:
                spectra += 1
                if float(np.ma.min(file.variables["efth"][:])) < 0:
                    negative.append(name)
    if switches - {""}:
        found.append({"check": "the programs were built with the switches of their folder", "holds": switches - {""} <= {
            build["switches"]}})
    if spectra:
        found.append({"check": "no spectral density is negative" + (f" ({', '.join(negative[:5])})" if negative else ""),
                      "holds": not negative})
    if "hs" in fields:
        found.append({"check": "no wave height is negative", "holds": all(
            bool(np.all(one[np.isfinite(one)] >= 0)) for _, one in fields["hs"])})
    return found


def edges(axis: np.ndarray) -> tuple[float, float]:
    """Where the first and the last point of an axis begin and end."""
    half = (axis[-1] - axis[0]) / max(axis.size - 1, 1) / 2
    return float(axis[0] - half), float(axis[-1] + half)


def figure(name: str, time: str, values: np.ndarray, axes: Axes, least: float, most: float) -> Any:
    title, unit, colours = QUANTITIES[name]
    drawn, plot = prepare().subplots(figsize=(6.4, 5.2), layout="constrained")
    extent = None if axes is None else [end for one in axes for end in edges(one)]
    image = plot.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=least, vmax=most, interpolation="nearest",
                        aspect="auto")
    plot.set(xlabel="x" if axes is None else "longitude or x", ylabel="y" if axes is None else "latitude or y",
             title=f"{title}, {readable(time)}" if "_" in time else title)
    drawn.colorbar(image, label=unit)
    return drawn


def draw(fields: dict[str, Times], axes: Axes, out: Path) -> list[str]:
    """A map of each quantity at the last time as PNG and SVG, and a GIF of the wave height where there are several times."""
    names = []
    for name, values in fields.items():
        ends = limits(values)
        if ends is None:
            continue

        def one(time: str, array: np.ndarray, name: str = name, ends: tuple[float, float] = ends) -> Any:
            return figure(name, time, array, axes, *ends)

        names.append(save(one(*values[-1]), out, name))
        if name == "hs" and len(values) > 1:
            names.append(animate(values, one, out, name))
    return names


def about(build: dict[str, Any]) -> str:
    """The build for the report."""
    rows = (("Switches", build["switches"]), ("SHA-256 of the switch file", build["switchesSha256"]),
            ("Compiler", build["compiler"]), ("Order of bytes", build["byteOrder"]))
    return "<h2>The build</h2>" + "".join(f"<p>{title}: {html.escape(text)}</p>" for title, text in rows)
