"""Films by ffmpeg: segments of frames that fit together without being encoded again, their concatenation, and what is in a film."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Iterable, NamedTuple

from task import executor_error, one_line

# A film's longest edge. Players decode no larger H.264 by hardware, and an encoder of 8K takes gigabytes; frames keep their size.
MAX_EDGE_PIXELS = 3840
# Two seconds or so between pictures that a player can jump to.
KEY_INTERVAL_FRAMES = 48
# How many frames an encoder holds to choose well: each costs memory, and segments are short.
LOOK_AHEAD_FRAMES = "8"
MAX_LOG_CHARS = 300
# Beyond this many frames a film's packets are counted; up to it all of them are decoded.
MAX_DECODED_FRAMES = 2000


class Look(NamedTuple):
    fps: float
    size: tuple[int, int]  # of the frames, in pixels
    transparent: bool
    threads: int


def film_size(width: int, height: int) -> tuple[int, int, int, int]:
    """Width and height of the frames in their film, then with the row and column that make them even."""
    scale = min(1.0, MAX_EDGE_PIXELS / max(width, height))
    width, height = max(1, round(width * scale)), max(1, round(height * scale))
    return width, height, width + width % 2, height + height % 2


def encode(pictures: list[Path], path: Path, look: Look) -> None:
    """Encodes PNG or JPEG files of one kind, in their order, as one closed group of pictures after the other: segments of the same
    look can be joined as they are. The file's name says how: .mp4 is H.264, .webm VP9."""
    source = "png" if pictures[0].suffix == ".png" else "mjpeg"
    arguments = [
        "-f",
        "image2pipe",
        "-c:v",
        source,
        "-framerate",
        rate(look.fps),
        "-i",
        "-",
        "-vf",
        filters(look),
        *codec(path, look),
        "-threads",
        str(look.threads),
        "-an",
        "-map_metadata",
        "-1",
        "-fflags",
        "+bitexact",
        str(path),
    ]
    run(arguments, pictures)


def filters(look: Look) -> str:
    """To an even size, with the last row or column repeated where one is missing, and to the colours of HDTV."""
    width, height, even_width, even_height = film_size(*look.size)
    steps = [f"format={'gbrap' if look.transparent else 'gbrp'}"]
    if (width, height) != look.size:
        steps.insert(0, f"scale={width}:{height}:flags=lanczos")
    if (width, height) != (even_width, even_height):
        steps.append(f"pad={even_width}:{even_height}")
        steps.append(f"fillborders=right={even_width - width}:bottom={even_height - height}:mode=smear")
    steps.append(f"scale=out_color_matrix=bt709:out_range=tv,format={'yuva420p' if look.transparent else 'yuv420p'}")
    return ",".join(steps)


def codec(path: Path, look: Look) -> list[str]:
    """No frame refers to a later one: then every packet is one frame, and time stamps are plain counts."""
    colours = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"]
    keys = ["-g", str(KEY_INTERVAL_FRAMES)]
    if path.suffix == ".webm":
        # -auto-alt-ref 0: the encoder has none with alpha.
        return [
            "-c:v",
            "libvpx-vp9",
            "-crf",
            "24",
            "-b:v",
            "0",
            "-deadline",
            "good",
            "-cpu-used",
            "4",
            "-row-mt",
            "1",
            "-auto-alt-ref",
            "0",
            "-lag-in-frames",
            LOOK_AHEAD_FRAMES,
            *keys,
            *colours,
        ]
    return [
        "-c:v",
        "libx264",
        "-crf",
        "18",
        "-preset",
        "medium",
        "-bf",
        "0",
        "-flags",
        "+cgop",
        "-rc-lookahead",
        LOOK_AHEAD_FRAMES,
        *keys,
        *colours,
        "-movflags",
        "+faststart",
    ]


def join(segments: list[Path], path: Path, fps: float) -> None:
    """Joins segments of the same look without encoding them again. Time stamps are counted anew: WebM's are whole milliseconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.writelines(f"file '{segment.resolve()}'\n" for segment in segments)
        names.flush()
        stamps = f"setts=ts=round(N/({rate(fps)})/TB):duration=round((N+1)/({rate(fps)})/TB)-round(N/({rate(fps)})/TB)"
        arguments = ["-f", "concat", "-safe", "0", "-i", names.name, "-c", "copy", "-bsf:v", stamps, "-fflags", "+bitexact"]
        if path.suffix == ".mp4":
            arguments += ["-movflags", "+faststart"]
        run([*arguments, str(path)], [])


def rate(fps: float) -> str:
    return f"{fps:.10g}"


def run(arguments: list[str], piped: Iterable[Path]) -> None:
    """Runs ffmpeg with the files on its standard input."""
    with tempfile.TemporaryFile() as log:
        command = [program("ffmpeg"), "-hide_banner", "-loglevel", "error", "-nostdin", "-y", *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log)
        assert process.stdin is not None
        try:
            for path in piped:
                with open(path, "rb") as picture:
                    shutil.copyfileobj(picture, process.stdin, 1 << 20)
            process.stdin.close()
        except BrokenPipeError:  # its exit status and its log say why
            pass
        if process.wait() != 0:
            log.seek(0)
            said = one_line(log.read().decode(errors="replace")[-2 * MAX_LOG_CHARS :], MAX_LOG_CHARS)
            raise executor_error("FILM_FAILED", f"ffmpeg could not make the film: {said}")


def frames_in(path: Path, decoded: bool = False) -> int:
    """How many frames a film has: by its packets, or as many as can be decoded of it."""
    counted = "nb_read_frames" if decoded else "nb_read_packets"
    asked = ["-count_frames" if decoded else "-count_packets", "-show_entries", f"stream={counted}"]
    command = [program("ffprobe"), "-v", "error", "-select_streams", "v:0", *asked, "-of", "json", str(path)]
    found = subprocess.run(command, capture_output=True, check=False)
    try:
        return int(json.loads(found.stdout)["streams"][0][counted])
    except (ValueError, KeyError, IndexError):
        return 0


def version() -> str:
    """Of ffmpeg, as its first line says: "5.1.9-0+deb12u1"."""
    said = subprocess.run([program("ffmpeg"), "-version"], capture_output=True, text=True, check=False).stdout.split()
    return said[2] if len(said) > 2 else "unknown"


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise executor_error("PROGRAM_MISSING", f"The program {name} is missing on the worker; install ffmpeg.")
    return found
