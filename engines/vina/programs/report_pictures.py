"""The pictures of the docking report: the best pose in its site, the box, and the native ligand docked again, with their
captions."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from task import one_line, read_json

MAX_TOLD = 8  # contacts in the words that stand for a picture
MAX_IMAGE_BYTES = 1 << 20  # of a picture in the page; 1600x1000 take 0.15 MB
TIERS = {"molstar": ("Mol*", "molstar"), "cycles": ("Blender Cycles", "blender")}
WITHOUT_LENGTH = "hydrophobic contact"
BOX = "The box of the search (blue) in the whole receptor, with the best pose in it (green)"
NATIVE = "The native ligand docked again (green) over its crystal pose (pink)"


class Pictures:
    """What the picture task has left in a folder; nothing where there was no such task, or where it failed."""

    def __init__(self, folder: Path) -> None:
        path = folder / "picture.json"
        self.folder, self.told = folder, read_json(path) if path.exists() else None

    def of(self, index: int) -> bool:
        """Whether the pictures show the ligand of this place in the request."""
        return bool(self.told and self.told["tier"] and self.told["seen"]["index"] == index)

    @property
    def programs(self) -> dict[str, str]:
        return self.told["programs"] if self.told else {}

    def section(self, best: dict[str, Any], asked: str, text: Callable[..., str]) -> str:
        """The section with the pictures; where there are none, why. asked is "none" where nobody wants them. text writes a user's
        text as HTML."""
        if asked == "none":
            return ""
        notes = self.told["notes"] if self.told else ["No picture was drawn: its task did not finish; see the job's tasks."]
        parts = "".join(f'<p class="note">{text(note, 500)}</p>' for note in notes)
        if self.of(best["index"]):
            small = self.figure("box", BOX, f"{BOX}.") + self.figure("redock", NATIVE, f"{NATIVE}.")
            site = self.figure("best", self.alt(), self.caption(text))
            parts = site + (f'<div class="figures">{small}</div>' if small else "") + parts
        return f'<section aria-labelledby="pose"><h2 id="pose">The best pose</h2>{parts}</section>'

    def figure(self, name: str, alt: str, caption: str) -> str:
        """A picture within the page; "" where there is none of this name."""
        image = self.told["images"].get(name)
        path = self.folder / f"{name}.webp"
        if not image or not path.exists() or path.stat().st_size > MAX_IMAGE_BYTES:
            return ""
        content = base64.b64encode(path.read_bytes()).decode()
        size = f'width="{int(image["widthPixels"])}" height="{int(image["heightPixels"])}"'  # so that the page does not move
        image = f'<img src="data:image/webp;base64,{content}" {size} alt="{escape(alt, quote=True)}">'
        return f'<figure class="picture">{image}<figcaption class="note">{caption}</figcaption></figure>'

    def alt(self) -> str:
        """The best pose's picture in words."""
        seen = self.told["seen"]
        contacts = [
            f"{c['name']} with {c['residue']}" + (f", {c['distanceAngstrom']:.1f} Å" if c["name"] != WITHOUT_LENGTH else "")
            for c in seen["contacts"]
        ]
        more = f"; and {len(contacts) - MAX_TOLD} more" if len(contacts) > MAX_TOLD else ""
        told = "; ".join(contacts[:MAX_TOLD]) + more or "no contacts"
        return f"The best pose of {one_line(seen['label'], 80)} in its site: {told}."

    def caption(self, text: Callable[..., str]) -> str:
        seen = self.told["seen"]
        kinds = {contact["name"]: contact["color"] for contact in seen["contacts"]}
        legend = ", ".join(
            f'<span class="key" style="background:{escape(color, quote=True)}"></span>{text(kind)}' for kind, color in kinds.items()
        )
        sentences = [
            f"The best pose of <strong>{text(seen['label'], 120)}</strong> (carbon green) with the residues that it touches "
            "(carbon grey).",
            f"Dashed lines are contacts, with distances in Å: {legend}." if legend else "",
            f"Kept beside it: {text(', '.join(seen['cofactors']))}." if seen["cofactors"] else "",
            "The crystal pose of the same molecule is pink." if seen["crystal"] else "",
            "Parts of chains that would cover the pose are left out.",
            f"Drawn with {text(self.drawn_with())}; <code>molfabric image best.mvsx -o pose.png</code> draws it again, larger or "
            "ray-traced.",
        ]
        return " ".join(filter(None, sentences))

    def drawn_with(self) -> str:
        name, program = TIERS[self.told["tier"]]
        return f"{name} {self.programs.get(program, '')}".strip()
