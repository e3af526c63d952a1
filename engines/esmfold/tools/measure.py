"""Measures ESMFold's time and memory by length, with random weights of true size built on the device: neither depends on their
values. Prints one JSON object a line. Run it with these on PYTHONPATH:

PYTHONPATH=engines/esmfold/programs:engines/fold/programs:engines/python python3 \\
    engines/esmfold/tools/measure.py --lengths 100,200,400 --chunk 64
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from typing import Any

import torch

import model
from encoding import RESIDUES, encode
from random_weights import SIZES, random_model


def say(document: dict[str, Any]) -> None:
    print(json.dumps(document), flush=True)


def measure(opened: Any, device: torch.device, length: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Folds one random sequence. wallSeconds holds the whole prediction with its confidences."""
    letters = "".join(random.Random(length).choices(RESIDUES, k=length))
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    passes: list[float] = []
    wall, cpu = time.monotonic(), time.process_time()
    chunk = arguments.chunk if length > arguments.chunk_above else None
    found = model.predict(opened, encode([letters]), arguments.passes, chunk, lambda: passes.append(time.monotonic()))
    return {
        "tokens": length, "passes": len(passes), "chunk": chunk, "wallSeconds": round(time.monotonic() - wall, 3),
        "cpuSeconds": round(time.process_time() - cpu, 3), "peakDeviceGiB": round(model.peak_device_bytes(device) / 2**30, 3),
        "peakResidentGiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3),
        "meanPlddt": round(float(found.confidence.plddt.mean()), 2), "ptm": round(found.confidence.ptm, 4),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    parser.add_argument("--lengths", default="64,128,256,384,512", help="numbers of residues, ascending, with commas")
    parser.add_argument("--passes", type=int, default=4, help="recycles and one")
    parser.add_argument("--chunk", type=int, default=64, help="rows that the trunk's attention takes at once")
    parser.add_argument("--chunk-above", type=int, default=0, help="tokens up to which nothing is chunked")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tf32", action="store_true", help="let CUDA round matrix products to TensorFloat-32")
    arguments = parser.parse_args()
    device = model.choose_device(arguments.device)
    model.settle(arguments.threads, 0)
    torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
    began = time.monotonic()
    opened = model.ready(random_model(arguments.size, 0, device), device)
    say({"device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu", "torch": torch.__version__,
         "parameters": sum(p.numel() for p in opened.parameters()), "buildSeconds": round(time.monotonic() - began, 2),
         "deviceGiB": round(torch.cuda.memory_allocated(device) / 2**30, 3) if device.type == "cuda" else None})  # fmt: skip
    for length in map(int, arguments.lengths.split(",")):
        try:
            say(measure(opened, device, length, arguments))
        except model.OutOfMemory:
            say({"tokens": length, "outOfMemory": True})
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
