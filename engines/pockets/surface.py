"""Computes the accessible surface of a pocket as fpocket 4 does, and the two scores that depend on it.

Of the points on an atom that touches the pocket (van der Waals radius plus a probe), those count that lie inside an alpha sphere
touching the atom and outside every other atom. fpocket 4 tests a point against its own atom as well, whose surface it lies on: by
the rounding of single precision about half of the points then count as covered. fpocket-rs 0.1.0 does not, so its surfaces are
twice fpocket's; it also normalises over fewer clusters and takes the volume for that of the convex hull. Its scores and its order
are therefore others. This module applies fpocket's own test and regressions, so that scores mean the same whichever program found
the pockets.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from structure import Structure

POINTS = 100  # on an atom's sphere, as in fpocket
PROBE_ANGSTROM = 1.4  # of the surface in the score and in the output
WIDE_PROBE_ANGSTROM = 2.2  # of the surface in the druggability score
PADDING_ANGSTROM = 1.0  # atoms this far outside an alpha sphere can still cover its surface
CONTACT_ANGSTROM = 1e-3

# Elements that fpocket takes for polar: electronegativity 2.8 and more.
POLAR = frozenset("N O F CL BR".split())
# Van der Waals radii in Å: A. Bondi, J. Phys. Chem. 68, 441 (1964), with 2.0 for elements without one, as fpocket has them.
RADII = {
    "C": 1.7,
    "N": 1.55,
    "O": 1.52,
    "F": 1.47,
    "NA": 2.27,
    "MG": 1.73,
    "SI": 2.1,
    "P": 1.8,
    "S": 1.8,
    "CL": 1.75,
    "K": 2.75,
    "LI": 1.82,
    "NI": 1.63,
    "CU": 1.4,
    "ZN": 1.39,
    "GA": 1.07,
    "AS": 1.85,
    "SE": 1.9,
    "BR": 1.85,
    "I": 1.98,
    "PD": 1.63,
    "AG": 1.72,
    "CD": 1.58,
    "IN": 1.93,
    "SN": 2.17,
    "PT": 1.72,
    "AU": 1.66,
    "HG": 1.55,
    "TL": 1.96,
    "PB": 2.02,
}
OTHER_RADIUS = 2.0

# fpocket 4's regression for the score: on the number of alpha spheres (normalised), their density (mean distance in Å), the volume
# of their convex hull (Å³) and the polar and the apolar surface (Å²).
SCORE_INTERCEPT, SCORE_SIZE, SCORE_DENSITY, SCORE_HULL, SCORE_POLAR, SCORE_APOLAR = (
    -0.03783394,
    0.48461469,
    0.09093926,
    0.0004155899,
    -0.003995233,
    -0.004072336,
)
# Its logistic regression for the druggability: on the hydrophobic density (normalised), the greatest distance between alpha
# spheres (Å) and the polar surface at the wide probe (Å²).
DRUG_INTERCEPT, DRUG_HYDROPHOBIC, DRUG_EXTENT, DRUG_POLAR = -9.5698768, 7.479844, 0.3696134, -0.04671833
# The least number of spheres and the least hydrophobic density, by which fpocket normalises: it does so over all clusters of alpha
# spheres, before it drops the small ones, and single spheres are always among those.
LEAST_SPHERES, LEAST_HYDROPHOBIC = 1, 0.0
MAX_EXPONENT = 700.0  # of e that a floating-point number holds


def rescore(structure: Structure, pockets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pockets of fpocket-rs with fpocket's surfaces, scores and order. Each needs "atoms", the places of its atoms."""
    positions = np.array([atom.position for atom in structure.atoms])
    radii = np.array([RADII.get(atom.element, OTHER_RADIUS) for atom in structure.atoms], dtype=np.float32).astype(float)
    polar = np.array([atom.element in POLAR for atom in structure.atoms])
    most_spheres = max((len(pocket["alpha_spheres"]) for pocket in pockets), default=0)
    most_hydrophobic = max((pocket["mean_local_hydrophobic_density"] for pocket in pockets), default=0.0)
    scored = []
    for pocket in pockets:
        spheres = np.array(pocket["alpha_spheres"])
        near = surroundings(positions, spheres)
        polar_area, apolar_area = areas(pocket["atoms"], near, positions, radii, polar, spheres, PROBE_ANGSTROM)
        wide_polar_area, _ = areas(pocket["atoms"], near, positions, radii, polar, spheres, WIDE_PROBE_ANGSTROM)
        size = normalised(len(spheres), LEAST_SPHERES, most_spheres)
        hydrophobic = normalised(pocket["mean_local_hydrophobic_density"], LEAST_HYDROPHOBIC, most_hydrophobic)
        score = (
            SCORE_INTERCEPT + SCORE_SIZE * size + SCORE_DENSITY * pocket["alpha_sphere_density"] + SCORE_HULL * hull_volume(spheres)
        )
        score += SCORE_POLAR * polar_area + SCORE_APOLAR * apolar_area
        logit = DRUG_INTERCEPT + DRUG_HYDROPHOBIC * hydrophobic + DRUG_EXTENT * pocket["as_max_dist"] + DRUG_POLAR * wide_polar_area
        surfaces = {"polar_sasa": polar_area, "apolar_sasa": apolar_area, "total_sasa": polar_area + apolar_area}
        scored.append({**pocket, **surfaces, "score": score, "drug_score": 1 / (1 + math.exp(min(-logit, MAX_EXPONENT)))})
    return sorted(scored, key=lambda pocket: -pocket["score"])


