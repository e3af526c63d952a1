"""Uploads and downloads that go on where they broke off, with the checksum of every file."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO
from urllib.parse import quote

import httpx

from ._transport import Transport, refusal, retrying
from .errors import APIError, ChecksumError, Error, NotFound
from .schema import ArtifactReference, MultipartInitResponse, MultipartStatus, Output, UploadPartDone

PARTS_FROM_BYTES = 64 << 20  # below it the whole file is sent again within seconds on most lines
PART_BYTES: int | None = None  # the server's choice, which grows with the file
PART_TRANSFERS = 4  # at once: enough to fill a line, few enough that each moves on
DOWNLOADS = 8  # at once: enough to hide the way there and back
BLOCK_BYTES = 1 << 20

Told = Callable[[int], None]  # learns how many bytes more have come or gone, or were there already

# By extension: the media type, and the format as requests call it.
FORMATS = {
    "pdb": ("chemical/x-pdb", "pdb"), "ent": ("chemical/x-pdb", "pdb"), "pdbqt": ("chemical/x-pdbqt", "pdbqt"),
    "cif": ("chemical/x-mmcif", "mmcif"), "mmcif": ("chemical/x-mmcif", "mmcif"), "sdf": ("chemical/x-mdl-sdfile", "sdf"),
    "mol": ("chemical/x-mdl-sdfile", "sdf"), "mol2": ("chemical/x-mol2", "mol2"), "json": ("application/json", "json"),
}


def format_of(name: str) -> tuple[str, str]:
    """Media type and format of a file by its name."""
    return FORMATS.get(name.rpartition(".")[2].lower(), ("application/octet-stream", ""))


def digest(file: BinaryIO) -> str:
    """SHA-256 of the rest of a file, in hexadecimal."""
    found = hashlib.sha256()
    while block := file.read(BLOCK_BYTES):
        found.update(block)
    return found.hexdigest()


# --- uploads ---


async def upload(transport: Transport, content: Path | bytes, name: str, told: Told | None = None) -> ArtifactReference:
    """Stores a file and returns what requests refer to it by. A large one goes up in parts; when it breaks off, and the program
    too, a later call for the same file goes on from there."""
    body = content if isinstance(content, bytes) else None
    if isinstance(content, Path):
        with content.open("rb") as file:
            sha256, size = await asyncio.to_thread(digest, file), content.stat().st_size
        if size < PARTS_FROM_BYTES:
            body = content.read_bytes()
    else:
        sha256, size = hashlib.sha256(content).hexdigest(), len(content)
    if not size:
        raise Error(f"{name} is empty")
    media, kind = format_of(name)
    asked = {"filename": name, "contentType": media, "size": size, "sha256": sha256}
    if body is None:
        key = await _Parts(transport, Path(str(content)), asked, told).send()
    else:
        ticket = await transport.call("POST", "/v1/jobs/upload-url", asked)
        key = ticket["s3Key"]
        await retrying(lambda: _put(transport, ticket["uploadUrl"], ticket["headers"], body), True)
        if told:
            told(size)
    return {"schema": "service.docking.artifact/v1", "artifactId": "file-" + sha256[:16], "storageKey": key, "sha256": sha256,
            "byteSize": size, "mediaType": media, "format": kind}  # type: ignore[typeddict-item]


async def _put(transport: Transport, url: str, headers: dict[str, str], body: bytes) -> None:
    try:
        answer = await transport.store.put(url, content=body, headers=headers)
    except httpx.HTTPError as error:
        raise transport.lost(error) from error
    if not answer.is_success:
        raise await refusal(answer)


class _Parts:
    """The upload of one file in parts. Its id is remembered by file, server and user, so that a later call can go on."""

    def __init__(self, transport: Transport, path: Path, asked: dict[str, Any], told: Told | None) -> None:
        self.transport, self.path, self.asked, self.told = transport, path, asked, told
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "molfabric" / "uploads"
        whose = transport.server + transport.api.headers["Authorization"] + str(asked["sha256"])
        self.note = cache / hashlib.sha256(whose.encode()).hexdigest()
        self.there: dict[int, tuple[str, int]] = {}  # by number: the store's name and the size
        self.checked = True  # the store holds every part against its checksum, where it can

    async def send(self) -> str:
        """Sends what is missing and returns the file's storage key."""
        upload = await self._resume() or await self._begin()
        place = "/v1/uploads/" + quote(upload["uploadId"])
        limit = asyncio.Semaphore(PART_TRANSFERS)

        async def one(number: int) -> UploadPartDone:
            async with limit:
                return await self._part(place, number, upload["partSize"])

        async with _together() as tasks:
            sending = [tasks.create_task(one(number)) for number in range(1, upload["partCount"] + 1)]
        parts = [task.result() for task in sending]
        await self.transport.call("POST", place + "/complete", {"parts": parts, "sha256": self.asked["sha256"]})
        self.note.unlink(missing_ok=True)
        return upload["key"]

    async def _begin(self) -> MultipartInitResponse:
        begun: MultipartInitResponse = await self.transport.call(
            "POST", "/v1/uploads", self.asked | {"checksumAlgorithm": "sha256"} | ({"partSize": PART_BYTES} if PART_BYTES else {}))
        self.checked = begun["checksumAlgorithm"] is not None
        self.note.parent.mkdir(parents=True, exist_ok=True)
        self.note.write_text(json.dumps({"uploadId": begun["uploadId"], "checked": self.checked}))
        return begun

    async def _resume(self) -> MultipartStatus | None:
        """What has arrived of an upload that broke off; None when there was none, or it was given up."""
        if not self.note.exists():
            return None
        noted = json.loads(self.note.read_text())
        self.checked = noted["checked"]
        try:
            status: MultipartStatus = await self.transport.call("GET", "/v1/uploads/" + quote(noted["uploadId"]))
        except APIError as error:
            if error.status not in (404, 410):
                raise
            return None
        self.there = {part["partNumber"]: (part["etag"].strip('"'), part.get("size", 0)) for part in status["received"]}
        return status

    async def _part(self, place: str, number: int, part_size: int) -> UploadPartDone:
        with self.path.open("rb") as file:
            file.seek((number - 1) * part_size)
            body = file.read(part_size)
        done: UploadPartDone = {"partNumber": number}
        if self.checked:
            done["checksumSha256"] = base64.b64encode(hashlib.sha256(body).digest()).decode()
        # The store's own name for a part's bytes, where it does not encrypt them; elsewhere the part is sent again.
        if self.there.get(number) != (hashlib.md5(body, usedforsecurity=False).hexdigest(), len(body)):
            await retrying(lambda: self._try(place, done, body), True)
        if self.told:
            self.told(len(body))
        return done

    async def _try(self, place: str, done: UploadPartDone, body: bytes) -> None:
        # Each try asks for an address of its own, so that none is too old, however long a transfer takes.
        signed = (await self.transport.call("POST", place + "/parts", {"parts": [done]}))["parts"][0]
        await _put(self.transport, signed["url"], signed["headers"], body)


