"""Has Cycles compute on the device that a job asks for."""

from __future__ import annotations

from typing import Any

import bpy

from task import executor_error

# As the job says it, and as Cycles calls it.
TYPES = {"cuda": "CUDA", "optix": "OPTIX", "hip": "HIP"}


def choose(scenes: list[Any], asked: str) -> str:
    """Sets the scenes up for the device cpu, cuda, optix or hip, and returns the name of what renders. A run sees only the devices
    that it was given, so it takes all that it sees. Raises a Failure when there is none."""
    if asked == "cpu":
        for scene in scenes:
            scene.cycles.device, scene.cycles.denoising_use_gpu = "CPU", False
        return "CPU"
    kind = TYPES[asked]
    preferences = bpy.context.preferences.addons["cycles"].preferences
    try:
        preferences.compute_device_type = kind
    except TypeError:  # this build knows no such type
        raise missing(asked) from None
    preferences.refresh_devices()
    found = [device for device in preferences.devices if device.type == kind]
    if not found:
        raise missing(asked)
    for device in preferences.devices:
        device.use = device.type == kind
    for scene in scenes:
        scene.cycles.device, scene.cycles.denoising_use_gpu = "GPU", kind in ("CUDA", "OPTIX")
    return ", ".join(device.name for device in found)


def missing(asked: str) -> Exception:
    return executor_error(
        "DEVICE_MISSING",
        f"Cycles finds no {TYPES[asked]} device on this worker. Ask for parameters.Device cpu, or have a worker with such a GPU "
        f"and its driver started.",
    )