def normalised(value: float, least: float, most: float) -> float:
    return (value - least) / (most - least) if most > least else 0.0


def hull_volume(spheres: np.ndarray) -> float:
    """Volume in Å³ of the convex hull of the spheres' centres; 0 when they lie in a plane."""
    try:
        return float(ConvexHull(spheres[:, :3]).volume)
    except QhullError:
        return 0.0


def surroundings(positions: np.ndarray, spheres: np.ndarray) -> np.ndarray:
    """Places of the atoms that lie in a sphere grown by the padding; a bound ligand's are among them."""
    low, high = (
        (spheres[:, :3].min(0) - spheres[:, 3].max() - PADDING_ANGSTROM),
        (spheres[:, :3].max(0) + spheres[:, 3].max() + PADDING_ANGSTROM),
    )
    candidates = np.flatnonzero(((positions >= low) & (positions <= high)).all(1))
    distances = np.linalg.norm(positions[candidates, None, :] - spheres[None, :, :3], axis=2)
    return candidates[(distances < spheres[:, 3] + PADDING_ANGSTROM).any(1)]


def areas(
    atoms: list[int],
    near: np.ndarray,
    positions: np.ndarray,
    radii: np.ndarray,
    polar: np.ndarray,
    spheres: np.ndarray,
    probe: float,
) -> tuple[float, float]:
    """The polar and the apolar surface in Å² of a pocket's atoms, as far as it faces the pocket."""
    found = [0.0, 0.0]
    for i in atoms:
        reach = radii[i] + probe
        touching = spheres[np.abs(np.linalg.norm(spheres[:, :3] - positions[i], axis=1) - spheres[:, 3]) < CONTACT_ANGSTROM]
        points = (positions[i] + reach * DIRECTIONS).astype(np.float32)
        points = points[outside_own_atom(points, positions[i], reach)]
        points = points[(np.linalg.norm(points[:, None, :] - touching[None, :, :3], axis=2) <= touching[:, 3]).any(1)]
        others = near[near != i]
        others = others[np.linalg.norm(positions[others] - positions[i], axis=1) < reach + radii[others] + probe]
        covered = (np.linalg.norm(points[:, None, :] - positions[None, others, :], axis=2) < radii[others] + probe).any(1)
        found[0 if polar[i] else 1] += 4 * math.pi * reach * reach / POINTS * int((~covered).sum())
    return found[0], found[1]


def outside_own_atom(points: np.ndarray, centre: np.ndarray, reach: float) -> np.ndarray:
    """fpocket's test of points, given in single precision, that lie `reach` from the centre of their atom."""
    apart = points - centre.astype(np.float32)
    return (apart[:, 0] * apart[:, 0] + apart[:, 1] * apart[:, 1]) + apart[:, 2] * apart[:, 2] >= reach * reach


def directions(count: int) -> np.ndarray:
    """Points spread evenly over the unit sphere along a golden section spiral, in fpocket's order."""
    place = np.arange(count)
    height, turn = (2 * place + 1) / count - 1, math.pi * (3 - math.sqrt(5)) * place
    flat = np.sqrt(1 - height * height)
    return np.stack([flat * np.cos(turn), height, flat * np.sin(turn)], axis=1).astype(np.float32).astype(float)


DIRECTIONS = directions(POINTS)
