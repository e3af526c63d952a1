"""From where a site is seen: the direction that shows its pose and its contacts, and the distance at which all of it fits."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from picture_site import Residue, Site

FOV_RADIANS = math.pi / 4  # up and down the picture; the renderer's own
DIRECTIONS = 400  # that are compared
SITE_MARGIN, BOX_MARGIN = 0.07, 0.03  # the first leaves room for labels
STICK_ANGSTROM, RIBBON_ANGSTROM = 0.9, 1.5  # what is drawn is wider than the centres of its atoms
CENTRINGS = 4
# The format's camera shows nothing that is nearer to it than its distance from the target without half of that which it has at any
# field of view; what would be cut there is kept behind it, or left out.
FRONT_PART = math.sin(FOV_RADIANS / 2)
FRONT_ROOM_ANGSTROM = 2.0
HIDDEN_ANGSTROM = 1.3  # an atom that is drawn this near to another covers it
TRACE_ANGSTROM = 3.0  # half of a ribbon and the pose's own atoms
FRONT_ANGSTROM = 1.0  # a chain that covers the pose is left out where it lies this far in front of it
LEAST_PIECE = 4  # residues of a chain that are worth a ribbon
NEIGHBOURS = 1  # residues beside such a one that are left out too
TRACE_ATOMS = ("CA", "C1'")
# What a direction is judged by: how wide the pose is seen, how long its contacts, and how much covers it.
WEIGHT_CONTACTS, WEIGHT_COVERED, WEIGHT_TRACE = 0.9, 1.6, 0.35


@dataclass(frozen=True)
class View:
    """A camera that looks at target. basis has right, up and towards the viewer as its rows; distance is in Å."""

    target: np.ndarray
    basis: np.ndarray
    distance: float
    aspect: float

    @property
    def position(self) -> np.ndarray:
        return self.target + self.distance * self.basis[2]

    @property
    def half_height(self) -> float:
        """Half of what is seen up and down in the plane of the target, in Å."""
        return self.distance * math.tan(FOV_RADIANS / 2)

    def flat(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) as they appear in the plane of the target: right and up of it, in Å (n, 2)."""
        seen = (np.asarray(points).reshape(-1, 3) - self.target) @ self.basis.T
        return seen[:, :2] * (self.distance / np.maximum(self.distance - seen[:, 2:], 1e-3))

    def place(self, flat: np.ndarray) -> np.ndarray:
        """The point in the plane of the target that appears there."""
        return self.target + flat[0] * self.basis[0] + flat[1] * self.basis[1]

    def depth(self, points: np.ndarray) -> np.ndarray:
        """How far points lie in front of the target, in Å."""
        return (np.asarray(points).reshape(-1, 3) - self.target) @ self.basis[2]


def directions(count: int) -> np.ndarray:
    """Unit vectors that cover the sphere evenly (a Fibonacci lattice), (count, 3)."""
    number = np.arange(count) + 0.5
    height, turn = 1 - 2 * number / count, math.pi * (1 + math.sqrt(5)) * number
    around = np.sqrt(1 - height**2)
    return np.stack((around * np.cos(turn), around * np.sin(turn), height), axis=1)


