"""Draws and lists what a job has folded.

Reads request.json, in/rows/<shard>/rows.json, and in/scores/<file>.scores.json and <file>.cif of every protein that was folded.
Writes, for each, out/<file>.plddt.svg/.png, out/<file>.pae.svg/.png and the scene out/<file>.mvsx; and for all of them
out/structures.csv, out/results.json, out/report.html and out/provenance.json.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

import figures
from page import MOST_SHOWN, Shown, page
from results import UNTRAINED
from scene import write_scene
from task import IN, OUT, Progress, main, program_versions, read_json, write_bytes, write_json, write_text, written

PACKAGES = ("matplotlib", "numpy")
SCORES = IN / "scores"
MOST_ROWS = 10_000  # of an alignment, drawn
RESULTS_SCHEMA, PROVENANCE_SCHEMA = "molfabric.fold.results/v1", "molfabric.fold.provenance/v1"
TABLE = ("file", "name", "status", "chains", "residues", "tokens", "meanPlddt", "confidentFraction", "veryConfidentFraction",
         "ptm", "iptm", "meanPaeAngstrom", "alignedSequences", "templates", "relaxed", "untrained", "weightsSha256",
         "reason")  # fmt: skip


def gathered() -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]], dict[str, str]]:
    """What the shards say: rows by file, failures, and the versions of their programs."""
    rows: dict[str, dict[str, Any]] = {}
    failures: list[dict[str, Any]] = []
    programs: dict[str, str] = {}
    for path in sorted(IN.glob("rows/*/rows.json")):
        said = read_json(path)
        rows |= {row["file"]: row for row in said["sequences"]}
        failures += said["failures"]
        programs |= said["programs"]
    return rows, failures, programs


def alphas(cif: Path) -> tuple[np.ndarray, list[str]]:
    """Places [N, 3] in Å and chains of the C-alpha atoms of a file that structures.py wrote."""
    words = [line.split() for line in cif.read_text(encoding="utf-8").splitlines() if line.startswith("ATOM ")]
    found = [w for w in words if w[3] == "CA"]
    return np.array([[float(value) for value in w[10:13]] for w in found]), [w[6] for w in found]


def alignment_rows(a3m: Path) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows of an alignment cover the protein [M, N], and their identity with it [M]; the protein's own row is the
    first."""
    rows: list[str] = []
    for line in a3m.read_text(encoding="utf-8").splitlines():
        if line.startswith(">"):
            rows.append("")
        elif rows:
            rows[-1] += "".join(letter for letter in line if not letter.islower())
    letters = np.array([list(row) for row in rows[:MOST_ROWS] if len(row) == len(rows[0])])
    covers = letters != "-"
    equal = (letters == letters[0]) & covers
    return covers, equal.sum(axis=1) / np.maximum(covers.sum(axis=1), 1)


def draw(row: dict[str, Any], request: dict[str, Any]) -> Shown:
    """Writes the pictures and the scene of a protein."""
    file, name = row["file"], row["name"]
    note = "" if request["weights"]["trained"] else UNTRAINED
    scores = read_json(SCORES / f"{file}.scores.json")
    plddt, pae = figures.plddt_figure(scores, note), figures.pae_figure(scores, note)
    for kind, figure in (("plddt", plddt), ("pae", pae)):
        write_bytes(OUT / f"{file}.{kind}.svg", figure.svg)
        write_bytes(OUT / f"{file}.{kind}.png", figure.png)
    places, chains = alphas(SCORES / f"{file}.cif")
    trace = figures.trace_figure(places, np.array(scores["plddt"]), chains, note)
    said = f"{request['predictor']} prediction, coloured by pLDDT. Mean {row['meanPlddt']:.1f}, pTM {row['ptm']:.3f}."
    write_scene(f"{file}.mvsx", scores, SCORES / f"{file}.cif", name, f"{note}. {said}" if note else said)
    pictures = [("Backbone, coloured by pLDDT", trace.png), ("pLDDT along the chains", plddt.png),
                ("Expected position error of every pair of residues", pae.png)]  # fmt: skip
    a3m = SCORES / f"{file}.a3m"
    if a3m.is_file():
        coverage = figures.coverage_figure(*alignment_rows(a3m), note)
        write_bytes(OUT / f"{file}.coverage.svg", coverage.svg)
        write_bytes(OUT / f"{file}.coverage.png", coverage.png)
        pictures.append((f"Coverage of the alignment of {row['alignedSequences']} sequences", coverage.png))
    return Shown(row, pictures)


