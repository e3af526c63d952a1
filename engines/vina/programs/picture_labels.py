"""Where the labels of a picture stand: beside what they name and nearer to it than to anything else, on no other label, and on
nothing that matters."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from picture_view import View

CHAR_WIDTH, LINE_HEIGHT = 0.56, 1.05  # of a letter and of a line to the text's size, with the edge around it
ANGLES = 16
STEPS = (0.1, 0.5, 1.0, 1.7, 2.5)  # how far a label may stand away, in heights of a label
# What a place costs: points of the pose, of other labels, of residues and of contacts that the label would cover; standing away
# from what it names, and nearer to something else; standing on the pose's side of it; and sticking out of the picture.
POSE, ATOM, LINE, LABEL, FAR, UNCLEAR, INWARDS, OUT = 6.0, 1.2, 1.6, 60.0, 0.8, 4.0, 0.8, 500.0
CLEAR = 0.4  # heights of a label that it must be nearer to what it names than to anything else
INSIDE = 0.98  # of the picture, which labels keep to


class Wish(NamedTuple):
    """A label that is to be placed: its text, its size in Å, and the points (n, 2) in the picture's plane that it names."""

    text: str
    size: float
    named: np.ndarray

    @property
    def half(self) -> np.ndarray:
        return np.array((CHAR_WIDTH * len(self.text), LINE_HEIGHT)) * self.size / 2


class Ground(NamedTuple):
    """What labels are kept off, in the picture's plane (n, 2): the pose, other atoms, and points along the contacts."""

    pose: np.ndarray
    atoms: np.ndarray
    lines: np.ndarray


def layout(wishes: list[Wish], ground: Ground, view: View) -> list[np.ndarray]:
    """The middle of each label in the picture's plane; earlier wishes are settled first."""
    places: list[np.ndarray] = []
    for wish in wishes:
        possible = candidates(wish)
        costs = own_costs(possible, wish, ground, view)
        for other, place in zip(wishes, places):
            costs += LABEL * overlaps(possible, wish.half, place, other.half)
        places.append(possible[int(np.argmin(costs))])
    return places


def candidates(wish: Wish) -> np.ndarray:
    """Places of the label's middle, (n, 2): on the middle of what is named and around each of its points."""
    turns = np.arange(ANGLES) * 2 * math.pi / ANGLES
    rays = np.stack((np.cos(turns), np.sin(turns)), axis=1)
    around = np.concatenate([rays * (wish.half + step * 2 * wish.half[1]) for step in STEPS])
    points = np.concatenate((wish.named, wish.named.mean(axis=0)[None]))
    return np.concatenate((points[-1:], (points[:, None] + around[None]).reshape(-1, 2)))


def own_costs(places: np.ndarray, wish: Wish, ground: Ground, view: View) -> np.ndarray:
    """What each place costs whatever other labels there are, (n,)."""
    middle, height = wish.named.mean(axis=0), 2 * wish.half[1]
    costs = POSE * near(places, wish.half, ground.pose, 0.7) + ATOM * near(places, wish.half, ground.atoms, 0.3)
    costs += LINE * near(places, wish.half, ground.lines, 0.15)
    gap = gaps(places, wish.half, wish.named)
    others = ground.atoms[~(ground.atoms[:, None] == wish.named[None]).all(axis=2).any(axis=1)]
    nearer = gaps(places, wish.half, others) / height if len(others) else np.full(len(places), np.inf)
    costs += FAR * gap / height + FAR / 4 * np.linalg.norm(places - middle, axis=1) / height
    costs += UNCLEAR * np.clip(CLEAR - (nearer - gap / height), 0, 1)
    costs += INWARDS * ((places - middle) @ (middle - ground.pose.mean(axis=0)) < 0)
    edge = INSIDE * np.array((view.half_height * view.aspect, view.half_height))
    return costs + OUT * np.maximum(np.abs(places) + wish.half - edge, 0).sum(axis=1)


def near(places: np.ndarray, half: np.ndarray, points: np.ndarray, pad: float) -> np.ndarray:
    """How many points lie below a label at each place, those at its edge less than whole."""
    inside = np.clip((half + pad - np.abs(points[None] - places[:, None])) / (pad + 0.2), 0, 1)
    return inside.prod(axis=2).sum(axis=1)


def gaps(places: np.ndarray, half: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The distance in Å from a label at each place to the nearest of the points; 0 where it lies below the label."""
    outside = np.maximum(np.abs(points[None] - places[:, None]) - half, 0)
    return np.linalg.norm(outside, axis=2).min(axis=1)


def overlaps(places: np.ndarray, half: np.ndarray, other: np.ndarray, other_half: np.ndarray) -> np.ndarray:
    """The part of a label at each place that another one covers; a tenth more where they touch."""
    common = np.minimum(half + other_half - np.abs(places - other), 2 * np.minimum(half, other_half))
    return np.where((common > 0).all(axis=1), common.prod(axis=1) / (4 * half.prod()) + 0.1, 0.0)
