"""Analyses a run of molecular dynamics: what it measured, how well it is known, whether it has settled, and figures of it.

Reads in/topology.pdb or in/topology.cif, in/trajectory.dcd, in/state.csv, in/preparation.json and in/simulation.json, and writes
out/analysis.json, out/analysis.csv, out/plots and out/report.html; for a pipeline also out/snapshots.pdb, what its film shows.
"""

from __future__ import annotations

import csv
import io
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import analysis_dcd
import analysis_report
import analysis_state
import analysis_trajectory
import plots
from analysis_snapshots import Snapshots
from analysis_statistics import KINDS, describe, judgement, rounded
from task import IN, OUT, Failure, Progress, main, program_versions, read_json, write_bytes, write_json, write_text

ANALYSIS_SCHEMA = "molfabric.openmm.analysis/v1"
MOST_PS = 1e12  # of earlier runs, a second; no simulation of the service comes near
MAX_DOCUMENT_BYTES = 64 << 20  # of preparation.json and simulation.json
FRAME_COLUMNS = {"rmsd": "rmsd_nm", "radius-of-gyration": "radius_of_gyration_nm"}


class Start(NamedTuple):
    """What the earlier runs have done that this one goes on from."""

    steps: int
    time_ps: float


class Run(NamedTuple):
    """Everything that was found. series has times in ps and values of each quantity, both of shape (n,); steps and times_ps are
    those of the analysed frames. All of them are counted from the start of the first run that this one goes on from."""

    start: Start
    system: analysis_trajectory.System
    frames: int
    plan: analysis_trajectory.Plan
    motion: analysis_trajectory.Motion | None
    state: analysis_state.State
    steps: np.ndarray
    times_ps: np.ndarray
    series: dict[str, tuple[np.ndarray, np.ndarray]]


def start_of(simulation: dict[str, Any]) -> Start:
    """Zero for a run that goes on from none, or whose simulation does not tell."""
    earlier = simulation.get("restart")
    steps, time_ps = (earlier.get("earlierSteps"), earlier.get("earlierTimePs")) if isinstance(earlier, dict) else (0, 0.0)
    if type(steps) is not int or type(time_ps) not in (int, float) or not 0 <= steps < 2**53 or not 0 <= time_ps < MOST_PS:
        return Start(0, 0.0)
    return Start(steps, float(time_ps))


def measure(request: dict[str, Any], start: Start, progress: Progress) -> Run:
    """Reads everything below in/. Raises a Failure when the files are torn or do not belong together."""
    progress(0.0, "reading the topology")
    system = analysis_trajectory.survey(analysis_trajectory.read_topology(IN))
    trajectory = IN / "trajectory.dcd"
    if not trajectory.exists() or not (IN / "state.csv").exists():
        raise Failure("EXECUTOR", "OUTPUT_MISSING", "The simulation has left no trajectory.dcd or no state.csv.")
    found = analysis_dcd.look(trajectory, system.atoms)
    plan = analysis_trajectory.plan_frames(found.frames, request["trajectoryIntervalSteps"], request["analysisIntervalSteps"])
    own = (plan.frames + 1) * request["trajectoryIntervalSteps"]
    steps, times = start.steps + own, start.time_ps + own * request["timestepFs"] / 1000
    state = analysis_state.read_state(IN / "state.csv", set(steps.tolist()))
    series = {name: (state.times_ps, values) for name, values in state.values.items()}
    motion = None
    if system.solute:
        told = lambda part: progress(
            0.02 + 0.8 * part, f"analysed {round(part * len(plan.frames)):,} of {len(plan.frames):,} frames"
        )  # noqa: E731
        snapshots = Snapshots(request["snapshots"], len(plan.frames)) if request.get("snapshots") else None
        motion = analysis_trajectory.follow(trajectory, system, plan, told, snapshots and snapshots.take)
        if snapshots and (note := snapshots.write(system.solute.topology)):
            plan.notes.append(note)
        series = {"rmsd": (times, motion.rmsd), "radius-of-gyration": (times, motion.gyration), **series}
    return Run(start, system, found.frames, plan, motion, state, steps, times, series)


def document_of(request: dict[str, Any], run: Run) -> dict[str, Any]:
    """analysis.json."""
    notes = [*run.system.notes, *run.plan.notes]
    if run.state.rows == 0:
        notes.append("state.csv has no rows: outputs.stateIntervalSteps is longer than the run, and energies are left out.")
    if run.state.every > 1:
        notes.append(f"Statistics are over every {run.state.every}th of the {run.state.rows:,} rows of state.csv.")
    quantities = [describe(KINDS[name], *run.series[name]) for name in KINDS if name in run.series]
    duration_ns = request["productionSteps"] * request["timestepFs"] / 1e6
    solute = run.system.solute
    return {
        "schema": ANALYSIS_SCHEMA,
        "title": str(request.get("title") or ""),
        "system": {"atoms": run.system.atoms, "waters": run.system.waters, "ions": run.system.ions},
        "solute": solute
        and {
            "kind": solute.kind,
            "description": solute.description,
            "atoms": len(solute.atoms),
            "fittedAtoms": len(solute.fit),
            "residues": len(solute.residues),
            "molecules": len(solute.molecules),
        },
        "run": {
            "startNs": rounded(run.start.time_ps / 1000),
            "durationNs": rounded(duration_ns),
            "timestepFs": request["timestepFs"],
            "productionSteps": request["productionSteps"],
            "temperatureK": request["temperatureK"],
            "frames": run.frames,
            "framesAnalysed": len(run.plan.frames),
            "stateRows": run.state.rows,
            "nsPerDay": rounded(run.state.speed_ns_day),
        },
        "quantities": quantities,
        "rmsf": [
            {
                "chain": name.chain,
                "residue": name.number,
                "insertionCode": name.insertion,
                "residueName": name.name,
                "rmsfNm": rounded(float(value)),
            }
            for (name, _), value in zip(solute.residues, run.motion.rmsf)
        ]
        if solute and run.motion
        else [],
        "judgement": judgement(quantities, duration_ns, request["temperatureK"]),
        "notes": notes,
    }


