"""Reads the binary glTF that Mol* writes: triangles with normals and vertex colours, placed by one matrix a node.

That is all the exporter writes (no textures, skins, extensions or external buffers), so this reader knows nothing else and
says which nodes it left out. It gives numpy arrays, which Blender's meshes take much faster than its glTF importer fills them.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from molecule_stage import StageError

MAGIC, VERSION = b"glTF", 2
JSON_CHUNK, BINARY_CHUNK = 0x4E4F534A, 0x004E4942
TRIANGLES = 4
COMPONENTS = {5121: np.dtype("u1"), 5123: np.dtype("<u2"), 5125: np.dtype("<u4"), 5126: np.dtype("<f4")}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}

MAX_JSON_BYTES = 256 << 20  # about 600 bytes a node
MAX_NODES = 200_000
# Of the distinct meshes together: Cycles needs about 250 bytes a face, so this is some 10 GB.
MAX_FACES = 40_000_000
MAX_COORDINATE_ANGSTROM = 1e6


@dataclass(frozen=True)
class Mesh:
    """vertices and normals (n, 3) float32 (normals may be None), faces (m, 3) int32, colors (n, 4) float32: linear RGB and
    opacity."""

    vertices: np.ndarray
    normals: np.ndarray | None
    faces: np.ndarray
    colors: np.ndarray


@dataclass(frozen=True)
class Node:
    """A mesh (its index) placed by a matrix (4, 4) that takes columns of the mesh's coordinates to the model's."""

    index: int
    name: str
    mesh: int
    matrix: np.ndarray


class Model:
    """meshes by index (those that a node uses and that have faces), and the nodes that show them. left_out counts nodes of lines,
    points and nothing."""

    def __init__(self, content: bytes) -> None:
        self.document, self.binary = read_chunks(content)
        self.meshes: dict[int, Mesh] = {}
        self.nodes: list[Node] = []
        self.left_out = 0
        try:
            self.read_nodes()
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise (
                error
                if isinstance(error, StageError)
                else StageError(f"The model's glTF is damaged: {type(error).__name__} {error}.")
            ) from None

    def read_nodes(self) -> None:
        nodes = self.document.get("nodes", [])
        if len(nodes) > MAX_NODES:
            raise StageError(f"The model has {len(nodes):,} nodes; at most {MAX_NODES:,} are allowed.")
        empty: set[int] = set()
        for index, node in enumerate(nodes):
            number = int(node["mesh"])
            if number not in self.meshes and number not in empty:
                mesh = self.read_mesh(self.document["meshes"][number]["primitives"][0])
                if mesh is None:
                    empty.add(number)
                else:
                    self.meshes[number] = mesh
                    self.check_faces()
            if number in empty:
                self.left_out += 1
                continue
            matrix = np.array(node.get("matrix", np.eye(4).ravel()), dtype=float).reshape(4, 4).T
            require_near(matrix, "matrix")
            self.nodes.append(Node(index, str(node.get("name", "")), number, matrix))

    def check_faces(self) -> None:
        if (count := sum(len(mesh.faces) for mesh in self.meshes.values())) > MAX_FACES:
            raise StageError(f"The model has more than {count:,} triangles; at most {MAX_FACES:,} are allowed.")

    def read_mesh(self, primitive: dict[str, Any]) -> Mesh | None:
        """None for a primitive of points or lines, and for one without triangles."""
        if primitive.get("mode", TRIANGLES) != TRIANGLES:
            return None
        attributes = primitive["attributes"]
        vertices = self.accessor(attributes["POSITION"], 3).astype(np.float32)
        require_near(vertices, "vertices")
        faces = self.read_faces(primitive.get("indices"), len(vertices))
        if not len(faces):
            return None
        normals = None
        if (index := attributes.get("NORMAL")) is not None:
            normals = np.nan_to_num(self.accessor(index, 3).astype(np.float32))
        colors = np.ones((len(vertices), 4), dtype=np.float32)
        if (index := attributes.get("COLOR_0")) is not None:
            colors = linear(self.accessor(index, 4))
        if len(colors) != len(vertices) or (normals is not None and len(normals) != len(vertices)):
            raise StageError("The model's normals or colours are not as many as its vertices.")
        return Mesh(vertices, normals, faces, colors)

    def read_faces(self, index: int | None, vertices: int) -> np.ndarray:
        flat = np.arange(vertices, dtype=np.int64) if index is None else self.accessor(index, 1).ravel().astype(np.int64)
        faces = flat[: len(flat) // 3 * 3].reshape(-1, 3)
        if len(faces) and (faces.min() < 0 or faces.max() >= vertices):
            raise StageError("The model has triangles of vertices that do not exist.")
        # A triangle that uses one vertex twice has no area, and Blender's edges may not be loops.
        good = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
        return faces[good].astype(np.int32)

    def accessor(self, index: int, width: int) -> np.ndarray:
        """The (count, width) array of an accessor, a view of the file's own bytes."""
        accessor = self.document["accessors"][index]
        view = self.document["bufferViews"][accessor["bufferView"]]
        dtype, count = COMPONENTS[accessor["componentType"]], int(accessor["count"])
        if WIDTHS[accessor["type"]] != width or view.get("byteStride"):
            raise StageError("The model's glTF has an array of another shape than Mol* writes.")
        start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
        if count < 0 or start < 0 or start + count * width * dtype.itemsize > len(self.binary):
            raise StageError("The model's glTF has an array that ends behind the file.")
        return np.frombuffer(self.binary, dtype, count * width, start).reshape(count, width)


def read_chunks(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """The JSON document and the bytes of the binary chunk."""
    if len(content) < 20 or content[:4] != MAGIC or struct.unpack_from("<I", content, 4)[0] != VERSION:
        raise StageError("The model is no binary glTF of version 2.")
    view = memoryview(content)
    length, kind = struct.unpack_from("<II", content, 12)
    if kind != JSON_CHUNK or length > MAX_JSON_BYTES or 20 + length > len(content):
        raise StageError("The model's glTF has no document, or one that is too large.")
    try:
        document = json.loads(bytes(view[20 : 20 + length]))
    except (ValueError, RecursionError):
        raise StageError("The model's glTF document is no JSON.") from None
    if not isinstance(document, dict):
        raise StageError("The model's glTF document is no object.")
    start = 20 + length
    if start + 8 > len(content):
        return document, view[:0]
    length, kind = struct.unpack_from("<II", content, start)
    if kind != BINARY_CHUNK:
        raise StageError("The model's glTF has no binary chunk.")
    return document, view[start + 8 : start + 8 + length]


def linear(raw: np.ndarray) -> np.ndarray:
    """Vertex colours as linear values between 0 and 1.

    Mol* converts its sRGB colours to linear ones and cuts them off to whole bytes, which would darken all of them by half a
    step on average (several steps of sRGB in dark tones): so the middle of the step is taken. Opacity it rounds.
    """
    if raw.dtype.kind == "f":
        return np.clip(np.nan_to_num(raw), 0, 1).astype(np.float32)
    top = float(np.iinfo(raw.dtype).max)
    colors = raw.astype(np.float32)
    rgb = colors[:, :3]
    rgb[(rgb > 0) & (rgb < top)] += 0.5
    return colors / top


def require_near(values: np.ndarray, what: str) -> None:
    if values.size and not bool((np.abs(values) <= MAX_COORDINATE_ANGSTROM).all()):  # not so of NaN
        raise StageError(f"The model's {what} hold values that are no numbers, or beyond {MAX_COORDINATE_ANGSTROM:,.0f} Å.")
