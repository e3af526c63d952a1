"""The client: what can be asked of a deployment. It is written once, for asyncio; _sync.py has its twin."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, Unpack

from . import _files
from ._docking import (
    PDB_ID, AsyncDocking, Box, DockingOptions, Ligand, box_params, library, plain, read_ligands, search_params,
)
from ._jobs import AsyncJob
from ._transport import Transport, settings
from .schema import ArtifactReference, EstimateResponse, SimulationParams, SubmitRequest, SubmitResponse

RECORD_TRANSFERS = 8  # uploads of ligands at once: enough to hide the way there and back


class AsyncClient:
    """Speaks to a deployment. Address and key are as given, else those of MOLFABRIC_SERVER and MOLFABRIC_API_KEY, else those
    that `molfabric login` has kept."""

    def __init__(self, server: str | None = None, api_key: str | None = None) -> None:
        self.transport = Transport(*settings(server, api_key))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Lets go of the connections."""
        await self.transport.close()

    async def upload(self, path: str | Path) -> ArtifactReference:
        """Stores a file and returns what requests refer to it by. A file of 64 MiB or more goes up in parts; when that breaks
        off, a later call for the same file goes on from there, in another program too."""
        return await _files.upload(self.transport, Path(path), Path(path).name)

    async def submit(self, request: SubmitRequest, idempotency_key: str | None = None) -> AsyncJob:
        """Submits a job of any kind, as POST /v1/jobs/submit takes it. All tries carry one key, so that there is one job."""
        return AsyncJob(self.transport, await self._submit(request, idempotency_key))

    async def job(self, job_id: str) -> AsyncJob:
        """A job that was submitted before."""
        return AsyncJob(self.transport, job_id)

    async def docking(self, job_id: str) -> AsyncDocking:
        """A docking that was submitted before."""
        return AsyncDocking(self.transport, job_id)

    async def dock(
        self, receptor: str | Path, ligands: Any, box: str | Box | Sequence[float] | None = None, *,
        idempotency_key: str | None = None, **options: Unpack[DockingOptions],
    ) -> AsyncDocking:
        """Docks ligands into a receptor.

        receptor is an entry of the Protein Data Bank, or a file: PDB, mmCIF or PDBQT, perhaps as .gz.
        ligands are SMILES or RDKit molecules: one, several, a mapping from names, a pandas Series; or an SDF file.
        box is a ligand of the structure (STI, STI:A:201), "bound", "pocket", a Box, or its numbers in Å. None: the bound ligand.
        The options are those of DockingOptions.
        """
        request = await self._docking(receptor, ligands, box, options)
        return AsyncDocking(self.transport, await self._submit(request, idempotency_key))

    async def price(
        self, receptor: str | Path, ligands: Any, box: str | Box | Sequence[float] | None = None,
        **options: Unpack[DockingOptions],
    ) -> EstimateResponse:
        """What a docking would cost, which takes what dock takes. Its files are uploaded, and nothing is run."""
        request = await self._docking(receptor, ligands, box, options)
        request.pop("jobName", None)
        answer: EstimateResponse = await self.transport.call("POST", "/v1/jobs/estimate", request)
        return answer

    async def _docking(
        self, receptor: str | Path, ligands: Any, box: str | Box | Sequence[float] | None, options: DockingOptions,
    ) -> SubmitRequest:
        found = read_ligands(ligands)
        asked = box_params(box) | search_params(options, len(found))
        asked["ligandLibrary"] = library(found, list(await self._sources(found)))
        scene, receptor_name = await self._receptor(receptor, asked)
        request: SubmitRequest = {
            "jobType": "simulation", "simulator": "autodock-vina", "sceneFile": scene,
            "jobName": options.get("name") or f"{len(found)} ligand{'s' * (len(found) > 1)} into {receptor_name}",
            "simulationParams": asked | options.get("params", {}),
        }
        if not options.get("reuse", True):
            request["noReuse"] = True
        return request

    async def _submit(self, request: SubmitRequest, idempotency_key: str | None) -> str:
        answer: SubmitResponse = await self.transport.call(
            "POST", "/v1/jobs/submit", request, idempotency_key=idempotency_key or str(uuid.uuid4()))
        return answer["jobId"]

    async def _receptor(self, receptor: str | Path, asked: SimulationParams) -> tuple[str, str]:
        """The storage key of the scene, and the receptor's name. Every job needs a scene; an entry's is the request itself."""
        if isinstance(receptor, str) and PDB_ID.fullmatch(receptor) and not Path(receptor).exists():
            asked["receptorPdbId"] = receptor.upper()
            text = json.dumps(asked).encode()
            return (await _files.upload(self.transport, text, "request.json"))["storageKey"], receptor.upper()
        path = Path(receptor)
        name = path.name.removesuffix(".gz")
        return (await _files.upload(self.transport, plain(path), name))["storageKey"], Path(name).stem

    async def _sources(self, ligands: list[Ligand]) -> list[dict[str, Any]]:
        limit = asyncio.Semaphore(RECORD_TRANSFERS)

        async def one(place: int, ligand: Ligand) -> dict[str, Any]:
            if not ligand.record:
                return {"kind": "smiles", "smiles": ligand.smiles}
            async with limit:
                return {"kind": "artifact", "artifact": await _files.upload(self.transport, ligand.record, f"{place}.sdf")}

        return await asyncio.gather(*(one(place, ligand) for place, ligand in enumerate(ligands)))
