"""Work on one item in a child process: a crash, or more processor time than its bound, costs that item alone.

The bound is processor time and not time on the clock: a machine that is busy with other work changes no result.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

NO_CORE = 1  # a size of core dumps that the kernel knows to mean none, also where it pipes them to a program

Tell = Callable[[dict[str, Any]], None]


class Answer(NamedTuple):
    """What a child told, document by document, and what ended it early: "" when it came to its end."""

    documents: list[dict[str, Any]]
    ended: str
    expired: bool  # it used up its processor time


def in_child(work: Callable[[Tell], None], cpu_seconds: int, most_bytes: int, what: str) -> Answer:
    """Forks a child that does work, which tells documents as it goes. what names the work in the reason of an early end."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        run_child(work, writer, cpu_seconds)
    os.close(writer)
    text = read_all(reader, most_bytes)
    if len(text) > most_bytes:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    documents = [json.loads(line) for line in text[:most_bytes].splitlines(keepends=True) if line.endswith(b"\n")]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return Answer(documents, f"{what} took more than {cpu_seconds} seconds of processor time", True)
    return Answer(documents, f"{what} crashed on this ligand" if status else "", False)


def run_child(work: Callable[[Tell], None], writer: int, cpu_seconds: int) -> None:
    status = 1
    try:
        limit_cpu(cpu_seconds)
        with os.fdopen(writer, "wb") as pipe:

            def tell(document: dict[str, Any]) -> None:
                pipe.write(json.dumps(document).encode() + b"\n")
                pipe.flush()

            work(tell)
        status = 0
    finally:
        os._exit(status)  # a child must never return into the parent's code


def limit_cpu(seconds: int) -> None:
    """Has the system end this process by SIGXCPU after so much processor time, without a core dump."""
    largest = resource.getrlimit(resource.RLIMIT_CORE)[1]
    size = NO_CORE if largest == resource.RLIM_INFINITY else min(NO_CORE, largest)
    resource.setrlimit(resource.RLIMIT_CORE, (size, largest))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds if hard == resource.RLIM_INFINITY else min(seconds, hard), hard))


def read_all(reader: int, most_bytes: int) -> bytes:
    """What comes through the pipe until its end, and no more than a block beyond most_bytes."""
    blocks, size = [], 0
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while size <= most_bytes and (block := pipe.read(1 << 16)):
            blocks.append(block)
            size += len(block)
    return b"".join(blocks)
