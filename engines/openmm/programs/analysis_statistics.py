"""Means, their errors and drifts of correlated values, and in plain words whether a quantity has settled.

The values of a simulation follow one another, so that a mean is known less well than their number suggests. Errors come from
block averages: H. Flyvbjerg and H. G. Petersen, J. Chem. Phys. 91 (1989) 461, doi:10.1063/1.457480.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

# With fewer blocks the error of the error is above a quarter.
LEAST_BLOCKS = 8
# Fewer values in the second half of a run cannot tell a drift from noise.
LEAST_VALUES = 16
CONFIDENCE = 2.0  # standard errors, 95 %


class Kind(NamedTuple):
    """A quantity: how it is called and written, and which change over half a run is of no concern."""

    id: str
    title: str
    unit: str
    digits: int
    # How large a change over the second half of a run may be: a part of the mean, of the standard deviation, or in the unit.
    tolerance_of: str
    tolerance: float


KINDS = {
    kind.id: kind
    for kind in (
        Kind("rmsd", "RMSD", "nm", 4, "unit", 0.05),
        Kind("radius-of-gyration", "radius of gyration", "nm", 4, "mean", 0.02),
        Kind("potential-energy", "potential energy", "kJ/mol", 1, "deviation", 0.5),
        Kind("kinetic-energy", "kinetic energy", "kJ/mol", 1, "deviation", 0.5),
        Kind("total-energy", "total energy", "kJ/mol", 1, "deviation", 0.5),
        Kind("temperature", "temperature", "K", 2, "mean", 0.005),
        Kind("volume", "volume", "nm³", 3, "mean", 0.002),
        Kind("density", "density", "g/ml", 4, "mean", 0.002),
    )
}
# What the judgement speaks of: volume says the same as density, and kinetic energy the same as temperature.
JUDGED = ("density", "temperature", "potential-energy", "radius-of-gyration", "rmsd")


class Error(NamedTuple):
    """A standard error from block averages, in the values' unit, and the values in a block where it stopped growing."""

    value: float
    block: int
    converged: bool  # False: the blocks are as long as the run allows, and the error still grows


def standard_error(values: np.ndarray) -> Error | None:
    """Standard error of the mean of values of shape (n,), evenly spaced in time; None when they are too few."""
    levels = []
    length = 1
    while len(values) // length >= LEAST_BLOCKS:
        count = len(values) // length
        blocks = values[len(values) - count * length :].reshape(count, length).mean(axis=1)
        error = float(blocks.std(ddof=1)) / math.sqrt(count)
        levels.append((length, error, error / math.sqrt(2 * (count - 1))))
        length *= 2
    if len(levels) < 2:
        return None
    for number, (length, error, _) in enumerate(levels[:-1]):
        if all(later <= error + doubt for _, later, doubt in levels[number + 1 :]):
            return Error(error, length, True)
    return Error(levels[-1][1], levels[-1][0], False)


def slope(times: np.ndarray, values: np.ndarray) -> tuple[float, float | None]:
    """Least-squares slope of values over times, and its standard error with the correlation of the residuals; None when the
    values are too few for one. times must not all be equal."""
    centred = times - times.mean()
    spread = float(centred @ centred)
    found = float(centred @ (values - values.mean())) / spread
    if len(values) < LEAST_VALUES:
        return found, None
    residuals = values - values.mean() - found * centred
    variance = float(residuals @ residuals) / (len(values) - 2)
    naive, blocked = math.sqrt(variance / len(values)), standard_error(residuals)
    longer = max(blocked.value / naive, 1.0) if blocked and naive > 0 else 1.0
    return found, math.sqrt(variance / spread) * longer


def tolerance(kind: Kind, values: np.ndarray) -> float:
    """The change over the second half that is of no concern, in the quantity's unit."""
    scale = {"unit": 1.0, "mean": abs(float(values.mean())), "deviation": float(values.std())}[kind.tolerance_of]
    return kind.tolerance * scale


def verdict_of(change: float, doubt: float | None, allowed: float, deviation: float) -> str:
    """One of constant, too-short, drifting, undecided and settled. doubt is the 95 % uncertainty of the change."""
    if deviation == 0:
        return "constant"
    if doubt is None:
        return "too-short"
    if abs(change) > allowed and abs(change) > doubt:
        return "drifting"
    return "undecided" if doubt > allowed or abs(change) > allowed else "settled"


