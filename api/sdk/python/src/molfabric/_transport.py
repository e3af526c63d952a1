"""Requests with retries, and the event stream that survives a cut. It knows no job's meaning and no terminal."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from .errors import APIError, ChecksumError, Error, NetworkError, of_answer

T = TypeVar("T")

MAX_ATTEMPTS = 5  # with the waits between, about four seconds: enough for a restart
FIRST_WAIT_S, LONGEST_WAIT_S = 0.25, 5.0
MAX_RETRY_AFTER_S = 60.0  # beyond it the caller is told instead of kept
CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 120.0  # a library of 10,000 ligands is planned and stored in one transaction
STREAM_SILENCE_S = 45.0  # three of the server's heartbeats
MAX_BARREN_CONNECTIONS = 15  # in a row, of an event stream; with the waits between, about a minute
MAX_EVENT_BYTES = 1 << 20
MAX_ERROR_BYTES = 64 << 10


@dataclass(frozen=True)
class Event:
    """One thing that happened to a job: kind is status, progress or task; others are to be ignored."""

    id: str
    kind: str
    data: dict[str, Any]


def settings(server: str | None, api_key: str | None) -> tuple[str, str]:
    """The address and the key: as given, else of MOLFABRIC_SERVER and MOLFABRIC_API_KEY, else those of `molfabric login`."""
    kept: dict[str, str] = {}
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    file = Path(os.environ.get("MOLFABRIC_CONFIG") or Path(base) / "molfabric" / "config.json")
    if file.is_file():
        kept = json.loads(file.read_text())
    address = server or os.environ.get("MOLFABRIC_SERVER") or kept.get("server") or "http://127.0.0.1:8080"
    key = api_key or os.environ.get("MOLFABRIC_API_KEY") or kept.get("apiKey")
    if not key:
        raise Error("there is no API key: pass api_key, set MOLFABRIC_API_KEY, or run `molfabric login`")
    return address.rstrip("/"), key


def pause(error: Error | None, attempt: int) -> float | None:
    """Seconds to wait after a failed attempt, counted from 1; None when the server asks for more than is waited."""
    wait = min(FIRST_WAIT_S * 2 ** (attempt - 1), LONGEST_WAIT_S)
    wait = wait / 2 + random.random() * wait / 2  # so that many clients do not come back at once
    asked = error.retry_after_s if isinstance(error, APIError) else 0.0
    return None if asked > MAX_RETRY_AFTER_S else wait + asked


def retryable(error: Error, idempotent: bool) -> bool:
    """Whether a call may be made again. 429 and 503 say that nothing was done; a broken connection leaves it open."""
    if isinstance(error, APIError):
        return (error.status in (429, 503) or error.code == "IDEMPOTENCY_IN_PROGRESS"
                or idempotent and error.status in (502, 504))
    return idempotent and isinstance(error, (NetworkError, ChecksumError))


async def retrying(once: Callable[[], Awaitable[T]], idempotent: bool) -> T:
    """Does once until it succeeds, its error is permanent, or MAX_ATTEMPTS are made."""
    attempt = 1
    while True:
        try:
            return await once()
        except Error as error:
            wait = pause(error, attempt)
            if attempt == MAX_ATTEMPTS or wait is None or not retryable(error, idempotent):
                raise
        attempt += 1
        await asyncio.sleep(wait)


async def refusal(answer: httpx.Response) -> APIError:
    """Reads a failed answer."""
    body = b""
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_ERROR_BYTES:
            break
    return of_answer(answer.status_code, body, answer.headers.get("X-Request-Id", ""), answer.headers.get("Retry-After", ""))


class Transport:
    """Speaks to one deployment with one key. The store of files gets no credential, and no redirect is followed."""

    def __init__(self, server: str, api_key: str) -> None:
        self.server = server
        self.api = httpx.AsyncClient(
            base_url=server + "/api", timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            headers={"Authorization": "Bearer " + api_key, "User-Agent": "molfabric-python"})
        # Uncompressed, so that the bytes that are counted and hashed are the stored ones.
        self.store = httpx.AsyncClient(headers={"Accept-Encoding": "identity"},
                                       timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S))

    async def close(self) -> None:
        await self.api.aclose()
        await self.store.aclose()

    def lost(self, error: httpx.HTTPError) -> NetworkError:
        """Never with the request's address in it, which may be a presigned one."""
        return NetworkError(f"{self.server} does not answer: {type(error).__name__} {error}".rstrip())

    async def send(self, method: str, path: str, body: Any = None, *, query: dict[str, Any] | None = None,
                   accept: str = "application/json", idempotency_key: str | None = None, idempotent: bool = True) -> bytes:
        """Makes a call, with retries that all carry the same idempotency key, and returns the answer's body."""
        headers = {"Accept": accept} | ({"Idempotency-Key": idempotency_key} if idempotency_key else {})

        async def once() -> bytes:
            try:
                answer = await self.api.request(method, path, json=body, params=query, headers=headers)
            except httpx.HTTPError as error:
                raise self.lost(error) from error
            if not answer.is_success:
                raise await refusal(answer)
            return answer.content

        return await retrying(once, idempotent)

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Is send, for an answer in JSON."""
        return json.loads(await self.send(method, path, body, **more))

    async def pages(self, path: str, member: str, **query: Any) -> list[Any]:
        """Every page of a list as one."""
        entries: list[Any] = []
        query = {"limit": 100} | {name: value for name, value in query.items() if value is not None}
        while True:
            page = await self.call("GET", path, query=query)
            entries += page[member]
            if not page.get("nextCursor"):
                return entries
            query["cursor"] = page["nextCursor"]

    async def events(self, job_id: str, after: str = "") -> AsyncIterator[Event]:
        """A job's events after the one called after, in order and each once, until the job has ended."""
        barren = 0
        while True:
            failed: Error | None = None
            try:
                async for event in self._connection(job_id, after):
                    if event is None:
                        return
                    barren, after = 0, event.id
                    yield event
                    if event.kind == "status" and event.data.get("terminal"):
                        return
            except Error as error:
                failed = error
                if not retryable(error, True):
                    raise
            barren += 1
            wait = pause(failed, barren)
            if barren == MAX_BARREN_CONNECTIONS or wait is None:
                raise failed or NetworkError(f"{self.server} closes the event stream again and again")
            await asyncio.sleep(wait)

    async def _connection(self, job_id: str, after: str) -> AsyncIterator[Event | None]:
        """The events of one connection; None when the server says that nothing more will come."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": after} if after else {})
        timeout = httpx.Timeout(CONNECT_TIMEOUT_S, read=STREAM_SILENCE_S)
        try:
            async with self.api.stream("GET", f"/v1/jobs/{quote(job_id)}/events", headers=headers, timeout=timeout) as answer:
                if answer.status_code == 204:
                    yield None
                elif answer.status_code != 200:
                    raise await refusal(answer)
                else:
                    async for event in messages(answer.aiter_bytes()):
                        yield event
        except httpx.HTTPError as error:
            raise self.lost(error) from error


async def messages(stream: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Cuts a server-sent stream (WHATWG HTML, section 9.2.6) into events. What the end cuts off is dropped."""
    rest, last = b"", ""
    fields: dict[str, str] = {}
    async for piece in stream:
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > MAX_EVENT_BYTES:
            raise Error("an event of the stream is larger than 1 MiB")
        for line in lines:
            name, _, value = line.decode().rstrip("\r").partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                last = value
            elif name == "data" and "data" in fields:
                fields["data"] += "\n" + value
            elif name:
                fields[name] = value
            elif not line.strip():
                if "data" in fields:
                    yield Event(last, fields.get("event", "message"), json.loads(fields["data"]))
                fields = {}
