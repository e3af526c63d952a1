"""Writes an ESMFold model of Hugging Face as safetensors in parts of at most 2 GB, which `molfabric weights add` takes.

The source is a local folder with config.json and pytorch_model.bin or safetensors; nothing is downloaded. A pickled file
(pytorch_model.bin) is a program: convert only what you trust. It needs as much memory as the model, about 14 GB for esmfold_v1.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")

from transformers import EsmForProteinFolding


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with the model")
    parser.add_argument("target", type=Path, help="folder for config.json and the safetensors")
    parser.add_argument("--part", default="2GB", help="largest part (default: 2GB)")
    arguments = parser.parse_args()
    model = EsmForProteinFolding.from_pretrained(arguments.source, local_files_only=True)
    model.save_pretrained(arguments.target, safe_serialization=True, max_shard_size=arguments.part)
    print(f"wrote {sum(f.stat().st_size for f in arguments.target.iterdir()):,} bytes to {arguments.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
