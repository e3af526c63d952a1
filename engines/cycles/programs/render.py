"""Renders the frames of one shard with Blender's Cycles: of an artist's .blend, or of a molecular scene that the viewer has
exported.

Reads request.json, in/scene.blend with in/project/… or in/stage.tar, and in/resume/… of an interrupted attempt. Writes
out/frame_0001.png …, out/preview.jpg, out/frames.json and what else film.py says. Blender works in a process of its own: when it
dies or hangs, a fresh one goes on with the remaining frames. A frame that fails twice is named, and the rest goes on.
"""

from __future__ import annotations

import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blender import Blender, Died, opened, programs
from film import FRAMES_SHARE, Film, frame_name
from PIL import Image
from task import OUT, Failure, Progress, executor_error, main, one_line, user_error

# Where Blender writes a frame; film.py moves it to its place when it is whole.
DRAWING = OUT / "drawing"
MAX_TRIES = 2
# An end of Blender while it opens the scene is tried again as often; the third is the shard's.
MAX_OPENINGS = 3
MAX_WARNINGS = 100


@dataclass(frozen=True)
class Drawn:
    """A frame that Blender has rendered. display is the same for a screen, where path is EXR; told is Blender's answer."""

    frame: int
    tries: int
    path: Path
    display: Path | None
    told: dict[str, Any]


