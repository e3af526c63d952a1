"""What AutoDock Vina writes of a docked ligand: its poses as PDBQT, and the energies in their remarks."""

from __future__ import annotations

import math
import re
from typing import Any

from task import Failure

MIN_RMSD_ANGSTROM = 1.0  # Vina's default: poses closer than this are one pose
UNBOUND_TOLERANCE_KCAL_MOL = 0.002

RESULT_LINE = re.compile(r"REMARK VINA RESULT:\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
TERM_LINE = re.compile(r"REMARK (INTER \+ INTRA|INTER|INTRA|UNBOUND):\s+(\S+)\s*$")


class PoseError(Exception):
    """Vina's output for a ligand is not usable. step is dock or parse_output."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


def parse_poses(text: str) -> list[dict[str, Any]]:
    """Poses of a Vina output, best first. Energies in kcal/mol, deviations from the best pose in Å."""
    poses: list[dict[str, Any]] = []
    for block in text.split("MODEL ")[1:]:
        lines = block.splitlines()
        result = next((match for line in lines if (match := RESULT_LINE.match(line))), None)
        terms = {match[1]: float(match[2]) for line in lines if (match := TERM_LINE.match(line))}
        if result is None or len(terms) != 4 or "ENDMDL" not in lines:
            raise PoseError("parse_output", f"model {len(poses) + 1} of Vina's output is incomplete")
        score, lower, upper = (float(result[i]) for i in (1, 2, 3))
        if not all(map(math.isfinite, (score, lower, upper, *terms.values()))):
            raise PoseError("parse_output", f"model {len(poses) + 1} of Vina's output has energies that are not numbers")
        torsional = score - (terms["INTER + INTRA"] - terms["UNBOUND"])
        poses.append(
            {
                "rank": len(poses) + 1,
                "scoreKcalMol": score,
                "rmsdLowerBound": lower,
                "rmsdUpperBound": upper,
                "terms": {
                    "inter": terms["INTER"],
                    "intra": terms["INTRA"],
                    "torsional": round(torsional, 3) + 0.0,
                    "unbound": terms["UNBOUND"],
                },
            }
        )
    return poses


def check_poses(poses: list[dict[str, Any]]) -> None:
    """Vina ends well in cases where its numbers mean nothing; these are what tells them."""
    if not poses:
        raise PoseError("dock", "Vina found no pose in the box")
    best = poses[0]
    if best["scoreKcalMol"] == 0 and best["terms"]["inter"] == 0:
        raise PoseError("dock", "the ligand touches no receptor atom in the box; move the box to the binding site")
    if abs(best["terms"]["unbound"] - best["terms"]["intra"]) > UNBOUND_TOLERANCE_KCAL_MOL:
        raise Failure(
            "EXECUTOR",
            "VINA_WRONG_AFFINITY",
            "AutoDock Vina on this worker reports an unbound energy that differs from the best pose's; its affinities are wrong.",
        )
    if any(later["scoreKcalMol"] < earlier["scoreKcalMol"] for earlier, later in zip(poses, poses[1:])):
        raise PoseError("parse_output", "Vina's poses are not ordered by score")