def write_table(run: Run) -> None:
    """analysis.csv: a row for each analysed frame; energies stay empty where state.csv has no row of the same step."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    measured = [name for name in FRAME_COLUMNS if name in run.series]
    kept = [name for name in analysis_state.COLUMNS if name in run.series]
    table.writerow(
        ["step", "time_ps", *(FRAME_COLUMNS[name] for name in measured), *(analysis_state.COLUMNS[name] for name in kept)]
    )
    for row, step in enumerate(run.steps.tolist()):
        energies = run.state.wanted.get(step, {})
        table.writerow(
            [
                step,
                f"{run.times_ps[row]:.10g}",
                *(f"{run.series[name][1][row]:.5f}" for name in measured),
                *(f"{energies[name]:.8g}" if name in energies else "" for name in kept),
            ]
        )
    write_text(OUT / "analysis.csv", text.getvalue())


def figures(document: dict[str, Any], run: Run) -> dict[str, plots.Figure]:
    """The figures that the run has values for, by file name without ending."""
    described = {quantity["id"]: quantity for quantity in document["quantities"]}
    target, over_time = document["run"]["temperatureK"], partial(plots.over_time, start_ps=run.start.time_ps)
    curve = lambda name, label, **more: plots.Curve(label, *run.series[name], mean_text(described[name]), **more)  # noqa: E731
    drawn = {}
    if run.motion and run.system.solute:
        whose = "Backbone RMSD" if run.system.solute.kind == "backbone" else "RMSD"
        drawn["rmsd"] = over_time([curve("rmsd", f"{whose} (nm)", from_zero=True)], f"{whose} to the first frame over time")
        gyration = curve("radius-of-gyration", "Radius of gyration (nm)")
        drawn["radius-of-gyration"] = over_time([gyration], "Radius of gyration over time")
        if len(run.plan.frames) > 1:
            places = [plots.Place(name.chain, name.number + name.insertion, name.name) for name, _ in run.system.solute.residues]
            atoms = "Cα RMSF" if run.system.solute.kind == "backbone" else "RMSF"
            drawn["rmsf"] = plots.per_residue(places, run.motion.rmsf, f"{atoms} (nm)", f"{atoms} of each residue")
    if run.state.rows:
        energy = [curve("potential-energy", "Potential (kJ/mol)"), curve("total-energy", "Total (kJ/mol)")]
        drawn["energy"] = over_time(energy, "Potential and total energy over time")
        dashed = {"target": target, "target_label": f"thermostat {target:g} K"}
        drawn["temperature"] = over_time([curve("temperature", "Temperature (K)", **dashed)], "Temperature over time")
        if "density" in run.series:
            drawn["density"] = over_time([curve("density", "Density (g/ml)")], "Density over time")
    return drawn


def mean_text(quantity: dict[str, Any]) -> str:
    """Mean and standard error of a quantity with its unit, as it is written into figures and tables."""
    return f"mean {analysis_report.figure_with_error(quantity)} {quantity['unit']}"


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    preparation, simulation = (document_below(IN / name) for name in ("preparation.json", "simulation.json"))
    run = measure(request, start_of(simulation), progress)
    document = document_of(request, run)
    progress(0.85, "drawing the figures")
    drawn = figures(document, run)
    for name, figure in drawn.items():
        write_bytes(OUT / "plots" / f"{name}.svg", figure.svg)
        write_bytes(OUT / "plots" / f"{name}.png", figure.png)
    progress(0.95, "writing the report")
    write_json(OUT / "analysis.json", document)
    write_table(run)
    programs = program_versions(["openmm", "mdtraj", "numpy", "matplotlib"])
    write_text(OUT / "report.html", analysis_report.report_html(request, document, preparation, simulation, drawn, programs))
    summary = {
        "run": document["run"],
        "judgement": document["judgement"],
        "plots": sorted(drawn),
        "notes": document["notes"],
        "quantities": [
            {key: q[key] for key in ("id", "title", "unit", "mean", "standardDeviation", "standardError", "verdict")}
            for q in document["quantities"]
        ],
    }
    return {"summary": summary, "programs": programs}


def document_below(path: Path) -> dict[str, Any]:
    """What an earlier program has told of its work; {} when it is not there."""
    if not path.exists():
        return {}
    if path.stat().st_size > MAX_DOCUMENT_BYTES:
        raise Failure("EXECUTOR", "DOCUMENT_TOO_LARGE", f"{path.name} is larger than any that the simulation writes.")
    try:
        document = read_json(path)
    except ValueError:
        raise Failure("EXECUTOR", "DOCUMENT_UNREADABLE", f"{path.name} is no JSON.") from None
    return document if isinstance(document, dict) else {}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
