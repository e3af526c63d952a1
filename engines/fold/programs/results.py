"""What is written of one predicted protein: its structure files, its scores, and its row in the table."""

from __future__ import annotations

from typing import Any

from structures import CHAIN_NAMES, modelcif, pdb
from task import compact, one_line

SCHEMA = "molfabric.fold.scores/v1"
UNTRAINED = "untrained: predicted by random weights, means nothing"
# Bands of pLDDT as AlphaFold's database names them, by their lower bounds.
CONFIDENT, VERY_CONFIDENT = 70.0, 90.0


def files_of(sequence: dict[str, Any], prediction: Any, weights: dict[str, Any], predictor: tuple[str, str]) -> dict[str, str]:
    """The files of a sequence by what follows its file name. predictor is the model's name and the version of its program.
    Errors: structures.OffTheMap."""
    model_name, version = predictor
    name = one_line(sequence["name"], 60)
    said = "" if weights["trained"] else f" ({UNTRAINED})"
    remarks = [f"{model_name} prediction of {name}", f"weights sha256 {weights['digest'][:40]}", "B-factor: pLDDT, 0 to 100"]
    if said:
        remarks.insert(0, UNTRAINED.upper())
    model = {"name": model_name, "version": version, "weights": weights["digest"],
             "remark": f"{model_name} prediction{said}"}  # fmt: skip
    return {
        ".pdb": pdb(prediction, remarks),
        ".cif": modelcif(prediction, name + said, model),
        ".scores.json": compact(scores_of(sequence, prediction, weights)).decode() + "\n",
    }


def scores_of(sequence: dict[str, Any], prediction: Any, weights: dict[str, Any]) -> dict[str, Any]:
    """pLDDT of each residue (0 to 100), PAE in Å (row: aligned on), pTM and, of a complex, ipTM."""
    found = prediction.confidence
    return {
        "schema": SCHEMA,
        "name": sequence["name"],
        "untrained": not weights["trained"],
        "weightsSha256": weights["digest"],
        "chains": [{"id": CHAIN_NAMES[i], "sequence": chain} for i, chain in enumerate(sequence["chains"])],
        "plddt": [round(float(value), 2) for value in found.plddt],
        "meanPlddt": round(float(found.plddt.mean()), 2),
        "ptm": round(found.ptm, 4),
        "iptm": None if found.iptm is None else round(found.iptm, 4),
        "maxPaeAngstrom": 31.75,
        "paeAngstrom": [[round(float(value), 2) for value in row] for row in found.pae],
    }


def row_of(sequence: dict[str, Any], prediction: Any, tokens: int, wall_seconds: float, device: str) -> dict[str, Any]:
    """The table's row of a sequence."""
    found = prediction.confidence
    return {
        "file": sequence["file"],
        "name": sequence["name"],
        "chains": len(sequence["chains"]),
        "residues": len(found.plddt),
        "tokens": tokens,
        "meanPlddt": round(float(found.plddt.mean()), 2),
        "confidentFraction": round(float((found.plddt >= CONFIDENT).mean()), 4),
        "veryConfidentFraction": round(float((found.plddt >= VERY_CONFIDENT).mean()), 4),
        "ptm": round(found.ptm, 4),
        "iptm": None if found.iptm is None else round(found.iptm, 4),
        "meanPaeAngstrom": round(float(found.pae.mean()), 2),
        "wallSeconds": round(wall_seconds, 2),
        "device": device,
    }
