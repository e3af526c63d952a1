"""A search that goes on until it has converged: rounds of AutoDock Vina, each a whole search with a seed of its own, until two of
them have found the best pose independently of each other, or the ligand's bound is reached.

A round has found the best pose of all when one of its poses is the same pose (SAME_POSE_ANGSTROM, over the ligand's symmetries) at
the same score (SAME_SCORE_KCAL_MOL). A round's seed, and with it its poses, follow from the job's seed and the round's number
alone: `vina --seed` with that seed, the round's exhaustiveness and the plan's candidates as `--num_modes` finds them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from merging import Model, distinct, on_one_scale, ranked, read_models, written

if TYPE_CHECKING:
    from symmetry import Distance

AUTO = "auto"
# Two searches find one minimum of a drug within 0.2 Å and 0.1 kcal/mol, and that of a macrocycle (BACE_1's) within 1.3 Å and 0.4.
SAME_POSE_ANGSTROM = 1.5
SAME_SCORE_KCAL_MOL = 0.5
ENOUGH_ROUNDS = 2  # that find the best pose
MOST_EXHAUSTIVENESS = 128  # that a request may ask for
PROGRESS_OF_TWO_ROUNDS = 0.8  # most searches need no more

Search = Callable[[int, int], str]  # exhaustiveness and seed → poses as PDBQT
# Poses as PDBQT → how likely each is to be near to native; None where nobody can tell.
Likelihoods = Callable[[str], list[float] | None]


def most_searches(auto: dict[str, Any], heavy_atoms: int) -> int:
    """The bound of a ligand's exhaustiveness, from the request's table by heavy atoms."""
    for bound in auto["bounds"]:
        if heavy_atoms <= bound["heavyAtoms"]:
            return bound["exhaustiveness"]
    return auto["bounds"][-1]["exhaustiveness"]


def first_round(auto: dict[str, Any], rotatable_bonds: int) -> int:
    """The exhaustiveness of a ligand's first round: flexible ligands need longer ones, lest two rounds agree on what is easy to
    find."""
    return auto["flexibleFirstRound"] if rotatable_bonds >= auto["flexibleBonds"] else auto["firstRound"]


def sizes(first: int, most: int) -> Iterator[int]:
    """The exhaustiveness of each round: two equal ones, then each as much as all before it, most in all."""
    done = 0
    while done < most:
        size = min(first if done <= first else done, most - done)
        yield size
        done += size


def seed_of(seed: int, number: int) -> int:
    """The seed of a round, from 1 on: the search's own for the first. Vina takes 0 for "random", so that it is never 0."""
    if number == 1:
        return seed
    digest = hashlib.sha256(f"round {number} of {seed}".encode()).digest()
    return max(int.from_bytes(digest[:4], "big") & 0x7FFFFFFF, 1)


def part_of(number: int) -> tuple[float, float]:
    """Where a round, from 1 on, begins and ends in the ligand's progress: nobody knows how many there will be."""

    def end(n: int) -> float:
        return PROGRESS_OF_TWO_ROUNDS * n / 2 if n <= 2 else 1 - (1 - PROGRESS_OF_TWO_ROUNDS) * 0.5 ** (n - 2)

    return end(number - 1), end(number)


