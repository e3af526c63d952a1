"""Poses of several searches of one ligand as one list, written as AutoDock Vina writes those of one.

Vina takes a ligand's unbound energy from the best pose of a search, so that the scores of two searches are not on one scale.
Here all poses get that of the best of all of them, and their scores are shifted accordingly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pdbqt import is_atom, pdbqt_atom
from vina_output import MIN_RMSD_ANGSTROM, RESULT_LINE, TERM_LINE, PoseError

HYDROGENS = frozenset(("H", "HD", "HS"))
# Elements of the AutoDock types that are not spelled like their element, as Vina compares atoms for its lower bound of a distance.
ELEMENTS = {"A": "C", "NA": "N", "NS": "N", "OA": "O", "OS": "O", "SA": "S"} | {f"CG{n}": "C" for n in range(4)}
LEAST_SCORE_KCAL_MOL = 0.1  # smaller ones have too few digits to tell the torsional divisor


class Model(NamedTuple):
    """A pose of Vina's output. Energies in kcal/mol."""

    score: float
    together: float  # inter- and intramolecular
    intra: float
    unbound: float
    body: tuple[str, ...]  # its lines, without those that say the score and the unbound energy
    heavy: np.ndarray  # positions of the heavy atoms, (n, 3) in Å

    def serials(self) -> list[int]:
        return [pdbqt_atom(line).serial for line in self.body if is_atom(line) and pdbqt_atom(line).type not in HYDROGENS]

    def elements(self) -> np.ndarray:
        types = [atom.type for atom in map(pdbqt_atom, filter(is_atom, self.body)) if atom.type not in HYDROGENS]
        return np.array([ELEMENTS.get(atom_type, atom_type) for atom_type in types])


def read_models(text: str) -> list[Model]:
    """The poses of a Vina output that parse_poses has found whole, best first."""
    models = []
    for block in text.split("MODEL ")[1:]:
        lines = block.splitlines()[1:]
        score, terms, body = 0.0, dict[str, float](), []
        for line in lines:
            result, term = RESULT_LINE.match(line), TERM_LINE.match(line)
            if result:
                score = float(result[1])
            elif term and term[1] == "UNBOUND":
                terms[term[1]] = float(term[2])
            else:
                if term:
                    terms[term[1]] = float(term[2])
                body.append(line)
        try:
            atoms = [atom for atom in map(pdbqt_atom, filter(is_atom, body)) if atom.type not in HYDROGENS]
        except ValueError as error:
            raise PoseError("parse_output", f"model {len(models) + 1} of Vina's output: {error}") from None
        positions = np.array([(atom.x, atom.y, atom.z) for atom in atoms], dtype=float).reshape(-1, 3)
        models.append(Model(score, terms["INTER + INTRA"], terms["INTRA"], terms["UNBOUND"], tuple(body), positions))
    return models


def divisor(models: list[Model]) -> float:
    """What Vina divides energies by for the ligand's torsions, from the pose whose score has most digits."""
    best = max(models, key=lambda model: abs(model.score))
    return (best.together - best.unbound) / best.score if abs(best.score) >= LEAST_SCORE_KCAL_MOL else 1.0


def on_one_scale(searches: list[list[Model]]) -> list[list[Model]]:
    """The models with the unbound energy of the best of all, and the scores that follow from it."""
    every = [model for models in searches for model in models]
    best = min(every, key=lambda model: model.together)
    by = divisor(every)
    least = best.score + (best.unbound - best.intra) / by

    def shifted(model: Model) -> Model:
        score = round(model.score + (model.unbound - best.intra) / by, 3)
        return model._replace(score=max(score, round(least, 3)), unbound=best.intra)

    return [[shifted(model) for model in models] for models in searches]


def ranked(searches: list[list[Model]]) -> list[Model]:
    """All models of one scale, best first. Equal ones in the order of their searches, so that the order is always the same."""
    return sorted((model for models in searches for model in models), key=lambda model: (model.score, model.together))


def distinct(models: list[Model], apart: Callable[[Model, Model], float], most: int, energy_range: float) -> list[Model]:
    """The best of the ranked models that are MIN_RMSD_ANGSTROM and more apart, and within energy_range of the best."""
    kept: list[Model] = []
    for model in models:
        if len(kept) == most or kept and model.score > kept[0].score + energy_range:
            break
        if all(apart(model, other) >= MIN_RMSD_ANGSTROM for other in kept):
            kept.append(model)
    return kept


def bounds(model: Model, best: Model, elements: np.ndarray) -> tuple[float, float]:
    """Vina's lower and upper bound of a pose's distance from the best: each atom to the nearest of its element, and each to
    itself."""
    apart = ((model.heavy[:, None, :] - best.heavy[None, :, :]) ** 2).sum(axis=2)
    upper = float(np.sqrt(np.diagonal(apart).mean()))
    alike = np.where(elements[:, None] == elements[None, :], apart, np.inf)
    lower = float(np.sqrt(max(alike.min(axis=1).mean(), alike.min(axis=0).mean())))
    return lower, upper


def written(models: list[Model]) -> str:
    """The models as Vina writes them."""
    elements = models[0].elements()
    text = []
    for number, model in enumerate(models, start=1):
        lower, upper = bounds(model, models[0], elements)
        terms = sum(line.startswith(("REMARK INTER", "REMARK INTRA")) for line in model.body)
        text += [f"MODEL {number}", f"REMARK VINA RESULT: {model.score:9.3f}  {lower:9.3f}  {upper:9.3f}", *model.body[:terms]]
        text += [f"REMARK UNBOUND:{model.unbound:22.3f}", *model.body[terms:]]
    return "\n".join(text) + "\n"
