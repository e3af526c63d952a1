"""Docking: what a chemist says as a request, and what comes out as tables, molecules and pictures."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import quote

from ._jobs import AsyncJob
from ._view import View
from .errors import Error
from .schema import DockingResult, DockingRun, LigandEntry, SimulationParams

if TYPE_CHECKING:
    import pandas
    from rdkit.Chem import Mol

PDB_ID = re.compile(r"([0-9][A-Za-z0-9]{3}|pdb_[0-9]{4}[A-Za-z0-9]{4})")
COMPONENT = re.compile(r"([A-Za-z0-9]{1,8})(?::([^:]+):(-?[0-9]+))?")
BOX_WORDS = {"bound": "boundLigand", "pocket": "fpocket"}
SDF = "chemical/x-mdl-sdfile"
MAX_LIGANDS = 10_000  # of a job
MAX_LABEL_CHARS = 512


@dataclass(frozen=True)
class Box:
    """A box in the receptor's coordinates, in Å; size is an edge, or three of them."""

    center: tuple[float, float, float]
    size: float | tuple[float, float, float]


class DockingOptions(TypedDict, total=False):
    """What dock and price take beside receptor, ligands and box."""

    chains: Sequence[str]  # of the structure; all of them when left out
    exhaustiveness: int | str  # searches of each ligand, or "auto", the default: until two of them agree
    num_modes: int  # poses kept
    seed: int
    rank_by: str  # "vina" or "cnn", which one ligand gets
    picture: str  # of the report: "molstar", "cycles" or "none"
    name: str  # of the job
    reuse: bool  # False runs also what was run before
    params: SimulationParams  # further members, as the API's reference lists them


# --- what is asked for, as pure functions ---


@dataclass(frozen=True)
class Ligand:
    """A ligand by its SMILES, or as a record of an SDF file that is uploaded."""

    label: str
    smiles: str = ""
    record: bytes = b""


def read_ligands(ligands: Any) -> list[Ligand]:
    """The ligands that dock was given. Names are those of a mapping, of a Series' index that is not mere numbers, of a molecule's
    or a record's title; else ligand-1, ligand-2 and so on. ValueError names the place of what is no molecule."""
    found: list[tuple[Any, Any]]
    if isinstance(ligands, Path) or isinstance(ligands, str) and re.search(r"\.sdf(\.gz)?$", ligands, re.IGNORECASE):
        found = [(title(record), record) for record in records(plain(Path(ligands)))]
    elif isinstance(ligands, str) or hasattr(ligands, "GetAtoms"):
        found = [(None, ligands)]
    elif isinstance(ligands, Mapping):
        found = list(ligands.items())
    elif hasattr(ligands, "items"):
        found = [(name if isinstance(name, str) else None, value) for name, value in ligands.items()]
    else:
        found = [(None, value) for value in ligands]
    if not 0 < len(found) <= MAX_LIGANDS:
        raise ValueError(f"a docking takes 1 to {MAX_LIGANDS} ligands, not {len(found)}")
    return [ligand(name, value, place) for place, (name, value) in enumerate(found, 1)]


def ligand(name: Any, value: Any, place: int) -> Ligand:
    if hasattr(value, "GetAtoms"):
        from rdkit import Chem

        name = name or (value.GetProp("_Name") if value.HasProp("_Name") else None)
        value = Chem.MolToSmiles(Chem.RemoveHs(value))
    label = str(name or f"ligand-{place}")[:MAX_LABEL_CHARS]
    if isinstance(value, bytes):
        return Ligand(label, record=value)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"ligand {place} ({label}) is {value!r}: give a SMILES or an RDKit molecule")
    return Ligand(label, value.strip())


