"""A renderer of its own for tests: a disc that moves to the right with the frame's number. It is laid beside film.py.

Beside the members that film.py reads, its request has "picture"."widthPixels" and "heightPixels", "fail" (frames that cannot be
rendered) and "die" (null, or the frame before which the process ends as if it had been killed).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from film import EXTENSIONS, Film
from PIL import Image, ImageDraw
from task import Progress, main

# An EXR file begins so; nothing here reads further.
EXR = b"\x76\x2f\x31\x01" + bytes(100)


def draw(frame: int, picture: dict[str, Any]) -> Image.Image:
    size = (picture["widthPixels"], picture["heightPixels"])
    image = Image.new("RGBA", size, (0, 0, 0, 0) if picture["transparent"] else (255, 255, 255, 255))
    radius, left = size[1] // 4, frame * 7 % size[0]
    ImageDraw.Draw(image).ellipse((left, size[1] // 2 - radius, left + 2 * radius, size[1] // 2 + radius), fill=(200, 30, 60, 255))
    return image if picture["transparent"] else image.convert("RGB")


def render(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    film = Film(request, progress)
    folder = Path(tempfile.mkdtemp())
    for frame in film.missing():
        if frame == request["die"]:
            sys.stdout.flush()
            os._exit(137)
        if frame in request["fail"]:
            film.failed(frame, "the disc is out of sight", code="IMAGE_BLANK")
            continue
        shown = folder / f"new{'.png' if film.format == 'EXR' else EXTENSIONS[film.format]}"
        draw(frame, request["picture"]).save(shown)
        if film.format == "EXR":
            (folder / "new.exr").write_bytes(EXR + str(frame).encode())
            film.add(frame, folder / "new.exr", shown, seconds=0.1, cpu_seconds=0.2)
        else:
            film.add(frame, shown, seconds=0.1, cpu_seconds=0.2)
    return film.close(1.5, 2.5, {"synthetic": "1"})


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", render))
