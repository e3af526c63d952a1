"""Cuts meshes by the regions that a scene clips away, and closes what a cut has opened, so that a section shows a face and no
hollow.

A region is a plane, a sphere or a box. A mesh is cut where it crosses the region's surface; the curves of the cut, which run
around what is solid, are filled on that surface.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from mathutils import Vector
from mathutils.geometry import delaunay_2d_cdt

from molecule_glb import Mesh

# Points of a curve that are nearer to each other than this are one: the exporter writes a vertex for each side of an edge.
CURVE_ANGSTROM = 1e-4
# Part of a turn that the curves must go around a place for it to be inside of something solid.
LEAST_TURNS = 0.5
# The most work in finding what is solid: triangles of a face by pieces of its curves. A larger cut stays open.
MAX_FACE_WORK, FACE_WORK_A_TIME = 400_000_000, 4_000_000
SPHERE_POINTS = 4000  # that the face on a whole sphere is made of
POLES = 60  # places of a sphere that are tried as the one that is farthest from what is solid


@dataclass(frozen=True)
class Clip:
    """A region that is cut away, or all but it where it is inverted, in the coordinates of the meshes. axes has the region's
    own as columns. Of a plane it is the side that its second axis points to; half are the half extents of a box, its first a
    sphere's radius. whole takes a mesh away when its middle lies there, and cuts none."""

    kind: str
    invert: bool
    position: np.ndarray
    axes: np.ndarray
    half: np.ndarray
    whole: bool = False

    def takes(self, point: np.ndarray) -> bool:
        own = (point - self.position) @ self.axes
        within = {"plane": own[1] >= 0, "sphere": np.linalg.norm(own) <= self.half[0], "box": (np.abs(own) <= self.half).all()}
        return bool(within[self.kind]) != self.invert


@dataclass(frozen=True)
class Surface:
    """The surface of a cut: a plane, or a sphere where it has a radius. The third of axes, which are columns, points to the
    side of a plane that is taken away, and away from the place of a sphere where nothing is solid. Seen from the side that is
    taken away, the other two are right and up."""

    position: np.ndarray
    axes: np.ndarray
    radius: float = 0.0
    inside: bool = False  # of a sphere: what lies in it is taken away

    def distance(self, points: np.ndarray) -> np.ndarray:
        """How far points lie on the side that is taken away."""
        apart = points - self.position
        if not self.radius:
            return apart @ self.axes[:, 2]
        away = np.linalg.norm(apart, axis=1) - self.radius
        return -away if self.inside else away

    def onto(self, points: np.ndarray) -> np.ndarray:
        """Points near the surface, on it."""
        if not self.radius:
            return points - self.distance(points)[:, None] * self.axes[:, 2]
        apart = points - self.position
        return self.position + apart * (self.radius / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9))

    def outwards(self, points: np.ndarray) -> np.ndarray:
        """The normals of the face that closes the cut."""
        if not self.radius:
            return np.tile(self.axes[:, 2], (len(points), 1))
        return (points - self.position) / (-self.radius if self.inside else self.radius)

    def unfold(self, points: np.ndarray) -> np.ndarray:
        """Points of the surface laid into a plane, a sphere's by stereographic projection, (n, 2)."""
        own = (points - self.position) @ self.axes
        return own[:, :2] / np.maximum(self.radius + own[:, 2:], 1e-9) if self.radius else own[:, :2]

    def fold(self, flat: np.ndarray) -> np.ndarray:
        """The points of the surface that were laid there."""
        if not self.radius:
            return self.position + flat @ self.axes[:, :2].T
        square = (flat**2).sum(axis=1, keepdims=True)
        own = np.concatenate((2 * flat, 1 - square), axis=1) / (1 + square) * self.radius
        return self.position + own @ self.axes.T


def clipped(mesh: Mesh, clips: list[Clip], closed: bool) -> Mesh | None:
    """What the regions leave of a mesh; None when that is nothing. closed fills what the cuts open."""
    middle = mesh.vertices.mean(axis=0)
    parts: list[Mesh] = [] if any(clip.whole and clip.takes(middle) for clip in clips) else [mesh]
    for clip in clips:
        if not clip.whole:
            parts = [left for part in parts for left in without(part, clip, closed)]
    return joined(parts) if parts else None


def without(mesh: Mesh, clip: Clip, closed: bool) -> list[Mesh]:
    """What a region leaves of a mesh, in pieces."""
    if clip.kind == "sphere":
        return kept(cut(mesh, sphere_of(mesh, clip), closed))
    if clip.kind == "plane":
        return kept(cut(mesh, plane_of(clip.position, clip.axes[:, 1] * (-1 if clip.invert else 1)), closed))
    pieces, rest = [], [mesh]
    for axis in range(3):
        for side in (1, -1):
            outwards = side * clip.axes[:, axis]
            place = clip.position + outwards * clip.half[axis]
            if not clip.invert:  # what lies beyond this side of the box stays
                pieces += [left for part in rest for left in kept(cut(part, plane_of(place, -outwards), closed))]
            rest = [left for part in rest for left in kept(cut(part, plane_of(place, outwards), closed))]
    return rest if clip.invert else pieces


