"""Makes an OpenMM system of a protein's structure or of an Amber topology.

Reads request.json and in/structure, or in/prmtop and in/inpcrd. Writes out/system.xml (with force field, PME and barostat),
out/topology.pdb (out/topology.cif beyond 99,999 atoms), out/initial-state.xml and out/preparation.json, which says what was done.
The same inputs and seed give the same files.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import openmm
from openmm import app, unit

from amber import prepare_amber
from identity import PACKAGES, toolchain
from protein import prepare_protein
from systems import (
    CUTOFF_NM,
    MAX_PDB_ATOMS,
    Prepared,
    add_barostat,
    check_box,
    check_planned,
    degrees_of_freedom,
    initial_state,
    mass_dalton,
    name_chains,
    net_charge,
    topology_sha256,
)
from task import IN, OUT, Progress, main, program_versions, sha256, user_error, write_json, write_text

SCHEMA = "molfabric.openmm.preparation/v1"


def check_trajectory(atoms: int, request: dict[str, Any]) -> None:
    """Refuses a trajectory that is larger than a run may leave. The plan could only guess the atoms."""
    size = request["frames"] * atoms * 12
    if size > request["maxTrajectoryBytes"]:
        most = request["maxTrajectoryBytes"] // (atoms * 12)
        raise user_error(
            "TRAJECTORY_TOO_LARGE",
            f"{request['frames']:,} frames of {atoms:,} atoms are {size / 1e9:.1f} GB; at most "
            f"{request['maxTrajectoryBytes'] / 1e9:.1f} GB, "
            f"{most:,} frames, are written. Raise outputs.trajectoryIntervalSteps.",
        )


def topology_file(topology: app.Topology, positions: Any) -> tuple[str, str]:
    """Name and text of the topology with the start's coordinates."""
    text = io.StringIO()
    if topology.getNumAtoms() > MAX_PDB_ATOMS:
        app.PDBxFile.writeFile(topology, positions, text, keepIds=True)
        return "topology.cif", undated(text.getvalue(), "# Created")
    app.PDBFile.writeFile(topology, positions, text, keepIds=True)
    return "topology.pdb", undated(text.getvalue(), "REMARK")


def undated(text: str, comment: str) -> str:
    """The text without the line in which OpenMM says when it was written."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(comment)) + "\n"


def describe(prepared: Prepared, request: dict[str, Any], system_xml: str, energy: float) -> dict[str, Any]:
    box = prepared.box.value_in_unit(unit.nanometer)
    system, topology = prepared.system, prepared.topology
    return {
        "schema": SCHEMA,
        "input": prepared.report,
        "atoms": system.getNumParticles(),
        "residues": topology.getNumResidues(),
        "chains": topology.getNumChains(),
        "bonds": topology.getNumBonds(),
        "degreesOfFreedom": degrees_of_freedom(system),
        "massDalton": round(mass_dalton(system), 4),
        "netChargeE": net_charge(system),
        "boxVectorsNm": [[round(float(x), 6) for x in vector] for vector in box],
        "cutoffNm": CUTOFF_NM,
        "initialPotentialEnergyKjMol": energy,
        "forceField": request["protocol"]["forceField"],
        "waterModel": request["protocol"]["waterModel"],
        "systemSha256": sha256(system_xml.encode()),
        "topologySha256": topology_sha256(topology),
        "toolchainSha256": toolchain(),
        "notes": prepared.notes,
    }


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.05, "reading the input")
    if request["format"] == "prmtop":
        prepared = prepare_amber(request, IN / "prmtop", IN / "inpcrd")
    else:
        prepared = prepare_protein(request, IN / "structure")
    check_box(prepared.box)
    check_planned(prepared.system.getNumParticles(), request["maxAtoms"], "The system has")
    name_chains(prepared.topology)
    check_trajectory(prepared.system.getNumParticles(), request)
    progress(0.7, f"writing a system of {prepared.system.getNumParticles():,} atoms")
    prepared.system.setDefaultPeriodicBoxVectors(*prepared.box)
    add_barostat(prepared.system, request["protocol"])
    system_xml = openmm.XmlSerializer.serialize(prepared.system)
    state_xml, energy = initial_state(prepared.system, prepared.positions, prepared.box)
    name, text = topology_file(prepared.topology, prepared.positions)
    document = describe(prepared, request, system_xml, energy)
    write_text(OUT / "system.xml", system_xml)
    write_text(OUT / "initial-state.xml", state_xml)
    write_text(OUT / name, text)
    write_json(OUT / "preparation.json", document)
    summary = {
        key: document[key] for key in ("atoms", "residues", "boxVectorsNm", "netChargeE", "notes", "systemSha256", "topologySha256")
    }
    return {"summary": summary, "programs": program_versions(PACKAGES)}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
