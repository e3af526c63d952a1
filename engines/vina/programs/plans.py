"""How plans call the docking programs. An upgrade ends the jobs of the release before with these programs, too."""

from __future__ import annotations

import task

# What a plan of the release before does not say.
UNSAID = {"ligandCpuSeconds": 300, "rankBy": "vina"}


def main(description: str, work: task.Work) -> int:
    """Runs a program as task.main does."""
    return task.main(description, lambda request, progress: work({**UNSAID, **request}, progress))
