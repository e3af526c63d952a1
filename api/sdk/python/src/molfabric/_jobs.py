"""A job: waiting with a bar, its files, its receipt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from tqdm.auto import tqdm

from . import _files
from ._transport import Event, Transport
from .errors import JobFailed
from .schema import Job as JobState
from .schema import Output, Receipt

ENDED_WELL = ("COMPLETED", "COMPLETED_WITH_FAILURES")


class Bar:
    """A progress bar, in a terminal or a notebook, that is drawn from a job's events."""

    def __init__(self, name: str, shown: bool) -> None:
        self.bar = tqdm(total=100, desc=name, disable=not shown, bar_format="{percentage:3.0f}% |{bar:30}| {elapsed} {desc}")

    def take(self, event: Event) -> None:
        if event.kind == "progress":
            self.bar.set_description_str(event.data["message"], refresh=False)
            self.bar.update(max(0.0, event.data["percent"] - self.bar.n))
        elif event.kind == "status" and event.data["terminal"]:
            self.bar.set_description_str(event.data["status"].lower().replace("_", " "), refresh=False)
            self.bar.update(100 - self.bar.n if event.data["status"] in ENDED_WELL else 0)
            self.bar.close()


class AsyncJob:
    """A job that was submitted."""

    def __init__(self, transport: Transport, job_id: str) -> None:
        self.transport, self.id = transport, job_id
        self.path = "/v1/jobs/" + quote(job_id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    async def status(self) -> JobState:
        """The job as it is now."""
        state: JobState = await self.transport.call("GET", self.path + "/status")
        return state

    def events(self, after: str = "") -> AsyncIterator[Event]:
        """What has happened and happens, in order and each once, until the job has ended. It survives broken connections."""
        return self.transport.events(self.id, after)

    async def wait(self, progress: bool = True) -> Self:
        """Waits until the job has ended, and returns it. JobFailed says that it has no results."""
        bar = Bar(self.id, progress)
        async for event in self.events():
            bar.take(event)
        await self.check()
        return self

    async def check(self) -> None:
        """Raises JobFailed for a job that has ended without results."""
        state = await self.status()
        if state["terminal"] and state["status"] not in ENDED_WELL:
            error: Any = state["error"] or {}
            raise JobFailed(self.id, state["status"], error.get("code"), error.get("message") or state["statusReason"] or "")

    async def cancel(self, reason: str = "") -> None:
        """Asks the job to end."""
        await self.transport.call("POST", self.path + "/cancel", {"reason": reason} if reason else {})

    async def outputs(self, pattern: str = "*") -> list[Output]:
        """The job's files whose names fit a pattern such as `*.sdf`."""
        found: list[Output] = await self.transport.pages(self.path + "/outputs", "outputs")
        return [one for one in found if fnmatch(one["name"], pattern)]

    async def download(self, folder: str | Path, pattern: str = "*", progress: bool = True) -> list[Path]:
        """Fetches results into a folder and checks them. What breaks off is gone on from, by a later call too. Where two tasks
        of a job made files of one name, the later task's is fetched."""
        every = sorted(await self.outputs(pattern), key=lambda one: one["taskIndex"])
        found = {one["name"]: one for one in every if one["role"] == "result"}
        files = [(one, Path(folder) / safe(name)) for name, one in found.items()]
        size = sum(one["byteSize"] for one in found.values())
        with tqdm(total=size, desc="download", unit="B", unit_scale=True, disable=not progress) as bar:
            await _files.download(self.transport, self.id, files, bar.update)
        return [path for _, path in files]

    async def read(self, name: str) -> bytes | None:
        """One file of the job; None when it has none of that name."""
        found = [one for one in await self.outputs() if one["name"] == name]
        return await _files.fetch(self.transport, self.id, max(found, key=lambda one: one["taskIndex"])) if found else None

    async def receipt(self) -> Receipt:
        """The signed receipt of a job that has ended."""
        receipt: Receipt = await self.transport.call("GET", self.path + "/receipt")
        return receipt


def safe(name: str) -> str:
    """A file's name, which may have folders in it, as a path that stays within the folder it is written to."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts or ".." in parts or ":" in parts[0]:
        raise ValueError(f"a file of the job has the name {name!r}, which leads elsewhere")
    return "/".join(parts)
