"""Changes AlphaFold's configuration where its weights say so: those of a model that was made smaller, as tests use it."""

from __future__ import annotations

from typing import Any


def change(settings: Any, changes: dict[str, Any]) -> None:
    """Sets members of a configuration by their dotted path. Errors: KeyError for one that is not there."""
    for path, value in sorted(changes.items()):
        *parents, last = path.split(".")
        place = settings
        for parent in parents:
            place = place[parent]
        if last not in place:
            raise KeyError(path)
        place[last] = value
