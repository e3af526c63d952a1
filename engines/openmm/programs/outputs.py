"""The files of a run: the trajectory and the table while they grow, and what is written at its end."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import openmm
from openmm import app, unit

from common import IN, OUT, Failure, file_sha256, program_versions, write_bytes, write_json, write_text, written
from dynamics import Energies, state_xml
from identity import PACKAGES, worker_image_digest
from platforms import properties_of
from saving import Needed, Part, Saved, unpack
from trajectory import COLUMNS, CSV_HEADER, Growing, csv_row, dcd_frame, dcd_header, frame_bytes

if TYPE_CHECKING:
    from run import Run

RESULTS_SCHEMA = "molfabric.openmm.results/v1"
PROVENANCE_SCHEMA = "molfabric.openmm.provenance/v1"
ROW_BYTES = 130  # of a long row
# What a request names as the worker image when it asks for none: it must name one.
ANY_IMAGE = "sha256:" + 64 * "0"
# Statistics of results.json and the columns that they are of.
STATISTICS = {
    "potentialEnergyKjMol": "potential_kj_mol", "kineticEnergyKjMol": "kinetic_kj_mol", "totalEnergyKjMol": "total_kj_mol", "temperatureK": "temperature_k",
    "volumeNm3": "volume_nm3", "densityGMl": "density_g_ml",
}  # fmt: skip


class Clock(NamedTuple):
    """Steps and time of the earlier runs that production goes on from; its own are counted on from them."""

    steps: int
    time_ps: float


class Outputs:
    """Trajectory and table. What an interrupted attempt had saved of them is copied first; what came after its save never is."""

    def __init__(self, request: dict[str, Any], atoms: int, resumed: Saved | None, segments: list[Needed]) -> None:
        self.request, self.atoms = request, atoms
        self.timestep_ps = request["protocol"]["timestepFs"] / 1000
        self.clock = Clock(0, 0.0)
        self.frames = self.rows = self.tail_frames = self.tail_rows = 0
        self.structures: dict[str, str] = {}
        self.dcd, self.csv = Growing("trajectory.dcd", self.header(0)), Growing("state.csv", CSV_HEADER)
        self.tail_starts = self.dcd.size, self.csv.size
        for segment in segments:
            found = unpack(segment.path())
            if found is None:
                raise Failure("EXECUTOR", "SAVE_UNREADABLE", "A segment of the interrupted attempt vanished while it was read; the task is to be repeated.")
            self.take(found[1], segment.frames, segment.rows)
        self.segment_closed()
        if resumed and "dcd" in resumed.parts:
            self.take(resumed.parts, resumed.header["tailFrames"], resumed.header["tailRows"])

    @staticmethod
    def expected_bytes(request: dict[str, Any], atoms: int) -> int:
        steps, outputs = request["protocol"]["productionSteps"], request["outputs"]
        return steps // outputs["trajectoryIntervalSteps"] * frame_bytes(atoms) + steps // outputs["stateIntervalSteps"] * ROW_BYTES

    def header(self, frames: int) -> bytes:
        interval = self.request["outputs"]["trajectoryIntervalSteps"]
        return dcd_header(self.atoms, frames, interval, self.timestep_ps, self.clock.steps)

    def take(self, parts: dict[str, Part], frames: int, rows: int) -> None:
        for growing, part in ((self.dcd, parts["dcd"]), (self.csv, parts["csv"])):
            growing.append_from(*part)
        self.count(frames, rows)

    def count(self, frames: int, rows: int) -> None:
        self.frames, self.tail_frames = self.frames + frames, self.tail_frames + frames
        self.rows, self.tail_rows = self.rows + rows, self.tail_rows + rows

    def frame(self, positions_nm: np.ndarray, box_nm: np.ndarray) -> None:
        self.dcd.append(dcd_frame(positions_nm, box_nm))
        self.count(1, 0)

    def row(self, step: int, energies: Energies, speed_ns_day: float) -> None:
        """step is this run's."""
        time_ps = self.clock.time_ps + step * self.timestep_ps
        self.csv.append(csv_row(self.clock.steps + step, time_ps, energies, speed_ns_day))
        self.count(0, 1)

    def flush(self) -> None:
        self.dcd.flush()
        self.csv.flush()

    def tails(self) -> dict[str, Part]:
        """What has been written since the last segment."""
        starts = zip(("dcd", "csv"), (self.dcd, self.csv), self.tail_starts, strict=True)
        return {name: Part(growing.path, start, growing.size - start) for name, growing, start in starts}

    def segment_closed(self) -> None:
        self.tail_starts = self.dcd.size, self.csv.size
        self.tail_frames = self.tail_rows = 0

    def finish(self) -> None:
        """Gives both files their names. Raises a Failure when they lack a frame or a row, or have one too many."""
        steps, outputs = self.request["protocol"]["productionSteps"], self.request["outputs"]
        wanted = steps // outputs["trajectoryIntervalSteps"], steps // outputs["stateIntervalSteps"]
        if (self.frames, self.rows) != wanted or self.dcd.size != len(self.header(0)) + self.frames * frame_bytes(self.atoms):
            raise Failure("EXECUTOR", "OUTPUT_INCOMPLETE", f"The run has {self.frames} frames and {self.rows} rows of {wanted[0]} and {wanted[1]}.")
        for path in (self.dcd.finish(self.header(self.frames)), self.csv.finish(CSV_HEADER)):
            written[path.relative_to(OUT).as_posix()] = file_sha256(path)


