"""Opens an artist's .blend before its first frame, and says what is in it, or why it cannot be rendered.

Reads request.json, in/scene.blend and in/project/…; writes out/scene.json. A scene that lacks a camera, an asset or Cycles fails
here, once, instead of in every shard.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from blender import Died, opened, programs
from render import request_path
from task import OUT, Progress, main, user_error, write_json

SCHEMA = "molfabric.blend/v1"
# How a .blend begins: plain, or compressed by Blender with Zstandard or, before Blender 3, with gzip.
BEGINNINGS = (b"BLENDER", b"\x28\xb5\x2f\xfd", b"\x1f\x8b")


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "opening the scene")
    refuse_foreign(Path(request["scene"]["file"]))
    try:
        blender, answer = opened(request_path(), request["openLimitSeconds"])
    except Died as died:
        raise user_error(
            "SCENE_UNREADABLE", f"Blender {died} while it opened the scene. Open and save it with Blender 4.5, and submit it again."
        ) from None
    try:
        progress(0.5, "looking for what the scene needs")
        found = blender.ask({"do": "inspect"}, request["openLimitSeconds"])
    except Died as died:
        raise user_error(
            "SCENE_UNREADABLE",
            f"Blender {died} while it looked through the scene. Open and save it with Blender 4.5, and submit it again.",
        ) from None
    finally:
        blender.stop()
    load = {"loadSeconds": answer["seconds"], "loadCpuSeconds": answer["cpuSeconds"]}
    write_json(OUT / "scene.json", {"schema": SCHEMA, **found, **load})
    brief = (
        "engine",
        "widthPixels",
        "heightPixels",
        "samples",
        "camera",
        "fps",
        "frameStart",
        "frameEnd",
        "objects",
        "polygons",
        "warnings",
    )
    return {"summary": {**{name: found[name] for name in brief}, **load}, "programs": programs(answer)}


def refuse_foreign(path: Path) -> None:
    """Refuses what is no .blend without asking Blender, which would say it less clearly."""
    with open(path, "rb") as file:
        beginning = file.read(8)
    if not beginning:
        raise user_error("SCENE_UNREADABLE", "The scene file is empty.")
    if not beginning.startswith(BEGINNINGS):
        raise user_error(
            "SCENE_UNREADABLE",
            "The scene file is no .blend. A render job takes the file that Blender saves; pack a project as attachments beside "
            "it, not as an archive.",
        )


if __name__ == "__main__":
    sys.exit(main((__doc__ or "").splitlines()[0], work))
