"""Makes AlphaFold 2 parameters of random values from a seed: five models, of a small configuration for tests (2 Evoformer blocks,
6 million parameters), or of true size (93 million), whose memory and time are those of trained ones.

What such a model predicts means nothing. Two sets of one seed are the same byte by byte. Run it with engines/alphafold/programs on
PYTHONPATH, in the environment that holds ColabFold.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from alphafold.model import config, model

import shapes

# What is changed of a model's configuration, by its dotted path. Widths that the program itself takes for given stay.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {
        "embeddings_and_evoformer.evoformer_num_block": 2,
        "embeddings_and_evoformer.extra_msa_stack_num_block": 1,
        "embeddings_and_evoformer.template.template_pair_stack.num_block": 1,
        "heads.structure_module.num_layer": 2,
    },
    "full": {},
}
TEMPLATED = (1, 2)  # numbers of the models that look at templates
LENGTH = 8  # of the protein that the shapes are asked with; they do not depend on it
EPOCH = (1980, 1, 1, 0, 0, 0)


def parameters(number: int, changes: dict[str, Any], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Values of every tensor of a model by "scope//name"."""
    settings = config.model_config(f"model_{number}_ptm")
    shapes.change(settings.model, changes)
    settings.data.eval.max_msa_clusters, settings.data.common.max_extra_msa = 8, 4  # four of them stand for templates
    runner = model.RunModel(settings, None)
    features = runner.process_features(example() | (template() if number in TEMPLATED else {}), random_seed=0)
    features = {key: value[:1] for key, value in features.items()}
    features["prev"] = {
        "prev_msa_first_row": np.zeros([LENGTH, 256], np.float16), "prev_pair": np.zeros([LENGTH, LENGTH, 128], np.float16),
        "prev_pos": np.zeros([LENGTH, 37, 3], np.float16),
    }  # fmt: skip
    features["asym_id"] = np.zeros((1, LENGTH), np.int32)
    found = jax.eval_shape(runner.init, jax.random.PRNGKey(0), features)
    return {
        f"{scope}//{name}": drawn(name, tensor.shape, generator)
        for scope, tensors in sorted(found.items())
        for name, tensor in sorted(tensors.items())
    }


def example() -> dict[str, np.ndarray]:
    """Features of a protein of alanines with one other row in its alignment."""
    return {
        "aatype": np.eye(21, dtype=np.float32)[np.zeros(LENGTH, int)],
        "between_segment_residues": np.zeros(LENGTH, np.int32),
        "domain_name": np.array([b"x"], object),
        "residue_index": np.arange(LENGTH, dtype=np.int32),
        "seq_length": np.full(LENGTH, LENGTH, np.int32),
        "sequence": np.array([b"A" * LENGTH], object),
        "deletion_matrix_int": np.zeros((2, LENGTH), np.int32),
        "msa": np.zeros((2, LENGTH), np.int32),
        "num_alignments": np.full(LENGTH, 2, np.int32),
    }


def template() -> dict[str, np.ndarray]:
    """Features of one template of the example that nothing is known of."""
    return {
        "template_aatype": np.eye(22, dtype=np.float32)[np.zeros((1, LENGTH), int)],
        "template_all_atom_masks": np.zeros((1, LENGTH, 37), np.float32),
        "template_all_atom_positions": np.zeros((1, LENGTH, 37, 3), np.float32),
        "template_domain_names": np.array([b"none"], object),
        "template_sequence": np.array([b"A" * LENGTH], object),
        "template_sum_probs": np.zeros((1, 1), np.float32),
    }


def drawn(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Weights are ±1/√fan-in, scales 1 and biases 0. One of two values each, so that the file is small."""
    if name == "scale":
        return np.ones(shape, np.float32)
    if name in ("bias", "offset") or "bias" in name:
        return np.zeros(shape, np.float32)
    fan_in = max(shape[0] if len(shape) > 1 else 1, 1)
    signs = generator.integers(0, 2, shape).astype(np.float32) * 2 - 1
    return signs / np.float32(np.sqrt(fan_in))


def write(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Writes an .npz whose members have no time, so that one seed is one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, tensor in tensors.items():
            text = io.BytesIO()
            np.save(text, tensor, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", EPOCH), text.getvalue(), zipfile.ZIP_DEFLATED, 6)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder for config.json and params_model_1_ptm.npz to 5")
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for number in range(1, 6):
        tensors = parameters(number, SIZES[arguments.size], np.random.default_rng([arguments.seed, number]))
        write(arguments.folder / f"params_model_{number}_ptm.npz", tensors)
        total += sum(tensor.size for tensor in tensors.values())
    document = {"model_type": "alphafold2", "molfabric_untrained": True, "molfabric_changes": SIZES[arguments.size]}
    (arguments.folder / "config.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    print(f"wrote {total:,} parameters to {arguments.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