def structure_text(positions_nm: np.ndarray, box_nm: np.ndarray) -> str:
    """The topology's file with other coordinates and another box."""
    path = IN / "topology.pdb"
    if not path.exists():
        file, text = app.PDBxFile(str(IN / "topology.cif")), io.StringIO()
        file.topology.setPeriodicBoxVectors(box_nm * unit.nanometer)
        app.PDBxFile.writeFile(file.topology, positions_nm * unit.nanometer, text, keepIds=True)
        return text.getvalue()
    lines, atoms = [], iter(positions_nm * 10)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("ATOM  ", "HETATM")):
            line = line[:30] + "".join(f"{value:8.3f}"[:8] for value in next(atoms)) + line[54:]
        lines.append(cell_line(box_nm) if line.startswith("CRYST1") else line)
    return "\n".join(lines) + "\n"


def cell_line(box_nm: np.ndarray) -> str:
    a, b, c = (10 * vector for vector in box_nm)
    angles = (math.degrees(math.acos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))) for u, v in ((b, c), (a, c), (a, b)))
    lengths = "".join(f"{np.linalg.norm(vector):9.3f}" for vector in (a, b, c))
    return f"CRYST1{lengths}{''.join(f'{angle:7.2f}' for angle in angles)} P 1           1 "


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
        name: {"mean": float(f"{means[name]:.7g}"), "sd": float(f"{math.sqrt(squares[name] / (count - 1)):.4g}") if count > 1 else None}
        for name in STATISTICS
    }  # fmt: skip


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
    shown = ("atoms", "simulatedNs", "frames", "nsPerDay", "platform", "temperatureK", "densityGMl", "potentialEnergyKjMol", "restart", "resumes", "notes")
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
            "restart": request["restart"], "files": request["inputs"],
            "preparation": {key: run.preparation[key] for key in ("systemSha256", "topologySha256", "toolchainSha256")},
        },
        "outputs": [{"name": name, "sha256": found} for name, found in sorted(written.items())],
        "citations": request["citations"],
        "methods": methods(run, results),
    }  # fmt: skip


def methods(run: Run, results: dict[str, Any]) -> str:
    """A paragraph for a paper."""
    p, preparation = run.request["protocol"], run.preparation
    field = "the parameters of its Amber topology" if p["forceField"] == "amber-prmtop" else f"the force field {p['forceField']} and {p['waterModel']} water"
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
        f"A system of {preparation['atoms']:,} atoms with {field} was simulated for {results['simulatedNs']:g} ns with OpenMM {results['platform']['openmmVersion']} "
        f"({results['platform']['name']} platform) at {p['temperatureK']:g} K and {p['pressureBar']:g} bar, with the Langevin middle integrator "
        f"(time step {p['timestepFs']:g} fs, friction {p['frictionPerPs']:g}/ps), a Monte Carlo barostat every 25 steps, particle mesh Ewald with a cutoff of "
        f"{preparation['cutoffNm']} nm, constrained bonds to hydrogen and the random seed {p['seed']}.{before}"
    )
