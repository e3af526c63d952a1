"""Runs molecular dynamics with OpenMM: minimisation, constant volume, constant pressure, production.

Reads request.json, in/system.xml, in/initial-state.xml, in/preparation.json, in/topology.pdb or .cif, and in/restart where the run
goes on from an earlier one. Writes out/trajectory.dcd, out/state.csv, out/final-state.xml, out/final.chk, out/minimised.pdb,
out/equilibrated.pdb (.cif beyond 99,999 atoms), out/results.json and out/provenance.json.

A resumable run saves itself every checkpointIntervalSteps below out/checkpoint/ and tells of it. When an interrupted attempt is
repeated, its saves lie in in/resume/: the run goes on from the newest that is whole, and no frame is lost or written twice.
"""

from __future__ import annotations

import sys
from typing import Any

from identity import PACKAGES
from platforms import choose
from results import write_results
from run import Run
from systems import read_system
from task import IN, Progress, digest, file_sha256, main, program_versions, read_json


def inputs_sha256(request: dict[str, Any], preparation: dict[str, Any]) -> str:
    """Digest of all that decides a run. The threads are not part of it: a run may go on with more."""
    decisive = {key: request[key] for key in ("protocol", "outputs", "restart")}
    platform = {key: value for key, value in request["platform"].items() if key != "cpuThreads"}
    start = file_sha256(IN / "restart") if request["restart"] else None
    return digest([decisive, platform, preparation["systemSha256"], file_sha256(IN / "initial-state.xml"), start])


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "opening the system")
    chosen = choose(request["platform"])
    preparation = read_json(IN / "preparation.json")
    run = Run(request, preparation, read_system(IN / "system.xml"), chosen, inputs_sha256(request, preparation), progress)
    run.begin()
    run.go()
    progress(0.99, "writing the outputs")
    summary = write_results(run)
    return {"summary": summary, "programs": program_versions(PACKAGES), "seed": request["protocol"]["seed"]}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
