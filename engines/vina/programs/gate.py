"""Stops a docking job whose native ligand was not found again within the gate that its request sets.

Reads request.json and in/redock.json, writes out/result.json, or ends with the failure REDOCKING_GATE. Standard library only,
so that a job waits for it no longer than it must.
"""

from __future__ import annotations

import sys
from typing import Any

from plans import main
from task import IN, Progress, one_line, program_versions, read_json, user_error


def refuse(validation: dict[str, Any], gate: float) -> str:
    """The message of a job that is stopped: the figures, and what to do."""
    native, rmsd = one_line(str(validation["componentId"]), 20), validation["rmsdAngstrom"]
    figures = (
        f"Docking {native} again gave a best-scored pose {rmsd:.2f} Å from the crystal's, above "
        f"dockingValidation.gateRmsdAngstrom of {gate:g} Å, "
        "so the library was not docked. "
    )
    if validation["closestRmsdAngstrom"] <= gate:
        return figures + (
            f"Pose {validation['closestRank']} is within the gate ({validation['closestRmsdAngstrom']:.2f} Å): the search finds "
            f"the crystal pose but does "
            "not score it best. Check protonation states and waters or ions of the site, or raise the gate."
        )
    return figures + (
        f"No pose is within the gate (closest {validation['closestRmsdAngstrom']:.2f} Å). Raise exhaustiveness, check that the "
        f"box holds the whole "
        "ligand and that receptorPreparation keeps the ions and waters it binds to, or raise the gate."
    )


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    validation, gate = read_json(IN / "redock.json"), request["gateRmsdAngstrom"]
    progress(0.0, "comparing the redocked pose with the gate")
    if not validation["rmsdAngstrom"] <= gate:
        raise user_error("REDOCKING_GATE", refuse(validation, gate))
    return {
        "summary": {"rmsdAngstrom": validation["rmsdAngstrom"], "gateRmsdAngstrom": gate},
        "failures": [],
        "programs": program_versions([]),
    }


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
