"""Makes an ESMFold model of random weights from a seed: of a tiny size for tests (0.4 million parameters, 1.6 MB), or of the
true size of esmfold_v1 (ESM-2 of 3 billion parameters, 48 blocks), whose memory and time are those of trained weights.

What such a model predicts means nothing. Two models of one seed made by one version of torch are the same byte by byte.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")

import torch
from transformers import EsmConfig, EsmForProteinFolding

VOCABULARY = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO", ".", "-", "<null_1>", "<mask>"]
STRUCTURE = {"trans_scale_factor": 10, "epsilon": 1e-8, "inf": 1e5, "dropout_rate": 0.1, "num_angles": 7}
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {
        "hidden_size": 32, "num_hidden_layers": 5, "num_attention_heads": 4, "intermediate_size": 64,
        "trunk": {"num_blocks": 2, "sequence_state_dim": 64, "pairwise_state_dim": 32, "sequence_head_width": 16,
                  "pairwise_head_width": 16, "position_bins": 32, "max_recycles": 4, "dropout": 0, "layer_drop": 0},
        "structure_module": {"sequence_dim": 64, "pairwise_dim": 32, "ipa_dim": 8, "resnet_dim": 32, "num_heads_ipa": 4,
                             "num_qk_points": 4, "num_v_points": 4, "num_blocks": 2, "num_transition_layers": 1,
                             "num_resnet_blocks": 2, **STRUCTURE},
        "lddt_head_hid_dim": 32,
    },
    "full": {
        "hidden_size": 2560, "num_hidden_layers": 36, "num_attention_heads": 40, "intermediate_size": 10240,
        "trunk": {"num_blocks": 48, "sequence_state_dim": 1024, "pairwise_state_dim": 128, "sequence_head_width": 32,
                  "pairwise_head_width": 32, "position_bins": 32, "max_recycles": 4, "dropout": 0, "layer_drop": 0},
        "structure_module": {"sequence_dim": 384, "pairwise_dim": 128, "ipa_dim": 16, "resnet_dim": 128, "num_heads_ipa": 12,
                             "num_qk_points": 4, "num_v_points": 8, "num_blocks": 8, "num_transition_layers": 1,
                             "num_resnet_blocks": 2, **STRUCTURE},
        "lddt_head_hid_dim": 128,
    },
}  # fmt: skip


def configuration(size: str) -> EsmConfig:
    """The configuration of a size, in the words of transformers."""
    parts = SIZES[size]
    language = {name: parts[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")}
    fold = {
        "esm_type": "esm2_3B", "fp16_esm": False, "use_esm_attn_map": False, "esm_ablate_pairwise": False,
        "esm_ablate_sequence": False, "esm_input_dropout": 0, "embed_aa": True, "bypass_lm": False,
        "lddt_head_hid_dim": parts["lddt_head_hid_dim"],
        "trunk": {**parts["trunk"], "structure_module": dict(parts["structure_module"])},
    }  # fmt: skip
    return EsmConfig(
        **language, vocab_size=len(VOCABULARY), vocab_list=VOCABULARY, mask_token_id=32, pad_token_id=1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=1026, layer_norm_eps=1e-5,
        position_embedding_type="rotary", emb_layer_norm_before=False, token_dropout=True, is_folding_model=True,
        esmfold_config=fold,
    )  # fmt: skip


def random_model(size: str, seed: int, device: torch.device) -> Any:
    """Builds a model of random weights, on a device from the start where torch can (2.0 and later)."""
    torch.manual_seed(seed)
    with device if hasattr(device, "__enter__") else nullcontext():
        model = EsmForProteinFolding(configuration(size))
    return model.eval()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="where config.json and model.safetensors go")
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = random_model(arguments.size, arguments.seed, torch.device("cpu"))
    model.config.molfabric_untrained = True  # `molfabric weights add` reads it
    model.save_pretrained(arguments.directory, safe_serialization=True)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters in {arguments.directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
