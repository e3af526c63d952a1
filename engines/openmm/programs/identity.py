"""What a run is, as digests: of its system, its integrator, its platform and the installation that ran it.

A binary checkpoint belongs to all of them: loaded elsewhere it fails without a word. A state belongs to its system alone.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path
from typing import Any

import openmm

from task import digest, sha256, user_error

PACKAGES = ("openmm", "pdbfixer", "numpy")
# The programs whose text decides what a system is and how it moves.
SOURCES = (
    "amber.py",
    "amber_pointers.py",
    "dynamics.py",
    "identity.py",
    "platforms.py",
    "prepare.py",
    "protein.py",
    "state_xml.py",
    "systems.py",
)
CHECKPOINT_FIELDS = (
    "systemSha256",
    "topologySha256",
    "openmmVersion",
    "platformName",
    "platformSha256",
    "integratorSha256",
    "workerImageDigest",
)
STATE_FIELDS = ("systemSha256", "topologySha256")


def toolchain() -> str:
    folder = Path(__file__).resolve().parent
    sources = {name: sha256((folder / name).read_bytes()) for name in SOURCES}
    return digest({name: metadata.version(name) for name in PACKAGES} | sources)


def worker_image_digest() -> str:
    """Digest of what ran the program: of the container image where there is one, else its packages and programs stand for it."""
    return os.environ.get("MOLFABRIC_WORKER_IMAGE") or "sha256:" + toolchain()


def platform_sha256(name: str, properties: dict[str, str]) -> str:
    """Of name, version and the properties that a checkpoint depends on: precision and kind of the card, but not which of them; on
    the CPU the number of threads, each of which has a random state."""
    kept = {key: value for key, value in properties.items() if key in ("Precision", "DeviceName", "Threads")}
    return digest({"name": name, "openmmVersion": openmm.Platform.getOpenMMVersion(), "properties": kept})


def identity_of(
    request_sha256: str, preparation: dict[str, Any], integrator: openmm.Integrator, platform: str, properties: dict[str, str]
) -> dict[str, str]:
    """What provenance.json states, in the words of a request's restartProvenance."""
    return {
        "requestSha256": request_sha256,
        "systemSha256": preparation["systemSha256"],
        "topologySha256": preparation["topologySha256"],
        "integratorSha256": sha256(openmm.XmlSerializer.serialize(integrator).encode()),
        "platformSha256": platform_sha256(platform, properties),
        "openmmVersion": openmm.Platform.getOpenMMVersion(),
        "platformName": platform,
        "workerImageDigest": worker_image_digest(),
    }


def check_restart(stated: dict[str, str], found: dict[str, str], fields: tuple[str, ...]) -> None:
    """Refuses to go on from a run that was another one. requestSha256 is not compared: a request that goes on from a run is
    never the request of that run."""
    differs = [field for field in fields if stated[field] != found[field]]
    if not differs:
        return
    first = differs[0]
    more = f" ({', '.join(differs[1:])} differ too)" if differs[1:] else ""
    raise user_error(
        "RESTART_MISMATCH",
        f"restartProvenance.{first} is {stated[first]}, but this run's is {found[first]}{more}. Go on with the same input, "
        f"protocol, seed and platform, "
        "or give the earlier run's final-state.xml (format openmm-state-xml), which only needs the same system and topology.",
        [{"item": field, "step": "restart", "message": f"stated {stated[field]}, found {found[field]}"} for field in differs],
    )
