"""Folds proteins with AlphaFold 2 by ColabFold: one process and one copy of the weights for all sequences of its shard, the
shortest first.

Reads request.json, the weights in in/weights/ (config.json, params_model_N_ptm.npz, params_model_N_multimer_v3.npz), and where the
job has alignments in/msa/<SHA-256 of the chain>.a3m of every chain; templates, where it has them, are in/templates/<id>.cif. For
each sequence it writes the structure of the best model as out/<file>.pdb and .cif (ModelCIF; the B-factor of both is pLDDT, 0 to
100) with out/<file>.scores.json, those of the next models as out/<file>.rank2.pdb and so on, out/<file>.a3m, which is the alignment
that the models saw, and for all of them out/rows.json.

ColabFold marks a sequence that is finished (.done.txt). It is then saved below out/checkpoint/, so that a repeated attempt folds
none twice. What cannot be folded is named in the result; a lack of memory ends the process, for the rest is longer.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any, NamedTuple

import templates
from finished import Finished, find, keep
from structures import CHAIN_NAMES
from task import IN, OUT, Progress, digest, executor_error, main, program_versions, sha256, write_bytes, write_json

PACKAGES = ("colabfold", "alphafold-colabfold", "jax", "jaxlib", "dm-haiku", "numpy", "openmm")
WEIGHTS, ALIGNMENTS, TEMPLATES = IN / "weights", IN / "msa", IN / "templates"
LOADING_SHARE = 0.05  # of the progress bar


class Outcome(NamedTuple):
    """What has become of the sequences: rows for the table, and those that failed."""

    rows: list[dict[str, Any]]
    failures: list[dict[str, Any]]


def tokens(sequence: dict[str, Any]) -> int:
    """How many residues a protein has; time and memory go by it."""
    return sum(map(len, sequence["chains"]))


def ranked(rank: int, model: Any) -> dict[str, Any]:
    """A predict.Model as the table of a protein's models says it."""
    found = model.prediction.confidence
    return {"rank": rank, "model": model.name, "seed": model.seed, "meanPlddt": round(float(found.plddt.mean()), 2),
            "ptm": round(found.ptm, 4), "relaxed": model.relaxed}  # fmt: skip