def table(request: dict[str, Any], rows: list[dict[str, Any]], failed: list[dict[str, Any]]) -> str:
    """All proteins as CSV, those that were not folded at the end with the reason."""
    out = io.StringIO()
    writer = csv.DictWriter(out, TABLE, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    weights = request["weights"]
    same = {"untrained": str(not weights["trained"]).lower(), "weightsSha256": weights["digest"]}
    for row in rows:
        cells = {key: safe(value) for key, value in row.items()}
        writer.writerow({**cells, **same, "status": "folded", **relaxation(row), **templates(row)})
    for one in failed:
        writer.writerow({"name": safe(one["item"]), "status": "failed", "reason": safe(one["message"]), **same})
    return out.getvalue()


def relaxation(row: dict[str, Any]) -> dict[str, str]:
    """What the table says of the relaxation of a model, of one that should have been relaxed."""
    if "relaxed" not in row:
        return {}
    reason = f"not relaxed: {row['notRelaxed']}" if row["notRelaxed"] else ""
    return {"relaxed": str(row["relaxed"]).lower(), "reason": safe(reason)}


def templates(row: dict[str, Any]) -> dict[str, str]:
    """What the table says of the templates of a model, of one that could have had some."""
    return {"templates": " ".join(row["templates"])} if "templates" in row else {}


def safe(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t" else value


def failed_of(request: dict[str, Any], rows: dict[str, Any], failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was not folded, with the reason: refused before, failed in its shard, or lost with it."""
    known = {one["item"] for one in failures}
    lost = [s["name"] for s in request["sequences"] if s["file"] not in rows and s["name"] not in known]
    return [
        *({"item": one["name"], "step": "check", "message": one["reason"]} for one in request["refused"]),
        *failures,
        *({"item": name, "step": "fold", "message": "its task failed"} for name in lost),
    ]


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    found, failures, programs = gathered()
    failed = failed_of(request, found, failures)
    rows = [found[s["file"]] for s in request["sequences"] if s["file"] in found]
    shown: list[Shown] = []
    for place, row in enumerate(rows):
        progress(0.95 * place / len(rows), f"drawing {row['name']}")
        one = draw(row, request)
        shown = [*shown, one] if len(shown) < MOST_SHOWN else shown
    untrained = not request["weights"]["trained"]
    summary = {"stage": "report", "folded": len(rows), "failed": len(failed), "untrained": untrained}
    write_text(OUT / "structures.csv", table(request, rows, failed))
    write_json(OUT / "results.json", {"schema": RESULTS_SCHEMA, "untrained": untrained, "weights": request["weights"],
                                      "sequences": rows, "failures": failed})  # fmt: skip
    write_text(OUT / "report.html", page(request, shown, rows, failed))
    versions = {**programs, **program_versions(PACKAGES)}
    decisive = {key: request[key] for key in ("recycles", "seed", "device", "weights", "inputSha256", "citations")}
    outputs = [{"name": name, "sha256": digest} for name, digest in sorted(written.items())]
    write_json(OUT / "provenance.json", {"schema": PROVENANCE_SCHEMA, "engine": request["engine"], "untrained": untrained,
                                         **request["settings"], **decisive,
                                         "programs": versions, "outputs": outputs})  # fmt: skip
    return {"summary": summary, "programs": versions, "seed": request["seed"], "failures": failed}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