def kept(mesh: Mesh | None) -> list[Mesh]:
    return [] if mesh is None else [mesh]


def plane_of(position: np.ndarray, normal: np.ndarray) -> Surface:
    """The plane through a place whose normal points to what is taken away."""
    normal = normal / np.linalg.norm(normal)
    right = np.cross((0.0, 1.0, 0.0) if abs(normal[1]) < 0.9 else (1.0, 0.0, 0.0), normal)
    right /= np.linalg.norm(right)
    return Surface(position, np.stack((right, np.cross(normal, right), normal), axis=1))


def sphere_of(mesh: Mesh, clip: Clip) -> Surface:
    """A sphere that is laid open at the place that is farthest from the mesh: nothing is solid there where the mesh is no
    hollow around it."""
    radius, inside = float(clip.half[0]), not clip.invert
    number = np.arange(POLES) + 0.5
    turn, height = math.pi * (1 + math.sqrt(5)) * number, 1 - 2 * number / POLES
    poles = np.stack((np.sqrt(1 - height**2) * np.cos(turn), np.sqrt(1 - height**2) * np.sin(turn), height), axis=1)
    places = clip.position + radius * poles
    pole = poles[int(np.argmin([turns_around(mesh, place) for place in places]))]
    frame = plane_of(clip.position, -pole).axes
    return Surface(clip.position, frame * np.array((-1.0 if inside else 1.0, 1.0, 1.0)), radius, inside)


def turns_around(mesh: Mesh, place: np.ndarray) -> float:
    """The part of all directions in which a closed mesh surrounds a place: 1 inside, 0 outside (van Oosterom and Strackee,
    1983)."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]].astype(float) - place for i in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    volume = (a * np.cross(b, c)).sum(axis=1)
    across = la * lb * lc + (a * b).sum(axis=1) * lc + (b * c).sum(axis=1) * la + (c * a).sum(axis=1) * lb
    return float(np.arctan2(volume, across).sum() / (2 * math.pi))


def cut(mesh: Mesh, surface: Surface, closed: bool) -> Mesh | None:
    """The part of a mesh on the side of a surface that stays, closed there if it is to be; None when there is none."""
    distance = surface.distance(mesh.vertices.astype(float))
    gone = distance >= 0
    if not gone.any():
        return mesh
    if gone.all():
        return None
    lost = gone[mesh.faces].sum(axis=1)
    one, two = (rotated(mesh.faces[lost == count], gone, count == 1) for count in (1, 2))
    crossed = np.concatenate((one[:, (0, 1)], one[:, (0, 2)], two[:, (0, 1)], two[:, (0, 2)]))
    edges, which = np.unique(np.sort(crossed, axis=1), axis=0, return_inverse=True)
    which = which.ravel() + len(mesh.vertices)
    p1, q1, p2, q2 = np.split(which, np.cumsum((len(one), len(one), len(two))))
    faces = np.concatenate(
        (
            mesh.faces[lost == 0],
            np.stack((one[:, 1], one[:, 2], q1), axis=1),
            np.stack((one[:, 1], q1, p1), axis=1),
            np.stack((two[:, 0], p2, q2), axis=1),
        )
    )
    whole = with_points(mesh, edges, distance, surface, faces)
    # A face that closes the cut runs along each of its pieces the other way than what it closes.
    pieces = np.concatenate((np.stack((p1, q1), axis=1), np.stack((q2, p2), axis=1)))
    face = closing(whole, pieces, surface) if closed else None
    return tidy(joined([whole, face]) if face else whole)


def rotated(faces: np.ndarray, gone: np.ndarray, first_gone: bool) -> np.ndarray:
    """Faces with the one vertex first that is alone on its side."""
    alone = np.argmax(gone[faces] == first_gone, axis=1) if len(faces) else np.zeros(0, int)
    return np.take_along_axis(faces, (alone[:, None] + np.arange(3)) % 3, axis=1)


def with_points(mesh: Mesh, edges: np.ndarray, distance: np.ndarray, surface: Surface, faces: np.ndarray) -> Mesh:
    """The mesh with a vertex where each of the edges crosses the surface, and these faces."""
    here, there = distance[edges[:, 0]], distance[edges[:, 1]]
    part = (here / (here - there))[:, None]

    def between(values: np.ndarray) -> np.ndarray:
        return values[edges[:, 0]] * (1 - part) + values[edges[:, 1]] * part

    points = surface.onto(between(mesh.vertices.astype(float)))
    normals = None
    if mesh.normals is not None:
        normals = np.concatenate((mesh.normals, between(mesh.normals))).astype(np.float32)
    return Mesh(
        np.concatenate((mesh.vertices, points)).astype(np.float32),
        normals,
        faces.astype(np.int32),
        np.concatenate((mesh.colors, between(mesh.colors))).astype(np.float32),
    )


def closing(mesh: Mesh, pieces: np.ndarray, surface: Surface) -> Mesh | None:
    """The face on a surface within curves, whose pieces are pairs of the mesh's vertices. None where the curves close nothing."""
    used, ends = np.unique(pieces, return_inverse=True)
    points = mesh.vertices[used].astype(float)
    _, first, same = np.unique(np.round(points / CURVE_ANGSTROM), axis=0, return_index=True, return_inverse=True)
    ends = same.ravel()[ends.reshape(-1, 2)]
    ends = ends[ends[:, 0] != ends[:, 1]]
    if len(ends) < 3:
        return None
    curve, colors = surface.unfold(points[first]), mesh.colors[used][first]
    flat, triangles, origins = triangulated(curve, ends, surface)
    if len(triangles) * len(ends) > MAX_FACE_WORK:
        return None
    triangles = triangles[turns(flat[triangles].mean(axis=1), curve[ends]) > LEAST_TURNS]
    if not len(triangles):
        return None
    places = surface.fold(flat)
    return Mesh(
        places.astype(np.float32),
        surface.outwards(places).astype(np.float32),
        triangles.astype(np.int32),
        colors_at(flat, origins, curve, colors),
    )


