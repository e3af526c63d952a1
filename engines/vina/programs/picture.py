"""Draws the best pose of a job in its site, the box in the whole receptor and, where the native ligand was docked again, its pose
over the crystal's.

Reads request.json, in/receptor.pdb, in/serials.json, in/box.json, in/ligands/*/ligands.json, in/analysed/*/analysis.json and,
where there is one, in/native.json and in/redocked.sdf. Writes out/picture.json, which tells what was drawn and what was not and
why, out/best.mvsx, the scene of the best pose with its files, out/best.png and out/box.png, and small copies for the report:
out/best.webp, out/box.webp and out/redock.webp. The drawing is done by the programs of rendering in the folder beside this one;
a worker without them, and a scene that they cannot draw, cost the pictures and nothing else. For one set of inputs and one
renderer every file is the same to the byte.
"""

from __future__ import annotations

import json
import sys
import traceback
import zipfile
from typing import Any

from rdkit import Chem, RDLogger

from picture_drawing import Drawn, Still, adopt, draw
from picture_scene import Node, box_scene, document, kind_of, name_of, native_scene, site_scene, states
from picture_site import Site, read_residues, site_of
from picture_view import site_view, view_of_box
from plans import main
from rank import Spill, rank, read_analysed, read_prepared, result_of
from task import CHECKPOINT, IN, OUT, RESUME, Progress, one_line, read_json, saved, write_json, write_text

SCHEMA = "molfabric.docking.picture/v1"
SIDES = ("widthPixels", "heightPixels")
MAX_NAMED = 12  # cofactors that a caption names
# How often a task may have died while it drew before its next attempt does without the pictures: a renderer that takes the task
# with it, for want of memory, must not take the job's results.
MAX_BEGUN = 2


class Undrawn(Exception):
    """There is nothing to draw. The message says why, as a clause."""


def best_entry(rank_by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ranked result of the best ligand, and its entry in the analysis. The order is the ranking's own."""
    prepared, _ = read_prepared()
    outcomes, _, _ = read_analysed(Spill())
    results = rank([result_of(record, outcomes.get(index)) for index, record in prepared.items()], rank_by)
    if not results or results[0]["status"] != "COMPLETED":
        raise Undrawn("no ligand was docked")
    best = results[0]
    for path in sorted(IN.glob("analysed/*/analysis.json")):
        for entry in read_json(path)["ligands"]:
            if entry["index"] == best["index"]:
                return best, entry
    raise Undrawn("the best ligand has no analysis")


def best_pose(entry: dict[str, Any]) -> Chem.Mol:
    pose = Chem.MolFromMolBlock(entry.get("bestSdf") or "", removeHs=False)
    if pose is None or not pose.GetNumHeavyAtoms():
        raise Undrawn("the file of the best ligand does not say its bonds")
    return pose


def native_file() -> str | None:
    """The native ligand in its crystal pose as SDF; None where there is none that can be read."""
    path = IN / "native.json"
    block = read_json(path).get("molblock") if path.exists() else None
    return f"{block.rstrip()}\n$$$$\n" if block and Chem.MolFromMolBlock(block, sanitize=False) else None


def files_of(entry: dict[str, Any], crystal: str | None, redocked: bool) -> dict[str, str]:
    """The files of the scenes by the names that these refer to them by."""
    files = {"receptor.pdb": (IN / "receptor.pdb").read_text(encoding="utf-8", errors="replace"), "pose.sdf": entry["bestSdf"]}
    if crystal:
        files["crystal.sdf"] = crystal
    if redocked:
        files["redocked.sdf"] = (IN / "redocked.sdf").read_text(encoding="utf-8")
    return files


def write_scene(children: list[Node], title: str, files: dict[str, str]) -> None:
    """out/best.mvsx: the scene with the files that it refers to. Members have no time, so that one scene is one file."""
    used = {name: content for name, content in files.items() if name in json.dumps(children)}
    members = {"index.mvsj": json.dumps(document(children, title), indent=1, ensure_ascii=False), **used}
    draft = OUT / "best.mvsx.part"
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    adopt(draft, OUT / "best.mvsx")


def seen(site: Site, best: dict[str, Any], overlaid: bool) -> dict[str, Any]:
    """What the best pose's picture shows, for its caption and for those who do not see it."""
    several = len({c.residue.author[0] for c in site.contacts}) > 1
    contacts = [
        {**kind_of(c)._asdict(), "residue": name_of(c.residue, several), "distanceAngstrom": c.distance}
        for c in sorted(site.contacts, key=lambda c: (c.kind == "hydrophobic", c.distance))
    ]
    return {
        "ligandId": best["ligandId"],
        "label": best["label"],
        "index": best["index"],
        "contacts": contacts,
        "cofactors": [name_of(r, several) for r in (*site.cofactors, *site.metals)][:MAX_NAMED],
        "crystal": overlaid,
    }


def begun() -> int:
    """How many attempts at this task have begun to draw before this one; notes that this one does."""
    count = len(list(RESUME.glob("begun-*")))
    name = f"begun-{count + 1}"
    write_text(CHECKPOINT / name, "")
    saved([name])
    return count


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    RDLogger.DisableLog("rdApp.*")
    progress(0.0, "looking for the best pose")
    told: dict[str, Any] = {"schema": SCHEMA, "asked": request["picture"], "tier": None, "notes": [], "images": {}, "seen": None}
    told["programs"] = {}
    try:
        drawn = make(request, told, progress)
    except Undrawn as reason:
        drawn = None
        told["notes"].append(f"No picture was drawn: {reason}.")
    except Exception as error:  # a picture is worth no docking: whatever it stumbles over is told, and the ranking goes on
        traceback.print_exc()
        drawn = None
        told["notes"].append(f"No picture was drawn: the scene could not be made ({type(error).__name__}); see the task's log.")
    if drawn:
        told.update(tier=drawn.tier, images=drawn.images, programs=drawn.programs)
        told["notes"] += drawn.notes
    write_json(OUT / "picture.json", told)
    return {"summary": {key: told[key] for key in ("tier", "notes")}, "failures": [], "programs": told["programs"]}


def make(request: dict[str, Any], told: dict[str, Any], progress: Progress) -> Drawn:
    """Makes the scenes and draws them; tells in told what the best pose's shows."""
    best, entry = best_entry(request["rankBy"])
    pose, crystal, redocked = best_pose(entry), native_file(), (IN / "redocked.sdf").exists()
    overlaid = crystal is not None and best["referenceRmsdAngstrom"] is not None
    files = files_of(entry, crystal, redocked)
    residues = read_residues(files["receptor.pdb"], read_json(IN / "serials.json"))
    site, box = site_of(residues, pose, entry["poses"][0].get("interactions") or []), read_json(IN / "box.json")
    view = site_view(site, request["widthPixels"] / request["heightPixels"])
    told["seen"] = seen(site, best, overlaid)
    scenes = {"best": site_scene(site, view, overlaid), "box": box_scene(box, view_of_box(residues, box, view))}
    if crystal and redocked and not overlaid:
        scenes["redock"] = native_scene(site, view)
    write_scene(scenes["best"], f"Best pose of {one_line(best['label'], 80)}", files)
    if begun() >= MAX_BEGUN:
        raise Undrawn("earlier attempts at it ended with their task, perhaps for want of memory")
    stills = [
        Still(name, *(round(request[side] * (1 if name == "best" else request["smaller"])) for side in SIDES)) for name in scenes
    ]
    return draw(states(scenes), stills, files, request, lambda part, said: progress(0.1 + 0.85 * part, said))


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