def describe(kind: Kind, times_ps: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """The statistics of one quantity as analysis.json has them. times_ps and values have the shape (n,), n at least 1."""
    half = len(values) // 2
    error = standard_error(values)
    document: dict[str, Any] = {
        "id": kind.id,
        "title": kind.title,
        "unit": kind.unit,
        "count": len(values),
        "mean": float(values.mean()),
        "standardDeviation": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "minimum": float(values.min()),
        "maximum": float(values.max()),
        "standardError": error.value if error else None,
        "standardErrorConverged": error.converged if error else None,
        "blockPs": None,
        "driftPerNs": None,
        "secondHalf": None,
    }
    if len(values) < 4 or times_ps[-1] <= times_ps[half]:
        return rounded({**document, "verdict": "too-short"})
    if error:
        document["blockPs"] = error.block * float(times_ps[-1] - times_ps[0]) / (len(times_ps) - 1)
    document["driftPerNs"] = slope(times_ps / 1000, values)[0]
    late, late_values = times_ps[half:] / 1000, values[half:]
    rate, rate_error = slope(late, late_values)
    span = float(late[-1] - late[0])
    change, doubt = rate * span, None if rate_error is None else CONFIDENCE * rate_error * span
    allowed = tolerance(kind, late_values)
    document["secondHalf"] = {
        "fromPs": float(times_ps[half]),
        "mean": float(late_values.mean()),
        "driftPerNs": rate,
        "change": change,
        "changeUncertainty": doubt,
        "changeTolerated": allowed,
    }
    return rounded({**document, "verdict": verdict_of(change, doubt, allowed, document["standardDeviation"])})


def rounded(document: Any) -> Any:
    """Eight significant digits: more than any of the figures is good for, and the same on every machine."""
    if isinstance(document, dict):
        return {name: rounded(value) for name, value in document.items()}
    if isinstance(document, list):
        return [rounded(value) for value in document]
    return float(f"{document:.8g}") if isinstance(document, float) else document


def amount(kind: Kind, value: float, mean: float) -> str:
    """A change as a reader takes it in: of density and volume in percent of the mean, too."""
    written = f"{significant(abs(value))} {kind.unit}"
    return f"{significant(100 * abs(value / mean))} % ({written})" if kind.id in ("density", "volume") and mean else written


def significant(value: float) -> str:
    """Two significant digits without an exponent."""
    if value == 0 or not math.isfinite(value):
        return "0"
    places = max(1 - math.floor(math.log10(abs(value))), 0)
    return f"{round(value, 1 - math.floor(math.log10(abs(value)))):,.{min(places, 8)}f}"


def sentence(document: dict[str, Any]) -> str:
    """What one quantity says about the equilibration."""
    kind, verdict, late = KINDS[document["id"]], document["verdict"], document["secondHalf"]
    name = kind.title if kind.title.isupper() else kind.title.capitalize()
    if verdict == "constant":
        return f"{name} is constant."
    if verdict == "too-short":
        return f"{name} has {document['count']} value{'s' * (document['count'] != 1)}: too few to tell a drift from noise."
    change, doubt = amount(kind, late["change"], late["mean"]), amount(kind, late["changeUncertainty"], late["mean"])
    if verdict == "drifting":
        return f"{name} has not settled: it {'rises' if late['change'] > 0 else 'falls'} by {change} over the second half."
    if verdict == "undecided":
        return f"{name}: this run cannot tell. It changes by {change} over the second half, with an uncertainty of {doubt}."
    tolerated = amount(kind, late["changeTolerated"], late["mean"])
    return (
        f"{name} has settled: it changes by {change} over the second half, with an uncertainty of {doubt}; up to {tolerated} "
        f"does not matter."
    )


# A shorter run relaxes a structure and shows little of what it does at equilibrium.
SHORT_RUN_NS = 1.0
# How far the mean may be from the thermostat's temperature before it is worth a word: a part of it.
TEMPERATURE_TOLERANCE = 0.01


def judgement(quantities: list[dict[str, Any]], duration_ns: float, target_k: float) -> dict[str, Any]:
    """The judgement of the whole run: verdict is settled, drifting, undecided or too-short, and sentences say why."""
    judged = [q for name in JUDGED for q in quantities if q["id"] == name]
    verdicts = {q["id"]: q["verdict"] for q in judged}
    sentences = [sentence(q) for q in judged]
    for q in quantities:
        if q["id"] == "temperature" and abs(q["mean"] - target_k) > TEMPERATURE_TOLERANCE * target_k:
            side = "above" if q["mean"] > target_k else "below"
            sentences.append(
                f"The mean temperature is {significant(abs(q['mean'] - target_k))} K {side} the {target_k:g} K of the thermostat."
            )
    unsure = [q["title"] for q in judged if q["standardErrorConverged"] is False]
    if unsure:
        sentences.append(f"The standard error of {joined(unsure)} still grows with the length of the blocks: it is a lower bound.")
    named = lambda wanted: [q["title"] for q in judged if verdicts[q["id"]] == wanted]  # noqa: E731
    if named("drifting"):
        verdict, head = (
            "drifting",
            f"Not equilibrated: {joined(named('drifting'))} still drift{'s' * (len(named('drifting')) == 1)}.",
        )
    elif not judged or named("too-short"):
        verdict, head = "too-short", "Too short to judge."
    elif named("undecided"):
        verdict, head = "undecided", f"Undecided: no clear drift, but {joined(named('undecided'))} cannot be told from drifting."
    else:
        verdict, head = "settled", "No drift that matters in the second half of the run."
        sentences.append(
            "Settled averages do not show that all conformations were visited; independent repeats with other seeds do."
        )
    if duration_ns < SHORT_RUN_NS:
        sentences.append(
            f"The run lasts {significant(1000 * duration_ns)} ps: it shows how the system relaxes and little of its equilibrium."
        )
    return {"verdict": verdict, "headline": head, "sentences": sentences}


def joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
