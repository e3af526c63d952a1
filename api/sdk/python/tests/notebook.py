"""Runs a notebook from its first cell to its last, and writes it with what it showed.

    python notebook.py NOTEBOOK RESULT
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

CELL_TIMEOUT_S = 300  # more than a docking of small molecules takes on a busy machine


def main(source: str, result: str) -> None:
    notebook = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=CELL_TIMEOUT_S, resources={"metadata": {"path": str(Path(result).parent)}}).execute()
    nbformat.write(notebook, result)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(*sys.argv[1:])
