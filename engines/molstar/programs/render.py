"""Renders frames of a molecular scene as PNG or JPEG with the viewer's browser, many frames a process.

Reads request.json, the scene and its references below in/ and, of a resumed job, finished frames below in/resume, and writes
frames, statistics and the shard's part of the film below out/.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from film import CHECKPOINT, EXTENSIONS, Film, frame_name
from PIL import Image, PngImagePlugin
from task import Failure, Progress, main, user_error
from viewer import Viewer

DOTS_PER_INCH = (300, 300)
# Level 6 makes files a tenth smaller than 3 and takes thrice as long.
PNG_LEVEL = 3
JPEG_QUALITY = 95
MOST_TRIES = 2
BROWSER_ENDED = ("VIEWER_CRASHED", "VIEWER_HUNG", "CONTEXT_LOST")


class Drawn(NamedTuple):
    """A frame on its way to its file."""

    frame: int
    tries: int
    seconds: float
    cpu_seconds: float
    written: Future[Path]


class Session:
    """The viewer of a shard. It is opened when a frame is first needed, and again after its browser has ended."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.viewer: Viewer | None = None
        self.load_seconds = self.load_cpu_seconds = 0.0
        self.programs: dict[str, str] = {}

    def opened(self) -> Viewer:
        if self.viewer:
            return self.viewer
        started = time.monotonic()
        viewer = Viewer(self.request)
        try:
            viewer.__enter__()
            viewer.load()
            self.programs = viewer.programs()
        except BaseException:
            viewer.close()
            raise
        self.viewer = viewer
        self.load_seconds, self.load_cpu_seconds = time.monotonic() - started, viewer.cpu_seconds()
        return viewer

    def close(self) -> None:
        if self.viewer:
            self.viewer.close()
        self.viewer = None

    def draw(self, frame: int) -> tuple[memoryview, float]:
        """A frame's RGBA, and the processor time that it took in seconds. Raises a Failure."""
        viewer = self.opened()
        before = viewer.cpu_seconds()
        try:
            content, blank = viewer.picture(frame)
        except Failure as failure:
            if failure.code in BROWSER_ENDED:
                self.close()
            raise
        if blank:
            raise user_error(
                "IMAGE_BLANK",
                "All pixels of the picture are alike although the scene shows something: the camera may look past it.",
            )
        return content, viewer.cpu_seconds() - before


def encode(content: memoryview, picture: dict[str, Any], path: Path) -> Path:
    """Writes RGBA as the picture's file in sRGB, and returns the file."""
    image = Image.frombuffer("RGBA", (picture["widthPixels"], picture["heightPixels"]), content, "raw", "RGBA", 0, 1)
    if not picture["transparent"] or picture["format"] == "JPEG":
        image = image.convert("RGB")
    if picture["format"] == "JPEG":
        image.save(path, "JPEG", quality=JPEG_QUALITY, subsampling=0, dpi=DOTS_PER_INCH, comment="molfabric")
        return path
    about = PngImagePlugin.PngInfo()
    about.add(b"sRGB", b"\0")  # perceptual intent
    about.add_text("Software", "molfabric")
    image.save(path, "PNG", pnginfo=about, dpi=DOTS_PER_INCH, compress_level=PNG_LEVEL)
    return path


def render(request: dict[str, Any], film: Film, session: Session) -> None:
    """Renders what is missing. A frame's file is written beside the drawing of the next frame."""
    picture = request["picture"]
    with ThreadPoolExecutor(1, "encode") as encoder:
        waiting: Drawn | None = None
        for frame in film.missing():
            drawn = draw_with_retry(frame, film, session)
            if waiting:
                finish(waiting, film)
            waiting = None
            if drawn:
                content, tries, seconds, cpu_seconds = drawn
                draft = CHECKPOINT / f"{frame_name(frame, EXTENSIONS[picture['format']])}.draft"
                waiting = Drawn(frame, tries, seconds, cpu_seconds, encoder.submit(encode, content, picture, draft))
        if waiting:
            finish(waiting, film)


def draw_with_retry(frame: int, film: Film, session: Session) -> tuple[memoryview, int, float, float] | None:
    """Draws a frame, once more when the first try fails. None when both have, which the film then knows. A scene that cannot be
    opened is a failure of the whole shard."""
    for tries in range(1, MOST_TRIES + 1):
        session.opened()
        started = time.monotonic()
        try:
            content, cpu_seconds = session.draw(frame)
        except Failure as failure:
            if tries == MOST_TRIES:
                # A scene that keeps two browsers busy for so long is too much for any.
                at_fault = "USER_INPUT" if failure.code == "VIEWER_HUNG" else failure.failure_class
                film.failed(frame, failure.message, code=failure.code, failure_class=at_fault)
            continue
        return content, tries, time.monotonic() - started, cpu_seconds
    return None


def finish(drawn: Drawn, film: Film) -> None:
    film.add(drawn.frame, drawn.written.result(), seconds=drawn.seconds, cpu_seconds=drawn.cpu_seconds, tries=drawn.tries)


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    film = Film(request, progress)
    session = Session(request)
    try:
        if film.missing():
            progress(0, "opening the scene")
            session.opened()
        render(request, film, session)
    finally:
        session.close()
    return film.close(session.load_seconds, session.load_cpu_seconds, session.programs)


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
