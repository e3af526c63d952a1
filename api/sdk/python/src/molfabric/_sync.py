"""The twin of _client.py for programs without asyncio, and for notebooks. Each call is driven from the one implementation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from ._client import AsyncClient
from ._docking import AsyncDocking
from ._jobs import AsyncJob, Bar
from ._transport import Event

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


@cache
def loop() -> asyncio.AbstractEventLoop:
    """An event loop on a thread of its own: a notebook's own loop is busy running the cell."""
    own = asyncio.new_event_loop()
    threading.Thread(target=own.run_forever, name="molfabric", daemon=True).start()
    return own


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Waits for work on that loop. An interruption, such as Ctrl-C, ends the work too."""
    future = asyncio.run_coroutine_threadsafe(work, loop())
    try:
        return future.result()
    finally:
        future.cancel()  # which does nothing to what has ended


def twin(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """A method that waits for the asynchronous one of the object behind."""

    @wraps(method)
    def waits(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return drive(method(self.behind, *args, **kwargs))

    return waits


def twin_of(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, Any]], kind: Callable[[Any], S],
) -> Callable[Concatenate[Any, P], S]:
    """Is twin, for a method that returns a job, which gets a twin as well."""
    waits = twin(method)

    @wraps(method)
    def wraps_it(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> S:
        return kind(waits(self, *args, **kwargs))

    return wraps_it


class Job:
    """A job that was submitted."""

    def __init__(self, behind: AsyncJob) -> None:
        self.behind, self.id = behind, behind.id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    status = twin(AsyncJob.status)
    cancel = twin(AsyncJob.cancel)
    outputs = twin(AsyncJob.outputs)
    download = twin(AsyncJob.download)
    read = twin(AsyncJob.read)
    receipt = twin(AsyncJob.receipt)

    def events(self, after: str = "") -> Iterator[Event]:
        """What has happened and happens, in order and each once, until the job has ended. It survives broken connections."""
        stream = self.behind.events(after)

        async def following() -> Event | None:
            return await anext(stream, None)

        while event := drive(following()):
            yield event

    def wait(self, progress: bool = True) -> Self:
        """Waits until the job has ended, and returns it. JobFailed says that it has no results."""
        bar = Bar(self.id, progress)  # on this thread, where a notebook wants what it draws
        for event in self.events():
            bar.take(event)
        drive(self.behind.check())
        return self


class Docking(Job):
    """A docking that was submitted. Its results may be read while it runs."""

    run = twin(AsyncDocking.run)
    results = twin(AsyncDocking.results)
    to_dataframe = twin(AsyncDocking.to_dataframe)
    poses = twin(AsyncDocking.poses)
    poses_sdf = twin(AsyncDocking.poses_sdf)
    show = twin(AsyncDocking.show)


class Client:
    __doc__ = AsyncClient.__doc__

    def __init__(self, server: str | None = None, api_key: str | None = None) -> None:
        self.behind = AsyncClient(server, api_key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    close = twin(AsyncClient.close)
    upload = twin(AsyncClient.upload)
    submit = twin_of(AsyncClient.submit, Job)
    job = twin_of(AsyncClient.job, Job)
    docking = twin_of(AsyncClient.docking, Docking)
    dock = twin_of(AsyncClient.dock, Docking)
    price = twin(AsyncClient.price)
