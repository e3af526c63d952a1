"""Draws molecular scenes with one headless Chromium, which is told what to do over a loopback connection and nothing else.

    with Viewer(request) as viewer:
        viewer.load()
        rgba, blank = viewer.picture(7)

The page and the scene's own files are served on 127.0.0.1 below a random path; the page asks for its next command and posts the
answer. Its content policy lets it fetch from this server alone. The browser's profile, home and fonts are below a private
folder that goes with the viewer, and the browser ends with this process.
"""

from __future__ import annotations

import json
import secrets
import shutil
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from atoms import require_atoms
from browser import Browser
from serving import Desk, Server
from task import Failure, executor_error, one_line, user_error

MOLSTAR_VERSION = "5.11.0"
# Where set-up puts the page: below the Python that runs this.
PAGE = Path(sys.prefix) / "share" / "molfabric" / "viewer"
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' blob: data:; style-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

# Commands are ended after these: many times what they take on a slow and busy machine, so that only a hang reaches them.
LOAD_DEADLINE_S = 1200.0
PICTURE_DEADLINE_S, PICTURE_DEADLINE_S_PER_MEGAPIXEL = 300.0, 60.0
EXPORT_DEADLINE_S = 1200.0
CLEAR_DEADLINE_S = 60.0

SCENE_ROUTE = "scene"


class Viewer:
    """One browser with one scene at a time. After any Failure of code VIEWER_… it is of no more use and is to be closed."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.folder = Path(tempfile.mkdtemp(prefix="viewer-"))
        self.desk = Desk()
        self.token = secrets.token_urlsafe(24)
        self.references: dict[str, str] = {}
        self.server: Server | None = None
        self.browser: Browser | None = None
        self.renderer = ""

    def __enter__(self) -> Viewer:
        try:
            self.server = Server(self.token, self._files(), self.desk, CONTENT_POLICY)
            address, threads = f"{self.server.address}/index.html", self.request["threads"]
            self.browser = Browser(address, self.folder, self.desk, threads)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the browser and the server. May be called twice."""
        if self.browser:
            self.browser.close()
        if self.server:
            self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _files(self) -> dict[str, Path]:
        """What the server offers, by route. A reference's route is its number, never a part of its name."""
        if not (PAGE / "viewer.js").is_file():
            raise executor_error("PROGRAM_MISSING", "The viewer's page is missing on the worker; run the worker's set-up again.")
        files = {
            "index.html": PAGE / "index.html",
            "viewer.js": PAGE / "viewer.js",
            SCENE_ROUTE: Path(self.request["scene"]["file"]),
        }
        for number, (reference, path) in enumerate(sorted(self.request["scene"].get("references", {}).items())):
            route = f"asset/{number:05d}"
            self.references[reference] = route
            files[route] = Path(path)
        missing = [str(path) for path in files.values() if not path.is_file()]
        if missing:
            raise executor_error("INPUT_MISSING", f"{missing[0]} is missing in the task's folder.")
        return files

    def load(self) -> None:
        """Opens the scene. Raises a Failure that names what could not be loaded; a scene that does not open in time is its
        author's."""
        assert self.browser, "the viewer has been entered"
        require_atoms(self.request["scene"])
        picture = self.request["picture"]
        try:
            document, _ = self._ask(
                "load",
                LOAD_DEADLINE_S,
                file=SCENE_ROUTE,
                format=self.request["scene"]["format"],
                references=self.references,
                animation=self.request["animation"],
                widthPixels=picture["widthPixels"],
                heightPixels=picture["heightPixels"],
            )
        except Failure as failure:
            if failure.code != "VIEWER_HUNG":
                raise
            raise user_error(
                failure.code, f"The scene did not open within {LOAD_DEADLINE_S:.0f} seconds; make it smaller."
            ) from None
        self.browser.forget_address()
        self.renderer = document["renderer"]

    def picture(self, frame: int) -> tuple[memoryview, bool]:
        """A frame as RGBA (height × width × 4 bytes, alpha not multiplied in), and whether all its pixels are alike although the
        scene shows something."""
        asked = self.request["picture"]
        megapixels = asked["widthPixels"] * asked["heightPixels"] / 1e6
        document, content = self._ask(
            "picture", PICTURE_DEADLINE_S + PICTURE_DEADLINE_S_PER_MEGAPIXEL * megapixels, frame=frame, picture=asked
        )
        if len(content) != 4 * asked["widthPixels"] * asked["heightPixels"]:
            raise executor_error("VIEWER_ERROR", "The viewer gave a picture of another size than was asked for.")
        return content, document["blank"]

    def export(self, frame: int, model: bool) -> tuple[dict[str, Any], memoryview, memoryview]:
        """Camera and look of a frame with its geometry as glTF (empty unless model) and its labels as RGBA (empty without any)."""
        document, content = self._ask("export", EXPORT_DEADLINE_S, frame=frame, model=model, picture=self.request["picture"])
        sizes = document.pop("modelBytes"), document.pop("labelBytes")
        return document, content[: sizes[0]], content[sizes[0] : sum(sizes)]

    def clear(self) -> None:
        """Takes the scene off the page, with its files: another one may be loaded then. Raises a Failure when something is left."""
        self._ask("clear", CLEAR_DEADLINE_S)

    def cpu_seconds(self) -> float:
        """Processor time that the browser and this process have used so far."""
        return time.process_time() + (self.browser.cpu_seconds() if self.browser else 0.0)

    def programs(self) -> dict[str, str]:
        return {"molstar": MOLSTAR_VERSION, "chromium": self.browser.version() if self.browser else ""}

    def _ask(self, name: str, deadline_s: float, **members: Any) -> tuple[dict[str, Any], memoryview]:
        assert self.browser, "the viewer has been entered"
        answer = self.desk.ask({"name": name, **members}, deadline_s)
        (length,) = struct.unpack_from("<I", answer)
        document, content = json.loads(bytes(answer[4 : 4 + length])), answer[4 + length :]
        if failure := document.get("failure"):
            raise failed(failure)
        return document, content


def failed(told: dict[str, Any]) -> Failure:
    """The page's failure as the task's."""
    make = user_error if told["userInput"] else executor_error
    return make(told["code"], one_line(told["message"], 1000))