class Folding:
    """A shard's sequences and where it stands among them. Work is counted in squares of residues and passes."""

    def __init__(self, request: dict[str, Any], progress: Progress) -> None:
        self.request, self.progress = request, progress
        self.sequences = sorted(request["sequences"], key=lambda s: (tokens(s), s["file"]))
        self.passes = (request["recycles"] + 1) * request["models"] * request["seeds"]
        self.total = sum(tokens(s) ** 2 for s in self.sequences) * self.passes
        self.done = 0
        self.predictor: Any = None

    def identity(self, sequence: dict[str, Any]) -> str:
        """Digest of all that decides a sequence's result, but for the platform."""
        decisive = {key: self.request[key] for key in ("recycles", "models", "seeds", "seed", "relax", "weights", "msa")}
        if self.request.get("templates"):
            decisive["templates"] = self.request["templates"]
        alignments = [self.alignment(chain) for chain in sequence["chains"]]
        return digest([decisive, sequence, alignments, self.versions])

    def alignment(self, chain: str) -> str | None:
        """The aligned sequences of a chain as A3M; None where the job makes no alignments."""
        if self.request["msa"]["mode"] == "single_sequence":
            return None
        return (ALIGNMENTS / f"{sha256(chain.encode())}.a3m").read_text(encoding="utf-8")

    def unaligned(self, sequence: dict[str, Any]) -> str:
        """Says which chains of a protein should have been aligned and were not; "" when none is missing."""
        if self.request["msa"]["mode"] == "single_sequence":
            return ""
        chains = sequence["chains"]
        names = [CHAIN_NAMES[i] for i, c in enumerate(chains) if not (ALIGNMENTS / f"{sha256(c.encode())}.a3m").is_file()]
        return f"its chain {' and '.join(names)} could not be aligned" if names else ""

    def run(self) -> Outcome:
        self.versions = program_versions(PACKAGES)
        if self.request.get("templates"):
            self.versions |= templates.versions()
        outcome = Outcome([], [])
        for place, sequence in enumerate(self.sequences):
            if missing := self.unaligned(sequence):
                outcome.failures.append({"item": sequence["name"], "step": "msa", "message": missing})
                continue
            found = find(sequence["file"], self.identity(sequence))
            if found is None:
                found = self.fold(place, sequence, outcome)
            self.done += tokens(sequence) ** 2 * self.passes
            if found is None:
                break
            if found.failure:
                outcome.failures.append({"item": sequence["name"], "step": "fold", "message": found.failure})
                continue
            for suffix, text in found.files.items():
                write_bytes(OUT / f"{sequence['file']}{suffix}", text.encode())
            outcome.rows.append(found.row)
        return outcome

    def fold(self, place: int, sequence: dict[str, Any], outcome: Outcome) -> Finished | None:
        """Folds one sequence and keeps it. None when there is no memory for it, nor then for those after it, which are named."""
        import predict

        try:
            if self.predictor is None:
                self.progress(0.0, "starting ColabFold")
                self.predictor = predict.Predictor(WEIGHTS, TEMPLATES, self.request)
                self.progress(LOADING_SHARE, f"ColabFold computes on {self.predictor.device}", milestone=True)
            finished = self.predict(place, sequence)
        except predict.OutOfMemory:
            message = self.too_long(sequence)
            outcome.failures += [{"item": s["name"], "step": "fold", "message": message} for s in self.sequences[place:]]
            return None
        keep(sequence["file"], self.identity(sequence), finished)
        return finished

    def predict(self, place: int, sequence: dict[str, Any]) -> Finished:
        import predict
        from confidence import Impossible
        from results import files_of, row_of
        from structures import OffTheMap

        passed = 0

        def each() -> None:
            nonlocal passed
            passed += 1
            share = (self.done + tokens(sequence) ** 2 * min(passed, self.passes)) / self.total
            self.progress(
                LOADING_SHARE + (0.99 - LOADING_SHARE) * share,
                f"{sequence['name']} ({place + 1} of {len(self.sequences)}), {tokens(sequence)} residues: "
                f"pass {passed} of {self.passes}",
            )

        began = time.monotonic()
        weights, named = self.request["weights"], ("AlphaFold 2", f"ColabFold {self.versions['colabfold']}")
        try:
            run = self.predictor.fold(sequence["chains"], [self.alignment(chain) for chain in sequence["chains"]], each)
            files = {".a3m": run.alignment}
            for rank, model in enumerate(run.models, start=1):
                for suffix, text in files_of(sequence, model.prediction, weights, named).items():
                    files[suffix if rank == 1 else f".rank{rank}{suffix}"] = text
        except (Impossible, OffTheMap, predict.Refused) as error:
            return Finished({}, {}, f"its prediction was refused: {error}")
        best = run.models[0]
        row = row_of(sequence, best.prediction, tokens(sequence), time.monotonic() - began, self.predictor.device)
        ranking = [ranked(rank, one) for rank, one in enumerate(run.models, start=1)]
        row |= {"model": best.name, "modelType": run.model_type, "alignedSequences": run.depth, "ranking": ranking}
        if self.request.get("templates"):
            row["templates"] = run.templates
        if self.request["relax"]:
            row |= {"relaxed": best.relaxed, "notRelaxed": run.not_relaxed}
        return Finished(files, row, "")

    def too_long(self, sequence: dict[str, Any]) -> str:
        """Says what there was no memory for, and about what length there would be: memory grows with the square of the residues."""
        memory, length = self.request["memory"], tokens(sequence)
        have = memory["capBytes"]
        fits = math.isqrt(int(max(have - memory["baseBytes"], 0) / memory["bytesPerSquareToken"]))
        fits = min(fits, int(length * 0.9)) // 10 * 10
        return f"its {length} residues do not fit into the {have / 2**30:.1f} GiB of memory; about {fits} residues would"


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    # Where files or the marker that a download leaves are missing, ColabFold would fetch them.
    missing = [n for n in range(1, 6) if not (WEIGHTS / f"params_model_{n}_ptm.npz").is_file()]
    if missing or not (WEIGHTS / "config.json").is_file():
        raise executor_error(
            "WEIGHTS_MISSING", "The weights lack config.json or one of params_model_1_ptm.npz to 5; nothing is downloaded."
        )
    folding = Folding(request, progress)
    outcome = folding.run()
    if not outcome.rows:
        first = outcome.failures[0]
        raise executor_error("NOTHING_FOLDED", f"No sequence was folded; {first['item']}: {first['message']}.", outcome.failures)
    rows = sorted(outcome.rows, key=lambda row: row["file"])
    write_json(OUT / "rows.json", {"sequences": rows, "failures": outcome.failures, "programs": folding.versions})
    return {"summary": {"stage": "fold", "sequences": rows}, "programs": folding.versions, "seed": request["seed"],
            "failures": outcome.failures}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
