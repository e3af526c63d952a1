"""Draws one scene after the other with a browser that stays, as standard input says.

Reads request.json: "threads" of the browser, "warmUp" with "format" and "states" of the scene that lies in in/scene at the start,
and "compile". All states are drawn, because a browser draws the first of each kind slowly: the rasteriser compiles programs. With
"compile" these are left as out/shaders.tar, and that is all. Without, {"ready": true, "renderer": …} is printed. From now on each
line of standard input is an order:

    {"number": 1, "format": "mvsx", "widthPixels": 960, "heightPixels": 540, "transparent": false}

The scene lies in in/scene by then. The picture is left as out/picture.png, {"drawn": 1} is printed, and {"cleared": 1} when nothing
of the scene is left in the browser. A failure is printed as {"failed": 1, "class": …, "code": …, "message": …} and ends the
program: what a scene that failed has left behind is not looked for. The end of standard input ends it well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

from PIL import Image, PngImagePlugin

from browser import SHADERS
from task import FAILURE_STATUS, OUT, Failure, one_line, read_json, user_error
from viewer import Viewer

SCENE, PICTURE = "in/scene", OUT / "picture.png"
MAX_ORDER_BYTES = 4096
# Level 6 makes files a tenth smaller than 3 and takes thrice as long.
PNG_LEVEL = 3
# 2^1 views a picture: a quarter of what the pictures of jobs take, whose edges are smoother. A surface is there in four fifths of
# the time of 2^2.
SAMPLE_LEVEL = 1
COMPILED = OUT / "shaders.tar"
# Shaders do not depend on the size of a picture; the targets that are drawn to do.
SMALL, LARGE = {"widthPixels": 96, "heightPixels": 54}, {"widthPixels": 960, "heightPixels": 540}
STILL = {"kind": "none", "frames": 1, "fps": 24}


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def draw(viewer: Viewer, order: dict[str, Any]) -> memoryview:
    """RGBA of an order's scene. Raises a Failure."""
    viewer.request["picture"] |= {name: order[name] for name in ("widthPixels", "heightPixels", "transparent")}
    viewer.request["scene"] |= {"format": order["format"]}
    viewer.load()
    content, blank = viewer.picture(1)
    if blank:
        raise user_error(
            "IMAGE_BLANK", "All pixels of the picture are alike although the scene shows something: the camera may look past it."
        )
    return content


def save(rgba: memoryview, order: dict[str, Any]) -> None:
    """Writes the picture in sRGB, complete or not at all."""
    image = Image.frombuffer("RGBA", (order["widthPixels"], order["heightPixels"]), rgba, "raw", "RGBA", 0, 1)
    about = PngImagePlugin.PngInfo()
    about.add(b"sRGB", b"\0")  # perceptual intent
    about.add_text("Software", "molfabric")
    draft = PICTURE.with_suffix(".draft")
    (image if order["transparent"] else image.convert("RGB")).save(draft, "PNG", pnginfo=about, compress_level=PNG_LEVEL)
    os.replace(draft, PICTURE)


def warm_up(viewer: Viewer, states: int) -> None:
    """Draws every state of the scene, and the last of them as previews are drawn."""
    viewer.request["animation"] = {"kind": "states", "frames": states, "fps": 24}
    viewer.load()
    for state in range(1, states + 1):
        viewer.picture(state)
    for picture in (SMALL | {"transparent": True}, LARGE | {"transparent": False}):
        viewer.request["picture"] |= picture
        viewer.picture(1)
    viewer.clear()
    viewer.request["animation"] = STILL


def pack(shaders: Path) -> None:
    """Leaves what Mesa has kept in a folder, complete or not at all."""
    draft = COMPILED.with_suffix(".draft")
    with tarfile.open(draft, "w") as archive:
        for path in sorted(shaders.rglob("*")):
            if path.is_file() and path.suffix != ".tmp":  # which is being written
                archive.add(path, path.relative_to(shaders))
    os.replace(draft, COMPILED)


def serve(viewer: Viewer) -> int:
    """Does what standard input says, until it ends or an order fails. Returns the exit status."""
    while line := sys.stdin.buffer.readline(MAX_ORDER_BYTES):
        order = json.loads(line)
        number = order["number"]
        try:
            save(draw(viewer, order), order)
            say(drawn=number)
            viewer.clear()
            say(cleared=number)
        except Failure as failure:
            say(failed=number, **{"class": failure.failure_class}, code=failure.code, message=one_line(failure.message, 1000))
            return FAILURE_STATUS
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--request", type=Path, default=Path("request.json"), help="request document (default: request.json)")
    request = read_json(parser.parse_args().request)
    OUT.mkdir(exist_ok=True)
    look = {"transparent": False, "background": None, "outline": None, "ambientOcclusion": None, "depthCue": None}
    request |= {
        "scene": {"file": SCENE, "format": request["warmUp"]["format"], "references": {}},
        "picture": {**SMALL, **look, "format": "PNG", "sampleLevel": SAMPLE_LEVEL},
        "animation": STILL,
    }
    try:
        with Viewer(request) as viewer:
            warm_up(viewer, request["warmUp"]["states"])
            if request["compile"]:
                pack(viewer.folder / SHADERS)
                return 0
            say(ready=True, renderer=viewer.renderer)
            return serve(viewer)
    except Failure as failure:
        print(f"{failure.code}: {one_line(failure.message, 1000)}", file=sys.stderr)
        return FAILURE_STATUS


if __name__ == "__main__":
    sys.exit(main())