def plain(path: Path) -> bytes:
    """A file's content, unpacked."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def records(text: bytes) -> list[bytes]:
    """The records of an SDF file."""
    parts = re.split(rb"^\$\$\$\$[^\n]*\n?", text.replace(b"\r\n", b"\n"), flags=re.MULTILINE)
    return [part + b"$$$$\n" for part in parts if part.strip()]


def title(record: bytes) -> str:
    return record.partition(b"\n")[0].decode(errors="replace").strip()


def ligand_ids(labels: Sequence[str]) -> list[str]:
    """An id for each label: the label with what an id may not hold as dashes, and its place where that is taken already."""
    ids: dict[str, None] = {}
    for place, label in enumerate(labels, 1):
        name = re.sub(r"[^A-Za-z0-9._:-]+", "-", label).lstrip("._:-")[:100] or f"ligand-{place}"
        ids[name if name not in ids else f"{name}-{place}"] = None
    return list(ids)


def box_params(box: str | Box | Sequence[float] | None) -> SimulationParams:
    """What a request says of the box. ValueError: it is none."""
    if isinstance(box, str):
        if box in BOX_WORDS:
            return {"boxSource": BOX_WORDS[box]}  # type: ignore[typeddict-item]
        if not (named := COMPONENT.fullmatch(box)):
            raise ValueError(f"box {box!r}: give a ligand of the structure such as STI or STI:A:201, bound, pocket, or a Box")
        params: SimulationParams = {"pocketLigand": named[1]}
        if named[2]:
            params |= {"pocketLigandChain": named[2], "pocketLigandResidue": int(named[3])}
        return params
    if isinstance(box, Box):
        size = box.size if isinstance(box.size, (int, float)) else list(box.size)
        return {"boxCenterAngstrom": list(box.center), "boxSizeAngstrom": size}
    if box is None:
        return {}
    if len(box) not in (4, 6):
        raise ValueError(f"box {box!r}: give x, y, z and an edge, or x, y, z and three edges, in Å")
    x, y, z, *edges = map(float, box)
    return box_params(Box((x, y, z), edges[0] if len(edges) == 1 else (edges[0], edges[1], edges[2])))


def search_params(options: DockingOptions, ligands: int) -> SimulationParams:
    """What a request for so many ligands says of the search."""
    picture = options.get("picture")
    given: dict[str, Any] = {
        "receptorChains": list(options.get("chains", ())) or None, "exhaustiveness": options.get("exhaustiveness", "auto"),
        "numModes": options.get("num_modes"), "seed": options.get("seed"),
        "rankBy": options.get("rank_by") or ("cnn" if ligands == 1 else None), "dockingReport": picture and {"picture": picture},
    }
    return {member: value for member, value in given.items() if value is not None}  # type: ignore[return-value]


# --- what comes out ---

COLUMNS = {
    "rank": "rank", "ligand": "label", "score_kcal_mol": "bestScoreKcalMol", "ligand_efficiency": "ligandEfficiency",
    "cnn_score": "cnnScore", "cnn_affinity_pk": "cnnAffinityPk", "passed_checks": "passedChecks", "poses": "poseCount",
    "interactions": "interactions", "smiles": "inputSmiles", "docked_smiles": "dockedSmiles", "status": "status", "error": "error",
    "position": "ligandIndex", "result_id": "resultId",
}


class AsyncDocking(AsyncJob):
    """A docking that was submitted. Its results may be read while it runs."""

    async def run(self) -> DockingRun:
        """The docking as a whole: receptor, box, validation, cost."""
        path = f"/v1/molecular/docking/runs?jobId={quote(self.id)}&limit=1"
        runs: list[DockingRun] = (await self.transport.call("GET", path))["runs"]
        if not runs:
            raise Error(f"{self.id} is no docking")
        return runs[0]

    async def results(self) -> list[DockingResult]:
        """A result for each ligand: ranked ones first, best first."""
        run = await self.run()
        path = f"/v1/molecular/docking/runs/{quote(run['runId'])}/results"
        found: list[DockingResult] = await self.transport.pages(path, "results")
        return sorted(found, key=lambda one: (one["rank"] is None, one["rank"] or 0, one["ligandIndex"]))

    async def to_dataframe(self) -> pandas.DataFrame:
        """A row for each ligand, best first; what failed comes last, and says why. position is the ligand's place, from 0."""
        import pandas

        found = await self.results()
        table = pandas.DataFrame({column: [one.get(member) for one in found] for column, member in COLUMNS.items()})
        return table.astype({"rank": "Int64"})

    async def poses(self, ligand: str | None = None) -> list[Mol]:
        """Poses as RDKit molecules with hydrogens, best first, with their figures as properties: all of a ligand's, by its
        label, id or index; or else the best of each ligand."""
        return molecules(await self.poses_sdf(ligand))

    async def poses_sdf(self, ligand: str | None = None) -> bytes:
        """Is poses, as the text of an SDF file."""
        if ligand is None:
            return await self.read("best.sdf") or b""
        for one in await self.results():
            if ligand in (one["label"], one["ligandId"], one["resultId"]):
                return await self.transport.send("GET", f"/v1/molecular/docking/results/{quote(one['resultId'])}/poses", accept=SDF)
        raise KeyError(f"{self.id} has no ligand called {ligand!r}")

    async def show(self, ligand: str | None = None, height_px: int = 480) -> View:
        """The receptor and a ligand's best pose, drawn by Mol* in a notebook; of the best ligand when none is named."""
        best = records(await self.poses_sdf(ligand))[:1]
        if not best:
            raise Error(f"{self.id} has no poses to show")
        return View((await self.read("receptor.pdb") or b"").decode(), best[0].decode(), height_px)


def molecules(sdf: bytes) -> list[Mol]:
    from rdkit import Chem

    supplier = Chem.SDMolSupplier()
    supplier.SetData(sdf.decode(), removeHs=False)
    return [molecule for molecule in supplier if molecule is not None]


def library(ligands: list[Ligand], sources: list[dict[str, Any]]) -> list[LigandEntry]:
    """The entries of a request."""
    ids = ligand_ids([one.label for one in ligands])
    return [{"ligandId": name, "label": one.label, "source": source}  # type: ignore[typeddict-item]
            for name, one, source in zip(ids, ligands, sources, strict=True)]
