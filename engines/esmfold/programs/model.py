"""The model: opened from a local directory, and run for one protein at a time.

Written for Hugging Face transformers from 4.30 to 5 and torch from 1.13 to 2, on a CPU or a CUDA device. Nothing is downloaded.
"""

from __future__ import annotations

import os

for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):  # read when transformers is imported
    os.environ[variable] = "1"
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it CUDA's matrix products are not repeatable

from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from transformers import EsmForProteinFolding

from confidence import confidence
from encoding import Encoded
from structures import Prediction

Pass = Callable[[], None]


class OutOfMemory(Exception):
    """There was not memory enough; the process should end, for what it still holds is unknown."""


def choose_device(wanted: str) -> torch.device:
    """wanted is "cpu", "cuda", or "auto" for CUDA where there is a device."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(wanted)


def settle(threads: int, seed: int) -> None:
    """Makes runs repeatable on one platform. The model itself draws nothing at random."""
    torch.set_num_threads(max(threads, 1))
    torch.manual_seed(seed & 0xFFFF_FFFF)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_grad_enabled(False)


def open_model(directory: Path, device: torch.device) -> Any:
    """Loads config.json and the safetensors of a directory. Errors: OutOfMemory, OSError, ValueError."""
    try:
        return ready(EsmForProteinFolding.from_pretrained(directory, local_files_only=True), device)
    except (RuntimeError, MemoryError) as error:
        raise OutOfMemory from error if is_memory(error) else error


def ready(model: Any, device: torch.device) -> Any:
    """Puts a model on its device: the language model in half precision on CUDA, in single on a CPU, which lacks the arithmetic."""
    model.eval()
    if device.type == "cuda":
        model.esm.half()
    else:
        model.float()
    return model.to(device)


def predict(model: Any, protein: Encoded, passes: int, chunk: int | None, each: Pass) -> Prediction:
    """Folds a protein of L tokens in so many passes (recycles and one), calling each after every one of them. chunk is how many
    rows the trunk's attention takes at once; None for all. Errors: OutOfMemory, confidence.Impossible, and what each raises."""
    model.trunk.set_chunk_size(chunk)
    device = next(model.trunk.parameters()).device
    hook = model.trunk.structure_module.register_forward_hook(lambda *_: each())
    try:
        output = model(
            torch.from_numpy(protein.residues)[None].to(device),
            position_ids=torch.from_numpy(protein.positions)[None].to(device),
            num_recycles=passes - 1,
        )
        return read(output, protein)
    except (RuntimeError, MemoryError) as error:
        raise OutOfMemory from error if is_memory(error) else error
    finally:
        hook.remove()


def read(output: Any, protein: Encoded) -> Prediction:
    """Takes the caller's residues out of what the model returns for [1, L] tokens."""
    own = torch.from_numpy(np.flatnonzero(protein.own)).to(output.plddt.device)
    slots = output.residx_atom37_to_atom14[0, own]
    atoms = torch.gather(output.positions[-1, 0, own].float(), 1, slots[..., None].expand(-1, -1, 3))
    present = output.atom37_atom_exists[0, own] > 0.5
    chains = protein.chains[protein.own]
    logits = output.ptm_logits[0, own][:, own].float()
    pae = output.predicted_aligned_error[0, own][:, own]
    # Of a residue's 37 values the mean over its atoms; the model gives each atom its own.
    plddt = (output.plddt[0, own] * present).sum(-1) / present.sum(-1)
    scores = confidence(
        plddt.float().cpu().numpy(),
        pae.float().cpu().numpy(),
        torch.softmax(logits, -1).cpu().numpy(),
        chains,
    )
    return Prediction(protein.residues[protein.own], chains, atoms.cpu().numpy(), present.cpu().numpy(), scores)


def is_memory(error: BaseException) -> bool:
    """Tells a lack of memory, which torch reports in several ways, from other errors."""
    text = str(error)
    return isinstance(error, MemoryError) or any(sign in text for sign in ("out of memory", "can't allocate memory", "bad_alloc",
                                                                           "not enough memory"))


def peak_device_bytes(device: torch.device) -> int:
    """The most memory that tensors have held on the device so far; 0 on a CPU."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0


def memory_bytes(device: torch.device) -> int:
    """The whole memory of the device; 0 of a CPU, whose share the worker decides."""
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else 0
