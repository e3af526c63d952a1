"""The contact sheet: small pictures of a job's frames with their numbers, on one page."""

from __future__ import annotations

import io
import math

from PIL import Image, ImageDraw, ImageFont
from task import one_line

CELL_EDGE_PIXELS = 320  # of thumbnails, as film.py makes them
MARGIN_PIXELS, GAP_PIXELS = 40, 16
LABEL_PIXELS, HEADER_PIXELS = 30, 72
TITLE_SIZE, NOTE_SIZE, LABEL_SIZE = 30, 20, 18
# How much wider than high the page shall be, as near as whole cells allow.
PAGE_ASPECT = 1.4
MAX_TITLE_CHARS = 60
PAPER, INK, GREY, EMPTY, EDGE = "#ffffff", "#1a1a1a", "#6b6b6b", "#f0f0f0", "#d8d8d8"

Cell = tuple[int, bytes | None]


def contact_sheet(title: str, cells: list[Cell], frames: int) -> Image.Image:
    """Draws cells, each a frame's number and its thumbnail as JPEG, or None where it failed. frames is how many the job has, of
    which the cells may be a choice."""
    thumbnails = [opened(content) for _, content in cells]
    width, height = cell_size(thumbnails)
    columns = columns_for(len(cells), width, height)
    rows = math.ceil(len(cells) / columns)
    page = Image.new(
        "RGB",
        (
            max(2 * MARGIN_PIXELS + columns * width + (columns - 1) * GAP_PIXELS, 3 * CELL_EDGE_PIXELS),
            2 * MARGIN_PIXELS + HEADER_PIXELS + rows * (height + LABEL_PIXELS) + (rows - 1) * GAP_PIXELS,
        ),
        PAPER,
    )
    draw = ImageDraw.Draw(page)
    header(draw, title, len(cells), frames)
    for place, ((frame, _), thumbnail) in enumerate(zip(cells, thumbnails, strict=True)):
        left = MARGIN_PIXELS + place % columns * (width + GAP_PIXELS)
        top = MARGIN_PIXELS + HEADER_PIXELS + place // columns * (height + LABEL_PIXELS + GAP_PIXELS)
        draw_cell(page, draw, (left, top, width, height), frame, thumbnail)
    return page


def header(draw: ImageDraw.ImageDraw, title: str, shown: int, frames: int) -> None:
    count = f"{frames:,} frame" + ("s" if frames != 1 else "")
    note = count if shown >= frames else f"{shown} of {count}"
    draw.text(
        (MARGIN_PIXELS, MARGIN_PIXELS - 8), one_line(title, MAX_TITLE_CHARS) or "Frames", INK, ImageFont.load_default(TITLE_SIZE)
    )
    draw.text((MARGIN_PIXELS, MARGIN_PIXELS + TITLE_SIZE), note, GREY, ImageFont.load_default(NOTE_SIZE))


def draw_cell(
    page: Image.Image, draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], frame: int, thumbnail: Image.Image | None
) -> None:
    left, top, width, height = box
    font = ImageFont.load_default(LABEL_SIZE)
    draw.rectangle((left, top, left + width - 1, top + height - 1), fill=EMPTY)
    if thumbnail is None:
        draw.text((left + width / 2, top + height / 2), "not rendered", GREY, font, anchor="mm")
    else:
        page.paste(thumbnail, (left + (width - thumbnail.width) // 2, top + (height - thumbnail.height) // 2))
    draw.rectangle((left, top, left + width - 1, top + height - 1), outline=EDGE)
    draw.text((left + width / 2, top + height + LABEL_PIXELS / 2), str(frame), GREY, font, anchor="mm")


def opened(content: bytes | None) -> Image.Image | None:
    """A thumbnail, no larger than a cell; None when it is none."""
    if content is None:
        return None
    try:
        with Image.open(io.BytesIO(content), formats=["JPEG"]) as picture:
            shown = picture.convert("RGB")
    except OSError:
        return None
    shown.thumbnail((CELL_EDGE_PIXELS, CELL_EDGE_PIXELS))
    return shown


def cell_size(thumbnails: list[Image.Image | None]) -> tuple[int, int]:
    there = [thumbnail.size for thumbnail in thumbnails if thumbnail]
    if not there:
        return CELL_EDGE_PIXELS, CELL_EDGE_PIXELS * 9 // 16
    return max(width for width, _ in there), max(height for _, height in there)


def columns_for(cells: int, width: int, height: int) -> int:
    """So many that the page comes near to its aspect and its last row is not lonely."""
    ideal = max(1, round(math.sqrt(cells * PAGE_ASPECT * (height + LABEL_PIXELS + GAP_PIXELS) / (width + GAP_PIXELS))))
    around = [n for n in range(max(1, ideal - 1), ideal + 2) if n <= max(cells, 1)] or [1]
    return min(around, key=lambda n: (-cells % n, abs(n - ideal)))