class Rendering:
    """Renders what the film misses. run and summary, in this order; end at any time."""

    def __init__(self, request: dict[str, Any], request_path: Path, film: Film, progress: Progress) -> None:
        self.request, self.path, self.film, self.progress = request, request_path, film, progress
        self.blender: Blender | None = None
        self.drawn: Drawn | None = None  # rendered, and not kept yet
        self.first: dict[str, Any] = {}  # what the first opening has told
        self.tries: dict[int, int] = {}
        self.openings_failed = 0
        self.memory_bytes, self.samples = 0, 0
        self.stated = any(request["picture"][name] is not None for name in ("widthPixels", "samples"))  # not the scene's own
        self.blank: list[int] = []

    def run(self) -> None:
        DRAWING.mkdir(parents=True, exist_ok=True)
        try:
            while self.drawn or self.film.missing():
                # A frame that has failed waits until the others are done: they may be all there is to get.
                if to_draw := [frame for frame in self.film.missing() if not self.drawn or frame != self.drawn.frame]:
                    self.draw(min(to_draw, key=lambda frame: (self.tries.get(frame, 0), frame)))
                else:
                    self.keep()
        finally:
            self.end()

    def end(self) -> None:
        if self.blender:
            self.blender.stop()
            self.blender = None
        shutil.rmtree(DRAWING, ignore_errors=True)

    def draw(self, frame: int) -> None:
        """Renders a frame, and keeps the one before while Blender is at work."""
        if not self.ready():
            return
        assert self.blender is not None
        tries = self.tries[frame] = self.tries.get(frame, 0) + 1
        path = DRAWING / frame_name(frame, self.film.extension)
        display = DRAWING / frame_name(frame, ".png", "display") if self.film.format == "EXR" else None
        command = {"do": "render", "frame": frame, "path": str(path), "display": display and str(display)}
        try:
            answer = self.blender.ask(command, self.request["frameLimitSeconds"], lambda told: self.sample(frame, told), self.keep)
        except Died as died:
            self.blender.stop()
            self.blender = None
            DRAWING.mkdir(exist_ok=True)
            self.failed(
                frame,
                tries,
                ended(died, "while it rendered this frame", "make the scene lighter, or state its metadata.renderTimeMinutes"),
            )
        except Failure as failure:
            self.failed(frame, tries, failure)
        else:
            self.drawn = Drawn(frame, tries, path, display, answer)

    def keep(self) -> None:
        """Looks at the frame that was drawn last and gives it to the film. Without one it does nothing."""
        if not self.drawn:
            return
        drawn, self.drawn = self.drawn, None
        try:
            self.judge(drawn.frame, drawn.display or drawn.path)
        except Failure as failure:
            self.failed(drawn.frame, drawn.tries, failure)
            return
        self.memory_bytes, self.samples = (
            max(self.memory_bytes, drawn.told["memoryPeakBytes"]),
            max(self.samples, drawn.told["samples"]),
        )
        self.film.add(
            drawn.frame,
            drawn.path,
            drawn.display,
            seconds=drawn.told["seconds"],
            cpu_seconds=drawn.told["cpuSeconds"],
            tries=drawn.tries,
        )

    def ready(self) -> bool:
        """Has a Blender with the scene open. A scene that cannot be opened is the failure of the shard."""
        if self.blender:
            return True
        self.progress(0.0, "opening the scene")
        try:
            self.blender, answer = opened(self.path, self.request["openLimitSeconds"])
        except Died as died:
            self.openings_failed += 1
            if self.openings_failed < MAX_OPENINGS and not died.slow:
                return False
            raise ended(died, "while it opened the scene", "make the scene lighter") from None
        self.first = self.first or answer
        return True

    def judge(self, frame: int, picture: Path) -> None:
        """Wants a picture, and of a molecule one that shows something. An artist's frame may well be black."""
        try:
            with Image.open(picture) as shown:
                extrema = shown.getextrema()
                shown.load()
        except OSError:
            raise executor_error("FRAME_UNREADABLE", "Blender left no whole picture of this frame.") from None
        bands = [extrema] if isinstance(extrema[0], (int, float)) else extrema
        if not all(low == high for low, high in bands):
            return
        if self.request["scene"]["kind"] == "stage":
            raise user_error(
                "IMAGE_BLANK", "The picture of this frame shows nothing; look where its camera points, and what the scene shows."
            )
        self.blank.append(frame)

    def failed(self, frame: int, tries: int, failure: Failure) -> None:
        print(f"frame {frame}, try {tries}: {failure.code}: {failure.message}", file=sys.stderr, flush=True)
        if tries >= MAX_TRIES:
            self.film.failed(frame, failure.message, code=failure.code, failure_class=failure.failure_class)

    def sample(self, frame: int, told: dict[str, Any]) -> None:
        total, ended = len(self.film.frames), len(self.film.done) + len(self.film.failures)
        share = min(told["sample"] / max(told["samples"], 1), 1.0)
        self.progress(
            FRAMES_SHARE * (ended + share) / total,
            f"frame {frame} ({ended + 1} of {total}): sample {told['sample']} of {told['samples']}",
        )

    def summary(self) -> dict[str, Any]:
        warnings = list(self.first.get("warnings", []))
        if self.blank:
            warnings.append(f"all pixels of these frames are alike: {one_line(', '.join(map(str, self.blank)), 200)}")
        return {
            "device": self.first.get("device"),
            "memoryPeakBytes": self.memory_bytes,
            "samples": self.samples,
            "stated": self.stated,
            "warnings": warnings[:MAX_WARNINGS],
        }


def ended(died: Died, when: str, advice: str) -> Failure:
    """A renderer that has worked for many times what a scene takes was given too much; one that fell over may be at fault
    itself."""
    if died.slow:
        return user_error("RENDERER_DIED", f"Blender {died} {when}; {advice}.")
    return executor_error("RENDERER_DIED", f"Blender {died} {when}.")


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    film = Film(request, progress)
    rendering = Rendering(request, request_path(), film, progress)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rendering.run()
    first = rendering.first
    closed = film.close(first.get("seconds", 0.0), first.get("cpuSeconds", 0.0), programs(first) if first else {})
    return {**closed, "summary": {**closed["summary"], **rendering.summary()}}


def request_path() -> Path:
    """The document that Blender's side reads too."""
    return Path(sys.argv[sys.argv.index("--request") + 1] if "--request" in sys.argv else "request.json")


if __name__ == "__main__":
    sys.exit(main((__doc__ or "").splitlines()[0], work))
