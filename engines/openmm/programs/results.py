"""What is written at the end of a run: its state and structures, results.json and provenance.json."""

from __future__ import annotations

import csv
import math
from typing import Any

import openmm

from dynamics import state_xml
from identity import PACKAGES, worker_image_digest
from platforms import properties_of
from run import Run
from task import IN, OUT, program_versions, write_bytes, write_json, write_text, written
from trajectory import COLUMNS

RESULTS_SCHEMA = "molfabric.openmm.results/v1"
PROVENANCE_SCHEMA = "molfabric.openmm.provenance/v1"
# What a request names as the worker image when it asks for none: it must name one.
ANY_IMAGE = "sha256:" + 64 * "0"
# Statistics of results.json and the columns that they are of.
STATISTICS = {
    "potentialEnergyKjMol": "potential_kj_mol",
    "kineticEnergyKjMol": "kinetic_kj_mol",
    "totalEnergyKjMol": "total_kj_mol",
    "temperatureK": "temperature_k",
    "volumeNm3": "volume_nm3",
    "densityGMl": "density_g_ml",
}


def statistics() -> dict[str, Any]:
    """Mean and standard deviation (with n - 1) of the table's columns."""
    count, means, squares = 0, dict.fromkeys(STATISTICS, 0.0), dict.fromkeys(STATISTICS, 0.0)
    with open(OUT / "state.csv", encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if row[0] == COLUMNS[0]:
                continue
            count += 1
            for name, column in STATISTICS.items():
                value = float(row[COLUMNS.index(column)])
                difference = value - means[name]
                means[name] += difference / count
                squares[name] += difference * (value - means[name])
    return {
        name: {
            "mean": float(f"{means[name]:.7g}"),
            "sd": float(f"{math.sqrt(squares[name] / (count - 1)):.4g}") if count > 1 else None,
        }
        for name in STATISTICS
    }


def write_results(run: Run) -> dict[str, Any]:
    """Writes everything that is left at the end, and returns the shard's summary."""
    run.outputs.finish()
    write_text(OUT / "final-state.xml", state_xml(run.dynamics.state()))
    write_bytes(OUT / "final.chk", run.dynamics.context.createCheckpoint())
    for name, text in run.outputs.structures.items():
        write_text(OUT / f"{name}.{'cif' if (IN / 'topology.cif').exists() else 'pdb'}", text)
    results = results_document(run)
    write_json(OUT / "results.json", results)
    write_json(OUT / "provenance.json", provenance(run, results))
    shown = (
        "atoms",
        "simulatedNs",
        "frames",
        "nsPerDay",
        "platform",
        "temperatureK",
        "densityGMl",
        "potentialEnergyKjMol",
        "restart",
        "resumes",
        "notes",
    )
    return {key: results[key] for key in shown}


def results_document(run: Run) -> dict[str, Any]:
    protocol, platform, facts = run.request["protocol"], run.request["platform"], run.facts
    properties = properties_of(run.dynamics.context)
    return {
        "schema": RESULTS_SCHEMA,
        "title": run.request["title"],
        "atoms": run.atoms,
        "productionSteps": protocol["productionSteps"],
        "equilibrationSteps": {"nvt": run.lengths["nvt"], "npt": run.lengths["npt"]},
        "timestepFs": protocol["timestepFs"],
        "simulatedNs": round(protocol["productionSteps"] * protocol["timestepFs"] * 1e-6, 9),
        "frames": run.outputs.frames,
        "stateRows": run.outputs.rows,
        "trajectoryIntervalSteps": run.request["outputs"]["trajectoryIntervalSteps"],
        "stateIntervalSteps": run.request["outputs"]["stateIntervalSteps"],
        "nsPerDay": round(run.ns_per_day(), 4),
        "productionWallSeconds": round(facts["productionWallSeconds"], 3),
        "platform": {
            "name": platform["name"],
            "precision": platform["precision"] if platform["name"] != "CPU" else "single",  # of its forces; it knows no other
            "openmmVersion": openmm.Platform.getOpenMMVersion(),
            "cpuThreads": platform["cpuThreads"],
            "properties": properties,
        },
        **statistics(),
        "minimisation": facts["minimisation"],
        "restart": facts["restart"],
        "resumes": facts["resumes"],
        "notes": notes(run),
    }


def notes(run: Run) -> list[str]:
    asked, found = run.request["workerImageDigest"], worker_image_digest()
    kept = ["molecules of the trajectory are whole and where they moved to; they are not wrapped into the box"]
    if asked not in (found, ANY_IMAGE):
        kept.append(f"execution.workerImageDigest asks for {asked}; the run was made by the installation {found}")
    if run.request["restart"]:
        kept.append(
            "the run went on from an earlier one: it was not minimised and not equilibrated again; steps and time are counted on "
            f"from its {run.outputs.clock.time_ps:g} ps"
        )
    if run.facts["resumes"]:
        kept.append(f"the run was interrupted and went on from a save {len(run.facts['resumes'])} times")
    return kept


def provenance(run: Run, results: dict[str, Any]) -> dict[str, Any]:
    """restartProvenance is what a request that goes on from this run may state as it stands."""
    request = run.request
    return {
        "schema": PROVENANCE_SCHEMA,
        "programs": program_versions(PACKAGES),
        "parameters": {key: request[key] for key in ("protocol", "outputs", "platform")},
        "restartProvenance": run.identity(),
        "workerImageDigestAsked": request["workerImageDigest"],
        "inputs": {
            "restart": request["restart"],
            "files": request["inputs"],
            "preparation": {key: run.preparation[key] for key in ("systemSha256", "topologySha256", "toolchainSha256")},
        },
        "outputs": [{"name": name, "sha256": found} for name, found in sorted(written.items())],
        "citations": request["citations"],
        "methods": methods(run, results),
    }


def methods(run: Run, results: dict[str, Any]) -> str:
    """A paragraph for a paper."""
    p, preparation = run.request["protocol"], run.preparation
    field = (
        "the parameters of its Amber topology"
        if p["forceField"] == "amber-prmtop"
        else f"the force field {p['forceField']} and {p['waterModel']} water"
    )
    way = []
    if results["minimisation"]:
        way.append("its energy was minimised")
    if run.lengths["nvt"]:
        way.append(f"it was equilibrated for {run.lengths['nvt'] * p['timestepFs'] / 1000:g} ps at constant volume")
    if run.lengths["npt"]:
        way.append(f"for {run.lengths['npt'] * p['timestepFs'] / 1000:g} ps at constant pressure")
    before = f" Before, {', '.join(way)}." if way else ""
    if run.request["restart"]:
        before = f" It went on from an earlier run of {run.outputs.clock.time_ps / 1000:g} ns."
    return (
        f"A system of {preparation['atoms']:,} atoms with {field} was simulated for {results['simulatedNs']:g} ns with OpenMM "
        f"{results['platform']['openmmVersion']} "
        f"({results['platform']['name']} platform) at {p['temperatureK']:g} K and {p['pressureBar']:g} bar, with the Langevin "
        f"middle integrator "
        f"(time step {p['timestepFs']:g} fs, friction {p['frictionPerPs']:g}/ps), a Monte Carlo barostat every 25 steps, particle "
        f"mesh Ewald with a cutoff of "
        f"{preparation['cutoffNm']} nm, constrained bonds to hydrogen and the random seed {p['seed']}.{before}"
    )
