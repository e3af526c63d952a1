"""The frames of one render shard, whichever program renders them: files, thumbnails, statistics, what an interrupted attempt has
left, and the shard's segment of the film.

    film = Film(request, progress)
    for frame in film.missing():
        film.add(frame, rendered_file, seconds=1.2, cpu_seconds=2.3)   # or film.failed(frame, "why")
    return film.close(load_seconds, load_cpu_seconds, {"molstar": "5.11.0"})

It reads of the request: "frames" (ascending), "picture"."format" (PNG, JPEG or EXR), "film" ({"video": "mp4", "webm" or null,
"fps", "sheet": which of the frames the contact sheet of the job shows, if any}), "resumable", "threads" and, where no shard comes
after this one, "provenance" as provenance.py has it. After each frame it tells the
newest picture as checkpoint/preview.jpg and, of a resumable job, the frame itself; both lie below out/.
"""

from __future__ import annotations

import io
import os
import re
import statistics
import sys
import tarfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import video
from PIL import Image
from provenance import write_provenance
from task import (
    CHECKPOINT,
    OUT,
    RESUME,
    Failure,
    Progress,
    adopt,
    executor_error,
    file_sha256,
    one_line,
    read_json,
    saved,
    write_bytes,
    write_json,
)

SCHEMA = "molfabric.frames/v1"
EXTENSIONS = {"PNG": ".png", "JPEG": ".jpg", "EXR": ".exr"}
# A preview is looked at while a job runs, a thumbnail is a cell of the contact sheet.
PREVIEW_EDGE_PIXELS, THUMBNAIL_EDGE_PIXELS = 640, 320
JPEG_QUALITY = 85
# The picture that stands for a frame which no browser shows (EXR), in the film too.
DISPLAY_QUALITY = 95
PREVIEW_INTERVAL_S = 1.0
# The share of the shard's work that the frames are; the rest is the segment.
FRAMES_SHARE = 0.95
# The largest picture that a frame may be, 8192 pixels each way and some more; Pillow would warn of half of it.
Image.MAX_IMAGE_PIXELS = 8200 * 8200


@dataclass(frozen=True)
class Frame:
    """What is known of a finished frame; the members are those of frames.json."""

    frame: int
    seconds: float
    cpuSeconds: float  # noqa: N815
    byteSize: int  # noqa: N815
    sha256: str
    resumed: bool
    tries: int


def frame_name(frame: int, extension: str, stem: str = "frame") -> str:
    """frame_0007.png; a negative number keeps its sign before the zeros: frame_-0005.png."""
    return f"{stem}_{'-' if frame < 0 else ''}{abs(frame):04d}{extension}"


