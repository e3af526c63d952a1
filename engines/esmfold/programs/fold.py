"""Folds proteins with ESMFold: one process and one copy of the weights for all sequences of its shard, the shortest first.

Reads request.json and the model in in/weights/ (config.json, safetensors). For each sequence it writes out/<file>.pdb,
out/<file>.cif (ModelCIF; the B-factor of both is pLDDT, 0 to 100) and out/<file>.scores.json (pLDDT, PAE, pTM), and for all of them
out/rows.json. A sequence that is finished is
saved below out/checkpoint/, so that a repeated attempt folds none twice.

What cannot be folded is named in the result beside those that were; a lack of memory ends the process, for the rest is longer.
"""

from __future__ import annotations

import math
import os
import sys
import time
from typing import Any, NamedTuple

from encoding import encode, tokens
from finished import Finished, find, keep
from task import IN, OUT, Progress, digest, executor_error, main, program_versions, write_bytes, write_json

PACKAGES = ("torch", "transformers", "numpy")
WEIGHTS = IN / "weights"
LOADING_SHARE = 0.05  # of the progress bar


class Outcome(NamedTuple):
    """What has become of the sequences: rows for the table, and those that failed."""

    rows: list[dict[str, Any]]
    failures: list[dict[str, Any]]


class Folding:
    """A shard's sequences and where it stands among them. Work is counted in squares of tokens and passes."""

    def __init__(self, request: dict[str, Any], progress: Progress) -> None:
        self.request, self.progress = request, progress
        self.sequences = sorted(request["sequences"], key=lambda s: (tokens(s["chains"]), s["file"]))
        self.passes = request["recycles"] + 1
        self.total = sum(self.work(sequence) for sequence in self.sequences) * self.passes
        self.done = 0
        self.model: Any = None

    @staticmethod
    def work(sequence: dict[str, Any]) -> int:
        return tokens(sequence["chains"]) ** 2

    def identity(self, sequence: dict[str, Any]) -> str:
        """Digest of all that decides a sequence's result, but for the platform."""
        decisive = {key: self.request[key] for key in ("recycles", "seed", "weights", "chunk")}
        return digest([decisive, sequence, self.versions])

    def run(self) -> Outcome:
        self.versions = program_versions(PACKAGES)
        outcome = Outcome([], [])
        for place, sequence in enumerate(self.sequences):
            found = find(sequence["file"], self.identity(sequence))
            if found is None:
                found = self.fold(place, sequence, outcome)
            self.done = sum(self.work(s) for s in self.sequences[: place + 1]) * self.passes
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
        from model import OutOfMemory

        try:
            if self.model is None:
                self.open()
            finished = self.predict(place, sequence)
        except OutOfMemory:
            message = self.too_long(sequence)
            outcome.failures += [{"item": s["name"], "step": "fold", "message": message} for s in self.sequences[place:]]
            return None
        keep(sequence["file"], self.identity(sequence), finished)
        return finished

    def open(self) -> None:
        import model

        self.progress(0.0, "opening the weights")
        self.device = model.choose_device(self.request["device"])
        model.settle(int(os.environ.get("OMP_NUM_THREADS", "1")), self.request["seed"])
        self.model = model.open_model(WEIGHTS, self.device)
        self.progress(LOADING_SHARE, f"the model is open on {self.device.type}", milestone=True)

    def predict(self, place: int, sequence: dict[str, Any]) -> Finished:
        import model
        from confidence import Impossible
        from results import files_of, row_of
        from structures import OffTheMap

        length = tokens(sequence["chains"])
        chunk = self.request["chunk"]["size"] if length > self.request["chunk"]["aboveTokens"] else None
        passed = 0

        def each() -> None:
            nonlocal passed
            passed += 1
            share = (self.done + self.work(sequence) * passed) / self.total
            self.progress(
                LOADING_SHARE + (0.99 - LOADING_SHARE) * share,
                f"{sequence['name']} ({place + 1} of {len(self.sequences)}), {length} tokens: pass {passed} of {self.passes}",
            )

        began = time.monotonic()
        try:
            prediction = model.predict(self.model, encode(sequence["chains"]), self.passes, chunk, each)
            predictor = ("ESMFold", f"transformers {self.versions['transformers']}")
            files = files_of(sequence, prediction, self.request["weights"], predictor)
        except (Impossible, OffTheMap) as error:
            return Finished({}, {}, f"its prediction was refused: {error}")
        return Finished(files, row_of(sequence, prediction, length, time.monotonic() - began, self.device.type), "")

    def too_long(self, sequence: dict[str, Any]) -> str:
        """Says what there was no memory for, and about what length there would be: memory grows with the square of the tokens."""
        import model

        memory, length = self.request["memory"], tokens(sequence["chains"])
        have = model.memory_bytes(model.choose_device(self.request["device"])) or memory["capBytes"]
        fits = math.isqrt(int(max(have - memory["baseBytes"], 0) / memory["bytesPerSquareToken"]))
        fits = min(fits, int(length * 0.9)) // 10 * 10
        if self.model is None:
            return f"the weights alone do not fit into the {have / 2**30:.1f} GiB of memory"
        return f"its {length} tokens do not fit into the {have / 2**30:.1f} GiB of memory; about {fits} tokens would"


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    if not (WEIGHTS / "config.json").is_file() or not list(WEIGHTS.glob("*.safetensors")):
        raise executor_error("WEIGHTS_MISSING", "The weights lack config.json or every safetensors file; nothing is downloaded.")
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