class Rounds:
    """The rounds of one ligand's search so far. Each keeps so many candidates, of which modes poses are chosen by their
    likelihoods, or by Vina's score where these are not asked for."""

    def __init__(
        self, seed: int, modes: int, energy_range: float, candidates: int = 0, likelihoods: Likelihoods | None = None
    ) -> None:
        self.seed, self.modes, self.energy_range, self.likelihoods = seed, modes, energy_range, likelihoods
        self.candidates = max(candidates, modes)
        self.done: list[dict[str, Any]] = []  # seed and exhaustiveness
        self.told: list[list[Model]] = []  # what each has found, as Vina told it
        self.searches: list[list[Model]] = []  # the same on one scale
        self.distance: Distance | None = None

    def add(self, size: int, text: str) -> None:
        """Takes the poses of the next round, as Vina wrote them."""
        self.done.append({"seed": seed_of(self.seed, len(self.done) + 1), "exhaustiveness": size})
        self.told.append(read_models(text))
        self.searches = on_one_scale(self.told) if any(self.told) else self.told

    def best(self) -> Model | None:
        order = ranked(self.searches)
        return order[0] if order else None

    def apart(self, one: Model, other: Model) -> float:
        if self.distance is None:
            from symmetry import distance_of  # RDKit, which a search of a fixed length does without

            self.distance = distance_of(list(one.body), one.serials())
        return self.distance(one.heavy, other.heavy)

    def found(self, models: list[Model], best: Model) -> bool:
        """Whether a round has found the best pose of all."""
        near = (model for model in models if model.score <= best.score + SAME_SCORE_KCAL_MOL)
        return any(self.apart(model, best) <= SAME_POSE_ANGSTROM for model in near)

    def agreeing(self) -> int:
        """How many rounds have found the best pose of all."""
        best = self.best()
        return 0 if best is None else sum(self.found(models, best) for models in self.searches)

    def poses(self) -> str:
        """The poses of all rounds as one list, in Vina's order."""
        found = distinct(ranked(self.searches), self.apart, self.candidates, self.energy_range)
        likelihoods = self.likelihoods(written(found)) if self.likelihoods is not None and len(found) > self.modes else None
        if likelihoods is not None:
            found = chosen(found, likelihoods, self.modes)
        return written(found[: self.modes]) if found else ""

    def convergence(self) -> dict[str, Any] | None:
        """How the rounds agree, for the ligand's record; None when they have found nothing."""
        best = self.best()
        if best is None:
            return None
        agreeing = self.agreeing()
        rounds = []
        for done, models in zip(self.done, self.searches):
            own = models[0] if models else None
            rounds.append(
                {
                    **done,
                    "bestScoreKcalMol": own and own.score,
                    "rmsdToBestAngstrom": own and round(self.apart(own, best), 2),
                    "foundBest": self.found(models, best),
                }
            )
        scores = [entry["bestScoreKcalMol"] for entry in rounds if entry["bestScoreKcalMol"] is not None]
        return {
            "converged": agreeing >= ENOUGH_ROUNDS,
            "exhaustiveness": sum(done["exhaustiveness"] for done in self.done),
            "rounds": rounds,
            "agreeingRounds": agreeing,
            "scoreSpreadKcalMol": round(max(scores) - min(scores), 3),
            "poseSpreadAngstrom": max(entry["rmsdToBestAngstrom"] or 0.0 for entry in rounds),
        }


def chosen(models: list[Model], likelihoods: list[float], most: int) -> list[Model]:
    """The best of the ranked models and the likeliest of the others, still as they are ranked."""
    likeliest = sorted(range(1, len(models)), key=lambda place: (-likelihoods[place], place))
    return [models[place] for place in sorted([0, *likeliest[: most - 1]])]


def converge(search: Search, auto: dict[str, Any], rounds: Rounds, ligand: dict[str, Any]) -> Rounds:
    """Searches until ENOUGH_ROUNDS rounds have found the best pose, or up to the ligand's bound. Raises what search raises, and
    PoseError."""
    for size in sizes(first_round(auto, ligand["rotatableBonds"]), most_searches(auto, ligand["heavyAtoms"])):
        rounds.add(size, search(size, seed_of(rounds.seed, len(rounds.done) + 1)))
        if len(rounds.done) >= ENOUGH_ROUNDS and rounds.agreeing() >= ENOUGH_ROUNDS:
            break
    return rounds


def checked(convergence: Any) -> dict[str, Any] | None:
    """A convergence that was read from a file. Raises LookupError, TypeError or ValueError for what Rounds does not write."""
    if convergence is None:
        return None
    if type(convergence["converged"]) is not bool or any(
        type(convergence[key]) is not int for key in ("exhaustiveness", "agreeingRounds")
    ):
        raise ValueError("not a convergence")
    if not 0 < len(convergence["rounds"]) <= MOST_EXHAUSTIVENESS:
        raise ValueError("not the rounds of a search")
    return convergence


def notes_of(convergence: dict[str, Any] | None) -> list[str]:
    """What a user should know of a search that has not converged."""
    if convergence is None or convergence["converged"]:
        return []
    count, spent = len(convergence["rounds"]), convergence["exhaustiveness"]
    return [
        f"the search has not converged: only 1 of its {count} independent searches found the best pose (exhaustiveness {spent} "
        f"in all); "
        f"dock this ligand with exhaustiveness {MOST_EXHAUSTIVENESS if 2 * spent > 64 else 64}, or in a smaller box"
    ]
