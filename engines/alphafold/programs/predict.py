"""ColabFold's own program, run for one protein at a time in one process, without a network.

Every protein is a run of its own: what ColabFold pads and samples depends on what it folds together, and a protein's result should
not depend on its neighbours in the file. The weights are read once, and what was compiled for one length serves for the next.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

# What is compiled for one length serves for the next protein of it. All are read when jax is imported.
SCRATCH = Path(tempfile.mkdtemp(prefix="fold-"))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(SCRATCH / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
os.environ.update(XLA_PYTHON_CLIENT_PREALLOCATE="false", MPLCONFIGDIR=str(SCRATCH / "plots"))

import functools
import itertools
import json
import logging
import re
import shutil
from typing import Any, Callable, NamedTuple

import jax
import numpy as np
from alphafold.model import config as configuration
from colabfold import batch
from colabfold.alphafold import models
from colabfold.input import msa_to_str

from confidence import Confidence, check
from relaxation import NotRelaxed, relax
from rows import read_rows
from shapes import change
from structures import Prediction
from templates import lay, used

JOB = "protein"
PASS = re.compile(r"\brecycle=\d+")
MEMORY_SIGNS = ("RESOURCE_EXHAUSTED", "out of memory", "Out of memory", "bad_alloc", "can't allocate memory")
SINGLE, COMPLEX = "alphafold2_ptm", "alphafold2_multimer_v3"
MOST_PAE_ANGSTROM = 31.75


class OutOfMemory(Exception):
    """There was not memory enough; the process should end."""


class Refused(Exception):
    """ColabFold did not finish a protein; the message says why."""


class Model(NamedTuple):
    """What one model with one seed says of a protein."""

    name: str  # "model_3"
    seed: int
    score: float  # by which models are ranked, the higher the better
    prediction: Prediction
    relaxed: bool


class Run(NamedTuple):
    """What ColabFold says of a protein."""

    models: list[Model]  # the best first
    model_type: str
    alignment: str  # A3M, as the models saw it
    depth: int  # rows of it, the protein's own among them
    templates: list[str]  # chains that were given to the models
    not_relaxed: str  # why the best model is not relaxed, although that was asked for; "" otherwise


class Ears(logging.Handler):
    """Hears what ColabFold logs: a line a pass, and its errors, after which it goes on as if nothing had been."""

    def __init__(self, each: Callable[[], None]) -> None:
        super().__init__(logging.INFO)
        self.each, self.errors = each, list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.ERROR:
            self.errors.append(text)
        elif PASS.search(text):
            self.each()


class Predictor:
    """The weights of a folder, the templates of another, and how a request wants proteins folded."""

    def __init__(self, weights: Path, templates: Path, request: dict[str, Any]) -> None:
        self.request = request
        self.templates = lay(templates, SCRATCH / "templates") if request.get("templates") else None
        self.device = "cuda" if jax.local_devices()[0].platform == "gpu" else "cpu"
        if request["device"] == "cuda" and self.device != "cuda":
            raise RuntimeError("JAX finds no device")
        self.multimer = all((weights / f"params_model_{n}_multimer_v3.npz").is_file() for n in range(1, 6))
        changes = json.loads((weights / "config.json").read_text(encoding="utf-8")).get("molfabric_changes", {})
        if changes:
            shrink(changes)
        params = SCRATCH / "data" / "params"
        params.mkdir(parents=True, exist_ok=True)
        for file in weights.glob("*.npz"):
            (params / file.name).unlink(missing_ok=True)
            (params / file.name).symlink_to(file.resolve())
        # The same process opens the same files for every protein.
        models.get_model_haiku_params = functools.lru_cache(models.get_model_haiku_params)
        logging.getLogger("colabfold").setLevel(logging.INFO)

    def fold(self, chains: list[str], alignments: list[str | None], each: Callable[[], None]) -> Run:
        """Folds the chains of a protein, calling each after every pass. alignments are A3M of each chain; None for all of them
        folds without. Errors: OutOfMemory, Refused, confidence.Impossible."""
        request = self.request
        folder = SCRATCH / "run"
        shutil.rmtree(folder, ignore_errors=True)  # its marker does not depend on parameters
        unique = list(dict.fromkeys(chains))
        order = grouped(chains, unique)
        several = len(chains) > 1
        model_type = COMPLEX if several and self.multimer else SINGLE
        found: list[Model] = []

        def keep(_: Any, lengths: list[int], result: dict[str, Any], features: dict[str, Any], tag: tuple[str, bool]) -> None:
            found.append(read(result, features, lengths, order, tag[0], model_type))

        given = joined(chains, unique, alignments) if alignments[0] is not None else None
        ears = Ears(each)
        logging.getLogger("colabfold").addHandler(ears)
        try:
            batch.run(
                queries=[(JOB, chains if several else chains[0], given, None)], result_dir=folder, num_models=request["models"],
                is_complex=several, num_recycles=request["recycles"], model_type=model_type,
                msa_mode="single_sequence" if given is None else "mmseqs2_uniref", data_dir=SCRATCH / "data",
                random_seed=request["seed"], num_seeds=request["seeds"], recompile_padding=0, prediction_callback=keep,
                skip_output=["plots", "pae_json"], host_url="http://127.0.0.1:9", pair_mode="unpaired",
                use_templates=self.templates is not None, custom_template_path=self.templates and str(self.templates),
            )  # fmt: skip
        except (MemoryError, RuntimeError, ValueError) as error:
            raise told([*ears.errors, str(error)], isinstance(error, MemoryError)) from error
        finally:
            logging.getLogger("colabfold").removeHandler(ears)
        if not (folder / f"{JOB}.done.txt").is_file() or not found:
            raise told(ears.errors, False)
        text = (folder / f"{JOB}.a3m").read_text(encoding="utf-8")
        compare(text, given)
        ranked = sorted(found, key=lambda model: -model.score)
        not_relaxed = ""
        if request["relax"]:
            try:
                ranked[0] = ranked[0]._replace(prediction=relax(ranked[0].prediction, self.device == "cuda"), relaxed=True)
            except NotRelaxed as error:  # the model is worth having all the same
                not_relaxed = str(error)
        depth = sum(line.startswith(">") for line in text.splitlines())
        return Run(ranked, model_type, text, depth, used(folder / f"{JOB}_template_domain_names.json"), not_relaxed)


def shrink(changes: dict[str, Any]) -> None:
    """Makes every configuration of a model as small as that of the weights."""
    original = configuration.model_config

    def smaller(name: str) -> Any:
        settings = original(name)
        change(settings.model, changes)
        return settings

    configuration.model_config = smaller


def told(errors: list[str], memory: bool) -> Exception:
    text = "; ".join(errors) or "ColabFold did not say that it is done"
    if memory or any(sign in text for sign in MEMORY_SIGNS):
        return OutOfMemory(text)
    return Refused(text)


def grouped(chains: list[str], unique: list[str]) -> list[int]:
    """ColabFold puts equal chains beside each other: for each place in its order, the caller's chain."""
    return [index for one in unique for index, chain in enumerate(chains) if chain == one]


