"""Where a job's pictures come from: provenance.json, written by the shard that ends the job."""

from __future__ import annotations

from typing import Any, Iterable

from task import OUT, write_json, written

SCHEMA = "molfabric.rendering.provenance/v1"
NAME = "provenance.json"


def write_provenance(origin: dict[str, Any], programs: dict[str, str]) -> None:
    """origin is "provenance" of the request: engine, parameters, scene, files and citations. What has been written so far are the
    outputs; the frames of a job that has several are in frames.csv with their digests."""
    outputs = [{"name": name, "sha256": digest} for name, digest in sorted(written.items()) if name != NAME]
    inputs = {name: origin[name] for name in ("scene", "files", "fileCount")}
    write_json(
        OUT / NAME,
        {
            "schema": SCHEMA,
            "engine": origin["engine"],
            "programs": programs,
            "parameters": origin["parameters"],
            "inputs": inputs,
            "outputs": outputs,
            "citations": origin["citations"],
        },
    )


def together(told: Iterable[dict[str, str]]) -> dict[str, str]:
    """The programs of several workers: where they differ, each version."""
    found: dict[str, set[str]] = {}
    for programs in told:
        for name, version in programs.items():
            found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(versions)) for name, versions in sorted(found.items())}
