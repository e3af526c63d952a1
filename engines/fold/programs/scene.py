"""A MolViewSpec scene of a predicted protein, coloured by its confidence: an archive (.mvsx) with the structure inside."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from figures import color_of
from task import OUT, adopt

METADATA = {"version": "1", "timestamp": "1970-01-01T00:00:00Z"}


def colors(scores: dict[str, Any]) -> list[dict[str, Any]]:
    """Colour nodes, one for each run of residues of one band."""
    nodes, place = [], 0
    for chain in scores["chains"]:
        bands = [color_of(value) for value in scores["plddt"][place : place + len(chain["sequence"])]]
        place += len(bands)
        begin = 0
        for end in range(1, len(bands) + 1):
            if end == len(bands) or bands[end] != bands[begin]:
                selector = {"label_asym_id": chain["id"], "beg_label_seq_id": begin + 1, "end_label_seq_id": end}
                nodes.append({"kind": "color", "params": {"color": bands[begin], "selector": selector}})
                begin = end
    return nodes


def document(scores: dict[str, Any], title: str, description: str) -> dict[str, Any]:
    cartoon = {"kind": "representation", "params": {"type": "cartoon"}, "children": colors(scores)}
    component = {"kind": "component", "params": {"selector": "polymer"}, "children": [cartoon]}
    structure = {"kind": "structure", "params": {"type": "model"}, "children": [component]}
    parsed = {"kind": "parse", "params": {"format": "mmcif"}, "children": [structure]}
    root = {"kind": "root", "children": [{"kind": "download", "params": {"url": "model.cif"}, "children": [parsed]}]}
    return {"root": root, "metadata": {**METADATA, "title": title, "description": description}}


def write_scene(name: str, scores: dict[str, Any], cif: Path, title: str, description: str) -> None:
    """Writes out/<name>. Members have no time, so that one scene is one file."""
    index = json.dumps(document(scores, title, description), indent=1, ensure_ascii=False)
    draft = OUT / f"{name}.draft"
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in (("index.mvsj", index), ("model.cif", cif.read_text(encoding="utf-8"))):
            archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
    adopt(draft, OUT / name)
