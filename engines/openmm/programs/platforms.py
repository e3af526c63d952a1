"""Opens the OpenMM platform that a run asks for, and says what it turned out to be."""

from __future__ import annotations

from typing import Any, NamedTuple

import openmm

from task import Failure, one_line, user_error


class Chosen(NamedTuple):
    """A platform and the properties that its contexts are opened with."""

    platform: openmm.Platform
    properties: dict[str, str]


def choose(asked: dict[str, Any]) -> Chosen:
    """asked: name, precision, devices (how many) and cpuThreads. Devices count from 0: a run sees only those that it was given."""
    names = [openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())]
    if asked["name"] not in names:
        failures = "; ".join(one_line(text, 200) for text in openmm.Platform.getPluginLoadFailures()[:3])
        raise Failure(
            "EXECUTOR",
            "PLATFORM_MISSING",
            f"OpenMM on this worker has no platform {asked['name']}, only {', '.join(n for n in names if n != 'Reference')}. Ask "
            f"for one of these, or have a "
            f"worker with a GPU and OpenMM's {asked['name']} plugin started." + (f" OpenMM says: {failures}." if failures else ""),
        )
    platform = openmm.Platform.getPlatform(asked["name"])
    if asked["name"] == "CPU":
        # One thread gives the same bits again, but only when it is told to; more never do.
        return Chosen(platform, {"Threads": str(asked["cpuThreads"]), "DeterministicForces": str(asked["cpuThreads"] == 1).lower()})
    return Chosen(platform, {"Precision": asked["precision"], "DeviceIndex": ",".join(map(str, range(asked["devices"])))})


def open_context(system: openmm.System, integrator: openmm.Integrator, chosen: Chosen) -> openmm.Context:
    try:
        return openmm.Context(system, integrator, chosen.platform, chosen.properties)
    except openmm.OpenMMException as error:
        if chosen.platform.getName() == "CPU":
            raise explained(error) from None
        raise Failure(
            "EXECUTOR",
            "PLATFORM_UNUSABLE",
            f"OpenMM's platform {chosen.platform.getName()} cannot be used on this worker: {one_line(str(error), 300)}. Check its "
            f"GPU and driver, or ask for the CPU.",
        ) from None


def properties_of(context: openmm.Context) -> dict[str, str]:
    platform = context.getPlatform()
    return {name: platform.getPropertyValue(context, name) for name in platform.getPropertyNames()}


def explained(error: Exception) -> Failure:
    """What OpenMM's words mean to the owner of a run."""
    text = one_line(str(error), 300)
    lower = text.lower()
    if "nan" in text.lower().split() or "NaN" in text or "infinite" in lower:
        return unstable(text)
    if "less than twice the nonbonded cutoff" in lower or "half the periodic box size" in lower:
        return user_error(
            "BOX_TOO_SMALL", "The box shrank to less than twice the cutoff. Start from a larger box, or one of the right density."
        )
    if "out of memory" in lower or "out_of_memory" in lower:
        return Failure(
            "EXECUTOR", "OUT_OF_MEMORY", "The platform's device ran out of memory; give a smaller system, or single precision."
        )
    return Failure("EXECUTOR", "OPENMM_ERROR", f"OpenMM stopped: {text}.")


def unstable(what: str) -> Failure:
    return user_error(
        "SIMULATION_UNSTABLE",
        f"The simulation became unstable ({what.rstrip('.')}). Enable minimisation without a bound on its iterations, shorten "
        f"timestepFs, equilibrate longer, "
        "or look for overlapping atoms in the input.",
    )
