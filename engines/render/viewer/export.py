"""Hands the scene of a molecular job to the ray tracer: geometry as glTF, and camera and labels of each frame, in out/stage.tar.

stage.json in it tells what there is (schema molfabric.stage/v1): every frame names its model and its labels, and every node of
a model has an entry in "representations". The geometry's coordinates are the scene's plus the frame's "translation"; the camera's
are the scene's own. Colours of vertices are linear, with the opacity as alpha.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from task import OUT, Progress, adopt, executor_error, main
from viewer import Viewer

STAGE_SCHEMA = "molfabric.stage/v1"
STAGE_FILE = "stage.tar"


class Stage:
    """Writes stage.tar. A model or an overlay that is equal to an earlier one is not written again."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self.archive = archive
        self.names: dict[str, str] = {}
        self.counts = {"model": 0, "labels": 0}

    def add(self, name: str, content: bytes | memoryview) -> None:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        self.archive.addfile(member, io.BytesIO(content))

    def add_once(self, kind: str, ending: str, content: bytes | memoryview) -> str:
        digest = f"{kind}/{hashlib.sha256(content).hexdigest()}"
        if digest not in self.names:
            self.names[digest] = f"{kind}-{self.counts[kind]}.{ending}"
            self.counts[kind] += 1
            self.add(self.names[digest], content)
        return self.names[digest]


def labels_png(rgba: memoryview, picture: dict[str, Any]) -> bytes:
    content = io.BytesIO()
    size = picture["widthPixels"], picture["heightPixels"]
    Image.frombuffer("RGBA", size, rgba, "raw", "RGBA", 0, 1).save(content, "PNG")
    return content.getvalue()


def write_stage(request: dict[str, Any], viewer: Viewer, progress: Progress, path: Path) -> dict[str, Any]:
    """Writes the archive and returns its stage.json."""
    picture, frames = request["picture"], request["frames"]
    moves = request["animation"]["kind"] in ("states", "timeline")
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        stage, told, models = Stage(archive), [], {}
        background, model, translation = "#ffffff", "", [0.0, 0.0, 0.0]
        for done, frame in enumerate(frames):
            progress(done / len(frames), f"exported {done} of {len(frames)} frames")
            document, geometry, labels = viewer.export(frame, model=moves or not models)
            if geometry:
                if not document["representations"]:
                    raise executor_error(
                        "SCENE_EMPTY", f"Frame {frame} of the scene shows nothing that has a surface, so there is nothing to trace."
                    )
                model, translation = stage.add_once("model", "glb", geometry), document["translation"]
                models[model] = document["representations"]
            background = document["background"]
            overlay = stage.add_once("labels", "png", labels_png(labels, picture)) if labels else None
            told.append(
                {
                    "frame": frame,
                    "model": model,
                    "translation": translation,
                    "background": background,
                    "labels": overlay,
                    "camera": document["camera"],
                    "occlusion": document["occlusion"],
                }
            )
        stage_json = {
            "schema": STAGE_SCHEMA,
            "widthPixels": picture["widthPixels"],
            "heightPixels": picture["heightPixels"],
            "background": picture["background"] or background,
            "transparent": picture["transparent"],
            "frames": told,
            "representations": [{"model": name, **node} for name, nodes in models.items() for node in nodes],
            "programs": viewer.programs(),
        }
        stage.add("stage.json", json.dumps(stage_json, indent=1).encode())
    return stage_json


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    started = time.monotonic()
    with Viewer(request) as viewer:
        progress(0, "opening the scene")
        viewer.load()
        load_seconds = time.monotonic() - started
        draft = OUT / f"{STAGE_FILE}.draft"
        stage = write_stage(request, viewer, progress, draft)
        programs, cpu_seconds = viewer.programs(), viewer.cpu_seconds()
    adopt(draft, OUT / STAGE_FILE)
    summary = {
        "frames": len(stage["frames"]),
        "models": len({frame["model"] for frame in stage["frames"]}),
        "loadSeconds": round(load_seconds, 3),
        "seconds": round(time.monotonic() - started, 3),
        "cpuSeconds": round(cpu_seconds, 3),
    }
    return {"summary": summary, "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
