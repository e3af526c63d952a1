"""Reads what the viewer exported of a molecular scene: stage.tar with stage.json, the models (GLB) and the overlays of labels
(PNG).

Nothing is unpacked: members are read where they lie in the archive, one at a time, and only those whose names follow the
two patterns below. Coordinates are Å in the scene's own axes (y up); a model's coordinates are those plus the frame's translation.
"""

from __future__ import annotations

import json
import math
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "molfabric.stage/v1"
DOCUMENT = "stage.json"
MODEL_NAME = re.compile(r"model-[0-9]{1,5}\.glb")
LABELS_NAME = re.compile(r"labels-[0-9]{1,6}\.png")
COLOR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)

MAX_DOCUMENT_BYTES = 64 << 20
# A GLB's own length field is 32 bits; beyond this Cycles would need more memory than a worker has.
MAX_MODEL_BYTES = 1 << 30
MAX_LABELS_BYTES = 64 << 20
MAX_MEMBERS = 30_000
MAX_FRAMES = 20_000
MAX_PARTS = 200_000
MAX_REGIONS = 32
MAX_NAME_CHARS = 100
MAX_PROGRAMS = 20
MAX_SIDE_PIXELS = 16_384
# Far beyond any assembly; keeps the camera's arithmetic in single precision sane.
MAX_COORDINATE_ANGSTROM = 1e6


class StageError(ValueError):
    """A stage that cannot be used. The message names the member and says what is wrong."""


@dataclass(frozen=True)
class Camera:
    """Position, target and up in the scene's axes and Å; fov_y in radians; near and far are distances along the view in Å, as are
    those between which what is shown fades; fog is None where nothing does."""

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float]
    fov_y: float
    orthographic: bool
    near: float
    far: float
    fog: tuple[float, float] | None = None


@dataclass(frozen=True)
class Region:
    """A part of space that a representation is cut by: kind is plane, sphere or box. It holds the points whose place, moved by
    transform (4 × 4), lies in the region at position that a quaternion (x, y, z, w) turns and that has these whole extents. Of a
    plane it is the side that its own second axis points to."""

    kind: str
    invert: bool
    position: tuple[float, ...]
    rotation: tuple[float, ...]
    scale: tuple[float, ...]
    transform: tuple[float, ...]  # by column
    whole: bool


@dataclass(frozen=True)
class Frame:
    number: int
    model: str
    translation: tuple[float, float, float]
    camera: Camera
    labels: str | None
    background: tuple[float, float, float]
    occlusion: bool


@dataclass(frozen=True)
class Part:
    """What one node of a model shows: the representation's type and component, its opacity between 0 and 1, and what is cut away
    from it."""

    type: str = "other"
    component: str = "other"
    opacity: float = 1.0
    regions: tuple[Region, ...] = ()


class Stage:
    """An opened stage.tar. parts maps (model, node) to a Part; a node that it lacks is an ordinary one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.members = list_members(path)
        document = self.read_document()
        self.width, self.height = (size(document, side) for side in ("widthPixels", "heightPixels"))
        background = document.get("background") or "#ffffff"
        self.transparent = document.get("transparent") is True
        self.programs = read_programs(document.get("programs"))
        self.frames = {
            frame.number: frame for frame in (read_frame(one, background) for one in listed(document, "frames", MAX_FRAMES))
        }
        if not self.frames:
            raise StageError(f"{DOCUMENT} has no frames; give at least one.")
        self.parts = {key: part for one in listed(document, "representations", MAX_PARTS) for key, part in read_part(one)}

    def read_document(self) -> dict[str, Any]:
        try:
            document = json.loads(self.read(DOCUMENT, MAX_DOCUMENT_BYTES))
        except (ValueError, RecursionError) as error:
            raise error if isinstance(error, StageError) else StageError(f"{DOCUMENT} is no JSON document.") from None
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise StageError(f"{DOCUMENT} is not of the schema {SCHEMA}.")
        return document

    def read(self, name: str, most_bytes: int) -> bytes:
        """The content of one member. Raises StageError when it is missing or larger than most_bytes."""
        member = self.members.get(name)
        if member is None:
            raise StageError(f"The stage has no member {name}.")
        if member.size > most_bytes:
            raise StageError(f"The stage's member {name} has {member.size:,} bytes; at most {most_bytes:,} are allowed.")
        with open(self.path, "rb") as file:
            file.seek(member.offset_data)
            content = file.read(member.size)
        if len(content) != member.size:
            raise StageError(f"The stage ends within its member {name}.")
        return content

    def model(self, name: str) -> bytes:
        return self.read(name, MAX_MODEL_BYTES)

    def labels(self, name: str) -> bytes:
        return self.read(name, MAX_LABELS_BYTES)

    def part(self, model: str, node: int, name: str) -> Part:
        """The Part of a model's node, told by its index or by its glTF name, for this model or for every one."""
        for key in ((model, node), (None, node), (model, name), (None, name)):
            if key in self.parts:
                return self.parts[key]
        return Part()