# --- downloads ---


async def download(transport: Transport, job_id: str, files: list[tuple[Output, Path]], told: Told | None = None) -> None:
    """Writes files of a job, several at once. One that is there already and right is left alone."""
    limit = asyncio.Semaphore(DOWNLOADS)

    async def one(output: Output, path: Path) -> None:
        async with limit:
            await _Download(transport, job_id, output, path).save()
        if told:
            told(output["byteSize"])

    async with _together() as tasks:
        for output, path in files:
            tasks.create_task(one(output, path))


class _Download:
    """The download of one file. What has come of it lies beside it as .part, and is gone on from, by a later call too."""

    def __init__(self, transport: Transport, job_id: str, output: Output, path: Path) -> None:
        self.transport, self.job_id, self.output, self.path = transport, job_id, output, path
        self.part = path.with_name(path.name + ".part")

    async def save(self) -> None:
        if self._right(self.path):
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        await retrying(self._try, True)
        self.part.replace(self.path)

    def _right(self, path: Path) -> bool:
        if not path.is_file() or path.stat().st_size != self.output["byteSize"]:
            return False
        with path.open("rb") as file:
            return digest(file) == self.output["sha256"]

    async def _try(self) -> None:
        try:
            await self._receive()
        except APIError as error:
            if error.status != 403:  # the address has become too old, which a large download outlives
                raise
            self.output = await self._again()
            await self._receive()
        if not self._right(self.part):
            self.part.unlink()
            raise ChecksumError(f"{self.output['name']}: the file that came is not the one that the server has recorded")

    async def _receive(self) -> None:
        size, have = self.output["byteSize"], self.part.stat().st_size if self.part.exists() else 0
        if have > size:
            have = 0
        elif have == size:
            return self.part.touch()
        headers = {"Range": f"bytes={have}-"} if have else {}
        try:
            async with self.transport.store.stream("GET", self.output["url"], headers=headers) as answer:
                if not answer.is_success:
                    raise await refusal(answer)
                goes_on = answer.status_code == 206 and have > 0
                with self.part.open("ab" if goes_on else "wb") as file:
                    async for block in answer.aiter_raw(BLOCK_BYTES):
                        file.write(block)
                        if file.tell() > size:
                            break  # longer than announced, which its checksum will tell
        except httpx.HTTPError as error:
            raise self.transport.lost(error) from error

    async def _again(self) -> Output:
        found: list[Output] = await self.transport.pages(
            f"/v1/jobs/{quote(self.job_id)}/outputs", "outputs", role=self.output["role"], taskIndex=self.output["taskIndex"])
        for one in found:
            if one["artifactId"] == self.output["artifactId"]:
                return one
        raise NotFound(404, "NOT_FOUND", f"{self.output['name']}: the job has no such file any more")


class _together:
    """A TaskGroup whose first failure comes out as itself rather than in an ExceptionGroup."""

    def __init__(self) -> None:
        self.group = asyncio.TaskGroup()

    async def __aenter__(self) -> asyncio.TaskGroup:
        return await self.group.__aenter__()

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            await self.group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None


async def fetch(transport: Transport, job_id: str, output: Output) -> bytes:
    """One file of a job in memory, checked like any download."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        await download(transport, job_id, [(output, path)])
        return path.read_bytes()