def basis_towards(back: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Right, up and back as rows; what is longest of the points along lies across the picture."""
    helper = np.array((1.0, 0, 0)) if abs(back[0]) < 0.9 else np.array((0, 1.0, 0))
    first = np.cross(helper, back)
    first /= np.linalg.norm(first)
    second = np.cross(back, first)
    flat = (along - along.mean(axis=0)) @ np.stack((first, second)).T
    _, axes = np.linalg.eigh(flat.T @ flat)
    right = axes[0, 1] * first + axes[1, 1] * second
    right *= 1 if flat @ axes[:, 1] @ np.arange(len(flat)) >= 0 else -1  # atoms go from left to right in their order
    return np.stack((right, np.cross(back, right), back))


def best_direction(site: Site) -> np.ndarray:
    """The direction towards the viewer that shows most."""
    pose = site.pose
    drawn = np.concatenate([s.positions for s in site.residues] + [r.positions for r in site.cofactors] + [np.empty((0, 3))])
    trace = np.array([a.position for r in site.chains for a in r.atoms if a.name in TRACE_ATOMS], dtype=float).reshape(-1, 3)
    lines = np.array([c.end - c.start for c in site.contacts if c.kind != "hydrophobic"], dtype=float).reshape(-1, 3)
    every = directions(DIRECTIONS)
    widths = np.array([width(pose, back) for back in every])
    scores = widths / max(widths.max(), 1e-6)
    for number, back in enumerate(every):
        if len(lines):
            along = np.abs(lines @ back) / np.linalg.norm(lines, axis=1)
            scores[number] += WEIGHT_CONTACTS * float(np.sqrt(1 - np.minimum(along, 1) ** 2).mean())
        scores[number] -= WEIGHT_COVERED * covered(pose, drawn, back, HIDDEN_ANGSTROM, 0.5)
        scores[number] -= WEIGHT_TRACE * covered(pose, trace, back, TRACE_ANGSTROM, 0.0)
    return every[int(np.argmax(scores))]


def width(points: np.ndarray, back: np.ndarray) -> float:
    """The geometric mean of both extents of points that are seen along a direction."""
    flat = (points - points.mean(axis=0)) @ (np.eye(3) - np.outer(back, back))
    values = np.sort(np.linalg.eigvalsh(flat.T @ flat / len(points)))[1:]
    return float(np.sqrt(np.sqrt(max(values[0], 1e-9) * max(values[1], 1e-9))))


def covered(points: np.ndarray, others: np.ndarray, back: np.ndarray, reach: float, ahead: float) -> float:
    """The part of points that others cover for a viewer in a direction."""
    if not len(others):
        return 0.0
    depth, other_depth = points @ back, others @ back
    apart = points[:, None] - others[None]
    across = np.linalg.norm(apart - (apart @ back)[..., None] * back, axis=2)
    return float(((across < reach) & (other_depth[None] > depth[:, None] + ahead)).any(axis=1).mean())


def view_of(points: np.ndarray, basis: np.ndarray, aspect: float, pad: float, margin: float) -> View:
    """The nearest camera in this direction that sees all points, with room for pad Å around each. margin is the part of the
    picture's width and height that stays free on each side."""
    tall = math.tan(FOV_RADIANS / 2) * (1 - 2 * margin)
    wide = tall * aspect
    seen = points @ basis.T
    middle = (seen.min(axis=0) + seen.max(axis=0)) / 2
    view = View(middle @ basis, basis, 1.0, aspect)
    for _ in range(CENTRINGS):
        apart = seen - middle
        side = np.maximum((np.abs(apart[:, 0]) + pad) / wide, (np.abs(apart[:, 1]) + pad) / tall)
        uncut = (apart[:, 2].max() + FRONT_ROOM_ANGSTROM) / FRONT_PART
        view = View(middle @ basis, basis, float(max((apart[:, 2] + pad + side).max(), uncut)), aspect)
        flat = view.flat(points)
        middle[:2] += (flat.min(axis=0) + flat.max(axis=0)) / 2  # what is near looks larger, and shifts the picture
    return view


def site_view(site: Site, aspect: float) -> View:
    """The camera for a site's picture."""
    basis = basis_towards(best_direction(site), site.pose)
    parts = [
        site.pose,
        *(s.positions for s in site.residues),
        *(r.positions for r in (*site.cofactors, *site.metals, *site.waters)),
    ]
    return view_of(np.concatenate(parts), basis, aspect, STICK_ANGSTROM, SITE_MARGIN)


def behind(site: Site, view: View) -> list[Residue]:
    """The residues of the chains without those whose ribbon would cover the pose, or reach to where the camera cuts it."""
    flat, depth = view.flat(site.pose), view.depth(site.pose)
    covering = set[int]()
    for number, residue in enumerate(site.chains):
        trace = np.array([a.position for a in residue.atoms if a.name in TRACE_ATOMS], dtype=float).reshape(-1, 3)
        near = np.linalg.norm(view.flat(trace)[:, None] - flat[None], axis=2) < TRACE_ANGSTROM
        ahead = view.depth(trace)[:, None] > depth[None] + FRONT_ANGSTROM
        cut = view.depth(residue.positions).max() > FRONT_PART * view.distance - FRONT_ROOM_ANGSTROM
        if cut or (near & ahead).any():
            covering |= set(range(number - NEIGHBOURS, number + NEIGHBOURS + 1))
    pieces: list[list[Residue]] = [[]]
    for number, residue in enumerate(site.chains):
        if number in covering or (pieces[-1] and not follows(pieces[-1][-1], residue)):
            pieces.append([])
        if number not in covering:
            pieces[-1].append(residue)
    return [residue for piece in pieces if len(piece) >= LEAST_PIECE for residue in piece]


def follows(residue: Residue, other: Residue) -> bool:
    """Whether the other is the next of its chain, by its number."""
    return residue.place[0] == other.place[0] and other.place[1] - residue.place[1] in (0, 1)


def view_of_box(residues: list[Residue], box: dict[str, Any], like: View) -> View:
    """The camera that sees the whole receptor and its box, in the direction of another."""
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * box["sizeAngstrom"] + box["centerAngstrom"]
    return view_of(
        np.concatenate([*(r.positions for r in residues), corners]), like.basis, like.aspect, RIBBON_ANGSTROM, BOX_MARGIN
    )