def list_members(path: Path) -> dict[str, tarfile.TarInfo]:
    """The regular files of the archive that a stage may have, by name."""
    members: dict[str, tarfile.TarInfo] = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for count, member in enumerate(archive, start=1):
                if count > MAX_MEMBERS:
                    raise StageError(f"The stage has more than {MAX_MEMBERS:,} members.")
                known = member.name == DOCUMENT or MODEL_NAME.fullmatch(member.name) or LABELS_NAME.fullmatch(member.name)
                if known and member.isreg() and not member.issparse():
                    members[member.name] = member
    except (tarfile.TarError, OSError, EOFError) as error:
        raise StageError(f"The stage is no tar archive that can be read: {error}.") from None
    return members


def read_frame(document: Any, background: Any) -> Frame:
    """One frame, with the stage's background where it states none of its own (a state of a scene may)."""
    number = document.get("frame") if isinstance(document, dict) else None
    if type(number) is not int:
        raise StageError(f"A frame of {DOCUMENT} has no number.")
    where = f"frame {number} of {DOCUMENT}"
    model, labels = document.get("model"), document.get("labels")
    if not isinstance(model, str) or not MODEL_NAME.fullmatch(model):
        raise StageError(f"The model of {where} is not named like model-0.glb.")
    if labels is not None and not (isinstance(labels, str) and LABELS_NAME.fullmatch(labels)):
        raise StageError(f"The labels of {where} are not named like labels-0001.png.")
    camera = document.get("camera")
    if not isinstance(camera, dict):
        raise StageError(f"The camera of {where} is missing.")
    own = color(document.get("background") or background, where)
    occlusion = document.get("occlusion", True) is True
    return Frame(number, model, vector(document, "translation", where), read_camera(camera, where), labels, own, occlusion)


def read_camera(document: dict[str, Any], where: str) -> Camera:
    position, target, up = (vector(document, name, where) for name in ("position", "target", "up"))
    mode = document.get("mode", "perspective")
    if mode not in ("perspective", "orthographic"):
        raise StageError(f"The camera's mode of {where} is {mode!r:.50}; perspective and orthographic are allowed.")
    fov = number(document, "fovYRadians", where)
    near, far = number(document, "near", where), number(document, "far", where)
    if math.dist(position, target) < 1e-6 or not 1e-3 < fov < math.pi - 1e-3 or not far > near:
        raise StageError(f"The camera of {where} looks at its own position, has no field of view, or ends before it starts.")
    return Camera(position, target, up, fov, mode == "orthographic", near, far, read_fog(document.get("fog"), where))


def read_fog(document: Any, where: str) -> tuple[float, float] | None:
    if not isinstance(document, dict):
        return None
    near, far = number(document, "near", f"fog of {where}"), number(document, "far", f"fog of {where}")
    return (near, far) if far > near else None


