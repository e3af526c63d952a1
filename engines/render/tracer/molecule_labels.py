"""Puts labels, which no glTF carries, over a finished picture: the viewer's overlay is a transparent PNG of the picture's size."""

from __future__ import annotations

import io
import os
from pathlib import Path

from PIL import Image

from molecule_stage import MAX_SIDE_PIXELS, StageError

Image.MAX_IMAGE_PIXELS = MAX_SIDE_PIXELS * MAX_SIDE_PIXELS
# Enough that a JPEG which is packed a second time does not show it.
JPEG_QUALITY = 97


def put_labels(overlay: bytes, picture: Path) -> None:
    """Lays the overlay over the picture and replaces the file as a whole. The picture keeps its format, size and channels.

    Both hold straight (not premultiplied) colours, blended as the screen does, in sRGB; the opacity of a transparent picture
    grows to that of the letters over it. Raises StageError when the overlay is no picture.
    """
    try:
        with Image.open(io.BytesIO(overlay), formats=("PNG",)) as opened:
            if max(opened.size) > MAX_SIDE_PIXELS:
                raise ValueError(f"they are {opened.size[0]:,} by {opened.size[1]:,} pixels")
            labels = opened.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise StageError(f"The labels are no PNG that can be used: {error}.") from None
    with Image.open(picture) as opened:
        kind, mode, base = opened.format, opened.mode, opened.convert("RGBA")
        resolution = {"dpi": opened.info["dpi"]} if "dpi" in opened.info else {}
    if labels.size != base.size:
        labels = labels.resize(base.size, Image.Resampling.LANCZOS)
    result = Image.alpha_composite(base, labels).convert("RGBA" if mode == "RGBA" else "RGB")
    part = picture.with_name(picture.name + ".part")
    result.save(
        part,
        format=kind,
        **resolution,
        **({"quality": JPEG_QUALITY, "subsampling": 0} if kind == "JPEG" else {"compress_level": 4}),
    )
    os.replace(part, picture)
