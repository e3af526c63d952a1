"""Ends a job of several frames: joins the segments of the shards to its film, and makes the contact sheet, the table of the frames
and the preview.

It reads in/frames/<shard>/frames.json, in/segments/<shard>/segment.mp4 or .webm and in/thumbnails/<shard>/thumbnails.tar of the
shards that have succeeded, and writes contact-sheet.jpg, frames.csv, preview.jpg, film.mp4 or film.webm and provenance.json.
Without every frame there is no film: "failures" of result.json says which are missing.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path
from typing import Any

import video
from film import EXTENSIONS, JPEG_QUALITY, PREVIEW_EDGE_PIXELS, SCHEMA, frame_name, jpeg, unpacked
from provenance import together, write_provenance
from sheet import contact_sheet
from task import CHECKPOINT, IN, OUT, Progress, adopt, executor_error, main, read_json, write_bytes, write_text

# A thumbnail has some 20 KB.
MAX_THUMBNAIL_BYTES = 1 << 20
THUMBNAIL_NAME = re.compile(r"frame_-?[0-9]{4,10}\.jpg")
# How many missing frames a message names.
MAX_NAMED = 20
COLUMNS = ["frame", "file", "seconds", "cpu_seconds", "byte_size", "sha256", "resumed", "tries"]
MEMBERS = ["seconds", "cpuSeconds", "byteSize", "sha256", "resumed", "tries"]


def finish(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    chunks = {shard: ascending(text) for shard, text in request["chunks"].items()}
    wanted = sorted(frame for chunk in chunks.values() for frame in chunk)
    found, told = read_frames(chunks)
    if not found:
        raise executor_error("NO_FRAME", f"None of the {len(wanted)} frames could be rendered.")
    write_text(OUT / "frames.csv", table(found, EXTENSIONS[request["format"]]))
    progress(0.1, "drawing the contact sheet")
    draw_sheet(request, [f for f in wanted if f in set(request["sheet"])], found)
    missing = [frame for frame in wanted if frame not in found]
    failures = []
    if request["video"]:
        progress(0.4, "joining the film")
        if reason := why_no_film(request, chunks, missing):
            name = f"film.{request['video']}"
            failures = [{"item": name, "label": name, "step": "film", "message": reason}]
        else:
            join_film(request, list(chunks), len(wanted))
    summary = {
        "frames": len(found),
        "framesMissing": len(missing),
        "film": film_summary(request, len(wanted)) if request["video"] and not failures else None,
    }
    programs = {"python": ".".join(map(str, sys.version_info[:3])), **({"ffmpeg": video.version()} if request["video"] else {})}
    if request.get("provenance"):
        write_provenance(request["provenance"], together([*told, programs]))
    return {"summary": summary, "failures": failures, "programs": programs}


def ascending(text: str) -> list[int]:
    """The frames of an expression such as "1-9:2,12" as Go has written it."""
    frames: list[int] = []
    for element in text.split(","):
        match = re.fullmatch(r"(-?\d+)(?:-(-?\d+)(?::(\d+))?)?", element)
        if match is None:
            raise ValueError(f"no range of frames: {element}")
        first, last, step = match.groups()
        frames.extend(range(int(first), int(last or first) + 1, int(step or 1)))
    return frames


def read_frames(chunks: dict[str, list[int]]) -> tuple[dict[int, dict[str, Any]], list[dict[str, str]]]:
    """What the shards say of their frames, by number, and of the programs that have rendered them. A shard that failed says
    nothing."""
    found: dict[int, dict[str, Any]] = {}
    told: list[dict[str, str]] = []
    for shard, chunk in chunks.items():
        path = IN / "frames" / shard / "frames.json"
        if not path.is_file():
            continue
        document = read_json(path)
        if document["schema"] != SCHEMA:
            raise executor_error(
                "FRAMES_UNREADABLE", f"The frames of {shard} are described in a way that is not known here: {document['schema']}."
            )
        found.update({frame["frame"]: frame for frame in document["frames"] if frame["frame"] in set(chunk)})
        told.append(document.get("programs", {}))
    return found, told


def table(found: dict[int, dict[str, Any]], extension: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number in sorted(found):
        values = [found[number][member] for member in MEMBERS]
        writer.writerow([number, frame_name(number, extension), *(str(v).lower() if isinstance(v, bool) else v for v in values)])
    return text.getvalue()


# --- the contact sheet ---


def draw_sheet(request: dict[str, Any], shown: list[int], found: dict[int, dict[str, Any]]) -> None:
    """The preview is the middle frame of those that there are."""
    thumbnails: dict[str, bytes] = {}
    for shard in request["chunks"]:
        path = IN / "thumbnails" / shard / "thumbnails.tar"
        if path.is_file():
            thumbnails.update(unpacked(path, THUMBNAIL_NAME, MAX_THUMBNAIL_BYTES))
    cells = [(frame, thumbnails.get(frame_name(frame, ".jpg")) if frame in found else None) for frame in shown]
    sheet = contact_sheet(request["title"], cells, len(found))
    content = io.BytesIO()
    sheet.save(content, "JPEG", quality=JPEG_QUALITY)
    write_bytes(OUT / "contact-sheet.jpg", content.getvalue())
    there = [thumbnail for _, thumbnail in cells if thumbnail]
    if there:
        write_bytes(OUT / "preview.jpg", there[len(there) // 2])
    else:
        write_bytes(OUT / "preview.jpg", jpeg(sheet, PREVIEW_EDGE_PIXELS))


# --- the film ---


def segment_of(request: dict[str, Any], shard: str) -> Path:
    return IN / "segments" / shard / f"segment.{request['video']}"


def why_no_film(request: dict[str, Any], chunks: dict[str, list[int]], missing: list[int]) -> str:
    """Why the film is left out; "" when everything for it is there."""
    if missing:
        more = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        named = ", ".join(map(str, missing[:MAX_NAMED])) + more
        return f"the film was left out, because these frames are missing: {named}; render them again (retry the job's failed tasks)"
    without = [shard for shard in chunks if not segment_of(request, shard).is_file()]
    return f"the film was left out, because the part of {without[0]} is missing; retry the job's failed tasks" if without else ""


def join_film(request: dict[str, Any], shards: list[str], wanted: int) -> None:
    draft = CHECKPOINT / f"film.{request['video']}"
    draft.parent.mkdir(exist_ok=True)
    video.join([segment_of(request, shard) for shard in shards], draft, request["fps"])
    found = video.frames_in(draft, decoded=wanted <= video.MAX_DECODED_FRAMES)
    if found != wanted:
        raise executor_error("FILM_INCOMPLETE", f"The film was found to have {found} of its {wanted} frames.")
    adopt(draft, OUT / f"film.{request['video']}")


def film_summary(request: dict[str, Any], frames: int) -> dict[str, Any]:
    name = f"film.{request['video']}"
    return {
        "file": name,
        "frames": frames,
        "fps": request["fps"],
        "seconds": round(frames / request["fps"], 3),
        "byteSize": (OUT / name).stat().st_size,
    }


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", finish))