def read_region(document: Any) -> Region:
    """One region that is cut away. A kind that is not known is kept: who cuts says that it is left out."""
    where = f"a clip of {DOCUMENT}"
    if not isinstance(document, dict):
        raise StageError(f"{where[:1].upper()}{where[1:]} is no object.")
    position, rotation, scale, transform = (
        numbers(document, name, count, where) for name, count in (("position", 3), ("rotation", 4), ("scale", 3), ("transform", 16))
    )
    kind, invert, whole = word(document.get("type")), document.get("invert") is True, document.get("whole") is True
    return Region(kind, invert, position, rotation, scale, transform, whole)


def read_part(document: Any) -> list[tuple[tuple[str | None, int | str], Part]]:
    """One entry of representations: mesh is a node's index or name, or a list of them; model, when given, limits it to that one."""
    if not isinstance(document, dict):
        raise StageError(f"A representation of {DOCUMENT} is no object.")
    opacity = document.get("opacity", 1.0)
    part = Part(
        word(document.get("type")),
        word(document.get("component")),
        min(max(float(opacity), 0.0), 1.0) if isinstance(opacity, (int, float)) and math.isfinite(opacity) else 1.0,
        tuple(map(read_region, listed(document, "clip", MAX_REGIONS))),
    )
    model, nodes = document.get("model"), document.get("mesh")
    nodes = nodes if isinstance(nodes, list) else [nodes]
    return [((model if isinstance(model, str) else None, node), part) for node in nodes if isinstance(node, (int, str))]


def read_programs(document: Any) -> dict[str, str]:
    """The programs that have written the stage, by name; what is no such list names none."""
    told = document.items() if isinstance(document, dict) and len(document) <= MAX_PROGRAMS else ()
    return {str(name)[:MAX_NAME_CHARS]: version[:MAX_NAME_CHARS] for name, version in told if isinstance(version, str)}


def word(text: Any) -> str:
    """A representation's type or component in one spelling: Ball & Stick, ball-and-stick and ball_and_stick are the same."""
    if not isinstance(text, str) or len(text) > MAX_NAME_CHARS:
        return "other"
    return re.sub(r"[^a-z0-9]+", "_", text.lower().replace("&", "and")).strip("_") or "other"


def listed(document: dict[str, Any], name: str, most: int) -> list[Any]:
    value = document.get(name, [])
    if not isinstance(value, list) or len(value) > most:
        raise StageError(f"{name} of {DOCUMENT} must be a list of at most {most:,} entries.")
    return value


def size(document: dict[str, Any], name: str) -> int:
    value = document.get(name)
    if type(value) is not int or not 1 <= value <= MAX_SIDE_PIXELS:
        raise StageError(f"{name} of {DOCUMENT} must be a whole number between 1 and {MAX_SIDE_PIXELS:,}.")
    return value


def number(document: dict[str, Any], name: str, where: str) -> float:
    value = document.get(name)
    if type(value) not in (int, float) or not abs(value) <= MAX_COORDINATE_ANGSTROM:  # not so of NaN
        raise StageError(f"{name} of {where} must be a number of at most {MAX_COORDINATE_ANGSTROM:,.0f}.")
    return float(value)


def numbers(document: dict[str, Any], name: str, count: int, where: str) -> tuple[float, ...]:
    value = document.get(name)
    if not isinstance(value, list) or len(value) != count:
        raise StageError(f"{name} of {where} must be {count} numbers.")
    return tuple(number({name: one}, name, where) for one in value)


def vector(document: dict[str, Any], name: str, where: str) -> tuple[float, float, float]:
    x, y, z = numbers(document, name, 3, where)
    return x, y, z


def color(text: Any, where: str) -> tuple[float, float, float]:
    """Red, green and blue between 0 and 1, encoded as sRGB, of #rrggbb."""
    if not isinstance(text, str) or not COLOR.fullmatch(text):
        raise StageError(f"The background of {where} must be a colour like #ffffff.")
    red, green, blue = (int(text[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue
