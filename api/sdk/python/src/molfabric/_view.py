"""Mol* in a notebook: a page of its own in a frame, with the structures in it."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path

# Where the browser finds Mol*: its own site, or a copy that MOLFABRIC_MOLSTAR names.
MOLSTAR = "https://molstar.org/viewer"

PAGE = """<!doctype html><meta charset="utf-8"><title>molfabric</title>
<link rel="stylesheet" href="%(molstar)s/molstar.css"><script src="%(molstar)s/molstar.js"></script>
<style>html, body, #app { margin: 0; width: 100%%; height: 100%%; position: absolute }</style><div id="app"></div>
<script type="application/json" id="structures">%(structures)s</script>
<script>
  (async () => {
    const [receptor, pose] = JSON.parse(document.getElementById('structures').textContent)
    const viewer = await molstar.Viewer.create('app', { layoutIsExpanded: false, layoutShowControls: false })
    await viewer.loadStructureFromData(receptor, 'pdb', { dataLabel: 'receptor' })
    await viewer.loadStructureFromData(pose, 'sdf', { dataLabel: 'pose' })
    const shown = viewer.plugin.managers.structure.hierarchy.current.structures.at(-1)
    viewer.plugin.managers.camera.focusSphere(shown.cell.obj.data.boundary.sphere, { extraRadius: 6 })
    document.title = 'shown'
  })()
</script>
"""


class View:
    """What a notebook shows when it is the last line of a cell. Scripts that a name or a file holds do not run."""

    def __init__(self, receptor_pdb: str, pose_sdf: str, height_px: int) -> None:
        self.height_px = height_px
        molstar = os.environ.get("MOLFABRIC_MOLSTAR", MOLSTAR).rstrip("/")
        structures = json.dumps([receptor_pdb, pose_sdf]).replace("<", "\\u003c")
        self.page = PAGE % {"molstar": html.escape(molstar), "structures": structures}

    def _repr_html_(self) -> str:
        return (f'<iframe sandbox="allow-scripts" style="width: 100%; height: {self.height_px}px; border: 0" '
                f'srcdoc="{html.escape(self.page)}"></iframe>')

    def save(self, path: str | Path) -> Path:
        """Writes the page, for a browser."""
        Path(path).write_text(self.page)
        return Path(path)