def joined(chains: list[str], unique: list[str], alignments: list[str | None]) -> list[str]:
    """Alignments of all chains as ColabFold reads them: of unlike chains one after the other, each beside gaps. It takes the chains
    themselves from the first row, which therefore holds all of them."""
    own = dict(zip(chains, alignments))
    whole = [f">{101 + place}\n{chain}\n" for place, chain in enumerate(unique)] if len(unique) > 1 else None
    return [msa_to_str([own[chain] for chain in unique], whole, unique, [chains.count(chain) for chain in unique])]


def found_rows(text: str) -> list[str]:
    """The rows of an alignment without the protein itself, which ColabFold puts before those of equal chains once more."""
    rows = [row for _, row in read_rows(text)]
    return list(itertools.dropwhile(lambda row: row == rows[0], rows))


def compare(written: str, given: list[str] | None) -> None:
    """ColabFold has thrown alignments away without a word: what it wrote must have the rows that it got."""
    if given is not None and found_rows(written) != found_rows(given[0]):
        raise Refused("ColabFold did not use the alignment that it was given")


def read(
    result: dict[str, Any], features: dict[str, Any], lengths: list[int], order: list[int], tag: str, model_type: str
) -> Model:
    """Takes a protein out of what a model returns, its chains in the caller's order. Errors: confidence.Impossible."""
    name, _, seed = tag.removeprefix(f"{model_type}_").partition("_seed_")
    count = sum(lengths)
    kinds = np.asarray(features["aatype"])
    kinds = (kinds if kinds.ndim == 1 else kinds[0])[:count]
    owners = np.repeat(order, lengths)
    places = np.argsort(owners, kind="stable")
    plddt = np.asarray(result["plddt"], dtype=float)[:count][places]
    pae = np.asarray(result["predicted_aligned_error"], dtype=float)[:count, :count][places][:, places]
    iptm = float(result["iptm"]) if "iptm" in result and len(lengths) > 1 else None
    confidence = Confidence(plddt, np.minimum(pae, MOST_PAE_ANGSTROM), float(result["ptm"]), iptm)
    check(confidence)
    structure = result["structure_module"]
    prediction = Prediction(
        kinds[places].astype(int), owners[places], np.asarray(structure["final_atom_positions"], np.float32)[:count][places],
        np.asarray(structure["final_atom_mask"])[:count][places] > 0.5, confidence,
    )  # fmt: skip
    return Model(name, int(seed), float(result["ranking_confidence"]), prediction, False)