class Film:
    """missing, then add or failed for each of them, then close. What an interrupted attempt has left is taken over at the start."""

    def __init__(self, request: dict[str, Any], progress: Progress) -> None:
        self.progress = progress
        self.frames: list[int] = request["frames"]
        self.format: str = request["picture"]["format"]
        self.extension = EXTENSIONS[self.format]
        self.video: str | None = request["film"]["video"]
        self.fps: float = request["film"]["fps"]
        self.sheet = set(request["film"].get("sheet", []))
        self.transparent: bool = request["picture"]["transparent"]
        self.resumable: bool = request["resumable"]
        self.threads: int = request["threads"]
        self.origin: dict[str, Any] | None = request.get("provenance")
        self.done: dict[int, Frame] = {}
        self.rendered: list[int] = []  # by this attempt, in its order
        self.pixels: int | None = None  # of a frame that this attempt has rendered
        self.failures: dict[int, tuple[Failure, str]] = {}
        self.thumbnails: dict[int, bytes] = {}
        self.previewed = -PREVIEW_INTERVAL_S
        self.newest = 0
        CHECKPOINT.mkdir(parents=True, exist_ok=True)
        if self.resumable:
            self._take_over()

    def missing(self) -> list[int]:
        """The frames that are still to be rendered."""
        return [frame for frame in self.frames if frame not in self.done and frame not in self.failures]

    def add(
        self, frame: int, path: Path, picture: Path | None = None, *, seconds: float, cpu_seconds: float, tries: int = 1
    ) -> None:
        """Takes a rendered frame: moves its file to its place and tells of it. picture shows the same as PNG or JPEG where path
        is EXR, and is needed then; it is moved too."""
        with Image.open(picture or path) as shown:
            self.pixels = shown.width * shown.height
        final = self._final(frame)
        digest = adopt(path, final)
        if picture is not None:
            self._keep_display(frame, picture)
        self.rendered.append(frame)
        self.done[frame] = Frame(frame, round(seconds, 3), round(cpu_seconds, 3), final.stat().st_size, digest, False, tries)
        self._look(frame)
        if self.resumable:
            self._checkpoint(frame)
        self._tell()

    def failed(
        self, frame: int, message: str, *, code: str = "FRAME_FAILED", failure_class: str = "EXECUTOR", step: str = "render"
    ) -> None:
        """Gives a frame up. When none of the shard can be rendered, its failure is that of the first."""
        self.failures[frame] = (Failure(failure_class, code, one_line(message)), step)
        self._tell()

    def close(self, load_seconds: float, load_cpu_seconds: float, programs: dict[str, str]) -> dict[str, Any]:
        """Writes what the shard leaves beside its frames, and returns result.json without the files. load_ is what it took to open
        the scene, and programs have rendered it. Raises a Failure when there is no frame at all."""
        if not self.done:
            first = next(iter(self.failures.values()))[0]
            of = f"None of the {len(self.frames)} frames could be rendered. " if len(self.frames) > 1 else ""
            raise Failure(first.failure_class, first.code, of + first.message, self._items())
        write_bytes(OUT / "preview.jpg", self._preview(self.newest))
        if self.thumbnails:
            write_bytes(
                OUT / "thumbnails.tar", packed({frame_name(f, ".jpg"): self.thumbnails[f] for f in sorted(self.thumbnails)})
            )
        load = {"loadSeconds": round(load_seconds, 3), "loadCpuSeconds": round(load_cpu_seconds, 3)}
        frames = [self.done[frame] for frame in sorted(self.done)]
        programs = {**programs, **self.programs()}
        write_json(
            OUT / "frames.json", {"schema": SCHEMA, "frames": [asdict(frame) for frame in frames], "programs": programs, **load}
        )
        self._segment()
        if self.origin:
            write_provenance(self.origin, programs)
        new = [self.done[frame] for frame in self.rendered]
        summary = {
            "frames": len(frames),
            "framesFailed": len(self.failures),
            "framesResumed": len(frames) - len(new),
            "pixels": self.pixels,
            **costs("", load_seconds, [frame.seconds for frame in new]),
            **costs("Cpu", load_cpu_seconds, [frame.cpuSeconds for frame in new]),
        }
        return {"summary": summary, "failures": self._items(), "programs": programs}

    def programs(self) -> dict[str, str]:
        """The programs that this module has used, by name."""
        return {"python": ".".join(map(str, sys.version_info[:3])), **({"ffmpeg": video.version()} if self.video else {})}

    # --- what an interrupted attempt has left ---

    def _take_over(self) -> None:
        for frame in self.frames:
            source, stated = RESUME / frame_name(frame, self.extension), RESUME / frame_name(frame, ".json")
            display = RESUME / frame_name(frame, ".jpg", "display")
            if not (source.is_file() and stated.is_file() and (self.format != "EXR" or display.is_file())):
                continue
            if found := known(stated, frame, file_sha256(source)):
                adopt(copy_of(source), self._final(frame))
                if self.format == "EXR":
                    write_bytes(CHECKPOINT / display.name, display.read_bytes())
                self.done[frame] = found
                self._look(frame)
        if self.done:
            self._tell()

    def _checkpoint(self, frame: int) -> None:
        """A link costs no space: the file lies in its place already."""
        name = frame_name(frame, self.extension)
        (CHECKPOINT / name).unlink(missing_ok=True)
        os.link(self._final(frame), CHECKPOINT / name)
        statistics = frame_name(frame, ".json")
        write_json(CHECKPOINT / statistics, asdict(self.done[frame]))
        display = [frame_name(frame, ".jpg", "display")] if self.format == "EXR" else []
        # The statistics come last: they vouch for the others.
        saved([name, *display, statistics])

    # --- pictures ---

    def _final(self, frame: int) -> Path:
        return OUT / frame_name(frame, self.extension)

    def _display(self, frame: int) -> Path:
        return CHECKPOINT / frame_name(frame, ".jpg", "display") if self.format == "EXR" else self._final(frame)

    def _keep_display(self, frame: int, picture: Path) -> None:
        with Image.open(picture) as shown:
            write_bytes(self._display(frame), jpeg(shown, video.MAX_EDGE_PIXELS, DISPLAY_QUALITY))
        picture.unlink()

    def _look(self, frame: int) -> None:
        """Makes the frame's thumbnail, and from time to time the preview."""
        self.newest = frame
        if frame in self.sheet:
            with Image.open(self._display(frame)) as shown:
                self.thumbnails[frame] = jpeg(shown, THUMBNAIL_EDGE_PIXELS)
        now = time.monotonic()
        if now - self.previewed >= PREVIEW_INTERVAL_S:
            self.previewed = now
            write_bytes(CHECKPOINT / "preview.jpg", self._preview(frame))
            saved(["preview.jpg"])

    def _preview(self, frame: int) -> bytes:
        with Image.open(self._display(frame)) as shown:
            return jpeg(shown, PREVIEW_EDGE_PIXELS)

    def _segment(self) -> None:
        """Encodes the shard's frames. With a frame missing there will be no film, and a part of it helps nobody."""
        if not self.video or len(self.done) < len(self.frames):
            return
        self.progress(FRAMES_SHARE, "encoding the film")
        path = OUT / f"segment.{self.video}"
        pictures = [self._display(frame) for frame in self.frames]
        with Image.open(pictures[0]) as first:
            size = first.size
        draft = CHECKPOINT / path.name
        video.encode(pictures, draft, video.Look(self.fps, size, self.transparent, self.threads))
        if (found := video.frames_in(draft)) != len(pictures):
            raise executor_error("FILM_INCOMPLETE", f"The film of {len(pictures)} frames was found to have {found}.")
        adopt(draft, path)

    # --- telling ---

    def _items(self) -> list[dict[str, Any]]:
        return [
            {"item": str(frame), "label": f"frame {frame}", "step": step, "message": failure.message}
            for frame, (failure, step) in sorted(self.failures.items())
        ]

    def _tell(self) -> None:
        ended, total = len(self.done) + len(self.failures), len(self.frames)
        self.progress(FRAMES_SHARE * ended / total, f"frame {ended} of {total}")


