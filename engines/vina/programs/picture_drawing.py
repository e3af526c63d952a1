"""Has scenes drawn by the programs of rendering, which lie in a folder beside this one: first with Mol*, and where it is asked for
the first of them anew with Cycles. What goes wrong there is told, and never fails the task.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, NamedTuple

from PIL import Image

from task import OUT, adopt, one_line, read_json, write_json

RENDERER = Path(__file__).resolve().parent / "renderer"
# Where set-up puts Blender's module, below the Python that runs this.
BLENDER = Path(sys.prefix) / "share" / "molfabric" / "blender"
# Wall times after which a renderer is taken for hung: fifty times what it takes on a quiet machine.
RASTER_SECONDS, TRACED_SECONDS = 900.0, 7200.0
REPORT_QUALITY = 84
KEPT = ("best", "box")  # pictures that are files of their own; what else there is, the report alone has
AS_THE_SCENE_SAYS = ("background", "outline", "ambientOcclusion", "depthCue")
TRACED_SHARE = 0.8  # of the work, where rays are traced


class Still(NamedTuple):
    """A picture that is wanted of a state of a scene: its name, and its size in pixels."""

    name: str
    width: int
    height: int


@dataclass
class Drawn:
    """Which tier has drawn the first picture, None where nothing was drawn; the pictures' small copies by name; and why
    something is missing, in sentences."""

    tier: str | None = None
    images: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    programs: dict[str, str] = field(default_factory=dict)


class Missing(Exception):
    """A renderer has drawn nothing. The message says why, as a clause."""


def draw(
    scene: dict[str, Any],
    stills: list[Still],
    files: dict[str, str],
    request: dict[str, Any],
    progress: Callable[[float, str], None],
) -> Drawn:
    """Draws each state of a scene, and leaves NAME.png and its small copy. files are what the scene refers to; request says what
    draws the first of them (picture), with how many threads and samples."""
    drawn, traced = Drawn(), request["picture"] == "cycles"
    with tempfile.TemporaryDirectory(prefix="draw-") as scratch:
        folder = Path(scratch)
        try:
            progress(0.0, "drawing")
            drawn.programs = raster(folder, scene, stills, files, request["threads"], traced)
        except Missing as missing:
            drawn.notes.append(f"No picture was drawn: {missing}.")
            return drawn
        drawn.tier = "molstar"
        if traced:
            progress(1 - TRACED_SHARE, "tracing rays")
            try:
                drawn.programs["blender"] = trace(folder, folder / "out" / f"{stills[0].name}.png", request)
                drawn.tier = "cycles"
            except Missing as missing:
                drawn.notes.append(f"The picture was drawn by Mol* and not by Cycles: {missing}.")
        for still in stills:
            picture, small = folder / "out" / f"{still.name}.png", f"{still.name}.webp"
            shrink(picture, folder / small)
            adopt(folder / small, OUT / small)
            drawn.images[still.name] = {"file": small, "widthPixels": still.width, "heightPixels": still.height}
            if still.name in KEPT:
                adopt(picture, OUT / picture.name)
    return drawn


def raster(
    folder: Path, scene: dict[str, Any], stills: list[Still], files: dict[str, str], threads: int, stage: bool
) -> dict[str, str]:
    """Draws the states with Mol*, and writes the stage of the first one where the tracer needs it. Returns the programs. Raises
    Missing."""
    (folder / "in").mkdir()
    for name, content in files.items():
        (folder / "in" / name).write_text(content, encoding="utf-8")
    (folder / "in" / "scene.mvsj").write_text(json.dumps(scene), encoding="utf-8")
    wanted = [
        {"frame": number, "file": f"{still.name}.png", "widthPixels": still.width, "heightPixels": still.height}
        for number, still in enumerate(stills, start=1)
    ]
    write_json(
        folder / "request.json",
        {
            "scene": {"file": "in/scene.mvsj", "format": "mvsj", "references": {name: f"in/{name}" for name in files}},
            "threads": threads,
            "animation": {"kind": "states", "frames": len(stills), "fps": 1},
            "stills": wanted,
            "stage": [1] if stage else [],
            "picture": {"format": "PNG", "transparent": False, **dict.fromkeys(AS_THE_SCENE_SAYS)},
        },
    )
    run([str(RENDERER / "stills.py")], folder, RASTER_SECONDS)
    return read_json(folder / "out" / "result.json")["programs"]


def trace(folder: Path, path: Path, request: dict[str, Any]) -> str:
    """Renders the first frame of the stage in place of a picture, and returns the version of Blender. Raises Missing."""
    if not (BLENDER / "bpy").is_dir():
        raise Missing("Blender is missing on the worker")
    choices = {"stage": "out/stage.tar", "out": "traced.png", "samples": request["samples"], "threads": request["threads"]}
    arguments = [text for name, value in choices.items() for text in (f"--{name}", str(value))]
    said = run([str(RENDERER / "molecule.py"), *arguments], folder, TRACED_SECONDS, {"PYTHONPATH": str(BLENDER)})
    os.replace(folder / "traced.png", path)
    return json.loads(said.splitlines()[-1])["blender"]


def run(arguments: list[str], folder: Path, limit_s: float, environment: dict[str, str] | None = None) -> str:
    """Runs a program of rendering in a folder and returns what it printed. It and all that it has started end with it. Raises
    Missing."""
    log = folder / "log"
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-B", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Missing(f"the renderer did not end within {limit_s / 60:.0f} minutes") from None
        finally:
            end(process)
    said = log.read_text(encoding="utf-8", errors="replace")
    if status == 0:
        return said
    sys.stderr.write(said[-4000:])
    failure = folder / "out" / "failure.json"
    if failure.exists():
        raise Missing(one_line(read_json(failure)["message"], 300).rstrip("."))
    raise Missing(f"the renderer ended with status {status}")


def end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def shrink(picture: Path, path: Path) -> None:
    """A copy for the report, a fifth of the size."""
    with Image.open(picture) as shown:
        shown.convert("RGB").save(path, "WEBP", quality=REPORT_QUALITY, method=6)