def triangulated(curve: np.ndarray, ends: np.ndarray, surface: Surface) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """A triangulation that has all pieces of the curves as edges: its points, its triangles, and of each point the one of the
    curve that it is, or -1."""
    points = np.concatenate((curve, sphere_points(curve))) if surface.radius else curve
    found = delaunay_2d_cdt(
        [Vector(point) for point in points], [tuple(map(int, pair)) for pair in ends], [], 0, CURVE_ANGSTROM / 10, True
    )
    flat, triangles = np.array(found[0], dtype=float).reshape(-1, 2), np.array(found[2], dtype=int).reshape(-1, 3)
    return flat, triangles, [min((number for number in origin if number < len(curve)), default=-1) for origin in found[3]]


def sphere_points(curve: np.ndarray) -> np.ndarray:
    """Points that keep a face on a sphere round, where curves enclose them, in the unfolded plane."""
    number = np.arange(SPHERE_POINTS) + 0.5
    height, turn = 1 - 2 * number / SPHERE_POINTS, math.pi * (1 + math.sqrt(5)) * number
    flat = (np.sqrt(1 - height**2) / np.maximum(1 + height, 1e-9))[:, None] * np.stack((np.cos(turn), np.sin(turn)), axis=1)
    return flat[((flat > curve.min(axis=0)) & (flat < curve.max(axis=0))).all(axis=1)]


def turns(points: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """How often directed pieces of curves (n, 2, 2) go around each of the points to the left, (m,)."""
    found, size = np.zeros(len(points)), max(1, FACE_WORK_A_TIME // max(len(pieces), 1))
    for start in range(0, len(points), size):
        a, b = (pieces[None, :, end] - points[start : start + size, None] for end in (0, 1))
        across = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        found[start : start + size] = np.arctan2(across, (a * b).sum(axis=2)).sum(axis=1) / (2 * math.pi)
    return found


def colors_at(flat: np.ndarray, origins: list[int], curve: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Each point's colour: the curve's own, and elsewhere that of its nearest point."""
    return np.array(
        [
            colors[origin if origin >= 0 else int(np.argmin(((curve - point) ** 2).sum(axis=1)))]
            for point, origin in zip(flat, origins)
        ],
        dtype=np.float32,
    )


def joined(meshes: list[Mesh]) -> Mesh:
    """Several meshes as one."""
    if len(meshes) == 1:
        return meshes[0]
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts)]).astype(np.int32)
    normals = np.concatenate([m.normals for m in meshes]) if all(m.normals is not None for m in meshes) else None
    return Mesh(np.concatenate([m.vertices for m in meshes]), normals, faces, np.concatenate([m.colors for m in meshes]))


def tidy(mesh: Mesh) -> Mesh | None:
    """The mesh without vertices that no face uses, and without faces that have no area; None when nothing is left."""
    faces = mesh.faces
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    if not len(faces):
        return None
    used, numbers = np.unique(faces, return_inverse=True)
    return Mesh(
        mesh.vertices[used],
        None if mesh.normals is None else mesh.normals[used],
        numbers.reshape(-1, 3).astype(np.int32),
        mesh.colors[used],
    )