def known(path: Path, frame: int, digest: str) -> Frame | None:
    """What an earlier attempt has noted of a frame whose file has the digest; None when the two do not belong together."""
    try:
        noted = Frame(**{**read_json(path), "resumed": True})
    except (ValueError, TypeError):
        return None
    return noted if noted.frame == frame and noted.sha256 == digest else None


def copy_of(source: Path) -> Path:
    """A copy below OUT of a staged file, which is read-only and may be shared."""
    draft = CHECKPOINT / f"{source.name}.draft"
    with open(source, "rb") as read, open(draft, "wb") as write:
        while piece := read.read(1 << 20):
            write.write(piece)
    return draft


def costs(kind: str, load_seconds: float, frames_seconds: list[float]) -> dict[str, float | None]:
    """What opening the scene and a frame have taken, frames in the order of their rendering: the usual frame, and as a part of
    opening it what the first one took beyond that, because renderers put work off until then. None where nothing was rendered."""
    usual = statistics.median(frames_seconds) if frames_seconds else None
    late = max(frames_seconds[0] - usual, 0.0) if usual is not None and len(frames_seconds) > 1 else 0.0
    return {f"load{kind}Seconds": round(load_seconds + late, 3), f"frame{kind}Seconds": None if usual is None else round(usual, 3)}


def jpeg(picture: Image.Image, edge_pixels: int, quality: int = JPEG_QUALITY) -> bytes:
    """The picture as JPEG with no edge longer than edge_pixels, what is transparent of it over white."""
    picture.draft("RGB", (edge_pixels, edge_pixels))
    if picture.mode.startswith("I"):  # 16 bits of grey, which convert() would cut off
        picture = picture.point(lambda value: value / 257).convert("L")
    scale = min(1.0, edge_pixels / max(picture.size))
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    small = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    if scale < 1:
        small = small.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
    if small.mode == "RGBA":
        small = Image.alpha_composite(Image.new("RGBA", small.size, "white"), small).convert("RGB")
    content = io.BytesIO()
    small.save(content, "JPEG", quality=quality)
    return content.getvalue()


def packed(files: dict[str, bytes]) -> bytes:
    """A tar archive of the files, the same for the same content."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, file in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(file)
            archive.addfile(member, io.BytesIO(file))
    return content.getvalue()


def unpacked(path: Path, name: re.Pattern[str], most_bytes: int) -> dict[str, bytes]:
    """The plain files of an archive whose names match; larger ones than most_bytes are left out."""
    with tarfile.open(path, "r:") as archive:
        files = {}
        for member in archive:
            if member.isreg() and name.fullmatch(member.name) and member.size <= most_bytes:
                opened = archive.extractfile(member)
                files[member.name] = opened.read() if opened else b""
        return files
