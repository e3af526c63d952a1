"""Draws frames of a molecular scene as PNG pictures, each of a size of its own, and hands frames over to the ray tracer.

Reads request.json and the scene with its references below in/. "stills" of the request lists the pictures: frame, file,
widthPixels and heightPixels, all of one shape. "stage" lists the frames that out/stage.tar is to hold, as export.py writes it;
there is none of no frames. Writes the files and out/result.json below out/.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from export import STAGE_FILE, write_stage
from PIL import Image, PngImagePlugin
from task import OUT, Progress, adopt, main, user_error
from viewer import Viewer

DOTS_PER_INCH = (300, 300)
STAGE_SHARE = 0.3  # of the work, which the stage takes where there is one


def save(rgba: memoryview, size: tuple[int, int], path: Path) -> None:
    """Writes an opaque picture in sRGB. The same pixels are the same file."""
    about = PngImagePlugin.PngInfo()
    about.add(b"sRGB", b"\0")  # perceptual intent
    about.add_text("Software", "molfabric")
    Image.frombuffer("RGBA", size, rgba, "raw", "RGBA", 0, 1).convert("RGB").save(
        path, "PNG", pnginfo=about, dpi=DOTS_PER_INCH, optimize=True
    )


def draw(viewer: Viewer, still: dict[str, Any]) -> None:
    viewer.request["picture"].update({side: still[side] for side in ("widthPixels", "heightPixels")})
    content, blank = viewer.picture(still["frame"])
    if blank:
        raise user_error(
            "IMAGE_BLANK", "All pixels of the picture are alike although the scene shows something: the camera may look past it."
        )
    draft = OUT / f"{still['file']}.draft"
    save(content, (still["widthPixels"], still["heightPixels"]), draft)
    adopt(draft, OUT / still["file"])


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    stills, stage = request["stills"], request.get("stage", [])
    first = {side: stills[0][side] for side in ("widthPixels", "heightPixels")}
    request = {**request, "frames": stage, "picture": {**request["picture"], **first}}
    with Viewer(request) as viewer:
        progress(0, "opening the scene")
        viewer.load()
        if stage:
            draft = OUT / f"{STAGE_FILE}.draft"
            write_stage(request, viewer, lambda part, said: progress(STAGE_SHARE * part, said), draft)
            adopt(draft, OUT / STAGE_FILE)
        for done, still in enumerate(stills):
            progress(STAGE_SHARE + (1 - STAGE_SHARE) * done / len(stills), f"drawing picture {done + 1} of {len(stills)}")
            draw(viewer, still)
        summary = {"renderer": viewer.renderer, "cpuSeconds": round(viewer.cpu_seconds(), 3)}
        return {"summary": summary, "programs": viewer.programs()}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
