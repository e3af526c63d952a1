"""Docks the native ligand of a receptor's structure again and measures how far its poses are from the crystal's.

Reads request.json, in/receptor.pdbqt, in/box.json and in/native.json; prepares the native ligand from its structure alone, as
every other ligand is (protonated, embedded anew), docks it, and writes out/redock.json, out/native/crystal.sdf,
out/native/redocked.sdf and out/result.json. Where the request names a ligandIndex, that ligand of in/ligands.json and
in/docked/*/dock.json is the native one, prepared and docked already, and its poses are only measured. The distance is the root
mean square deviation of the heavy atoms in place, over the best of the molecule's symmetries, in Å.
"""

from __future__ import annotations

import sys
from typing import Any

from molscrub import AcidBaseConjugator
from rdkit import Chem, RDLogger

import cnn
from molecule import LigandError, parse_native
from plans import main
from poses import deviations, pose_molecule, sdf_record
from prepare_ligands import attempt_in_child
from rounds import notes_of
from task import IN, OUT, Failure, Progress, one_line, program_versions, read_json, write_json, write_text
from vina_process import Outcome, dock_all, read_box, require_vina

SCHEMA = "molfabric.docking.redock/v1"


def read_crystal(native: dict[str, Any]) -> Chem.Mol:
    """The crystal pose without hydrogens, stereochemistry read from its geometry."""
    try:
        return parse_native(native)
    except LigandError as error:
        raise Failure(
            "USER_INPUT", "NATIVE_LIGAND_UNREADABLE", f"dockingValidation.nativeReference: {error}.", unbegun=True
        ) from error


def docked_before(index: int | None) -> tuple[dict[str, Any], Outcome] | None:
    """The native ligand's record and outcome, where it is one of the job's ligands: the one with this index."""
    if index is None:
        return None
    docked = [entry for path in sorted(IN.glob("docked/*/dock.json")) for entry in read_json(path)["ligands"]]
    record, outcome = (one_of(entries, index) for entries in (read_json(IN / "ligands.json")["ligands"], docked))
    if record["status"] != "PREPARED":
        raise cannot(f"{record['failureStage']}: {record['error']}")
    if outcome["status"] != "COMPLETED":
        raise cannot(f"{outcome['failureStage']}: {outcome['error']}")
    return record, outcome


def one_of(entries: list[dict[str, Any]], index: int) -> dict[str, Any]:
    found = next((entry for entry in entries if entry["index"] == index), None)
    if found is None:
        raise cannot("nobody has docked it")
    return found


def prepare(native: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The native ligand's record, made from its SMILES, so that nothing of the crystal's geometry helps the docking."""
    entry = {"smiles": native["smiles"], "protonationPh": request["protonationPh"]}
    record = attempt_in_child(entry, request["seed"], AcidBaseConjugator.from_default_data_files(), request["ligandCpuSeconds"])
    if record["status"] != "PREPARED":
        raise cannot(f"{record['failureStage']}: {record['error']}", unbegun=True)
    return record


def cannot(reason: str, unbegun: bool = False) -> Failure:
    return Failure(
        "USER_INPUT",
        "REDOCKING_FAILED",
        f"The native ligand cannot be docked again ({one_line(reason)}); choose another dockingValidation.nativeReference or "
        f"leave it out.",
        unbegun=unbegun,
    )


def search(request: dict[str, Any], native: dict[str, Any], record: dict[str, Any], progress: Progress) -> Outcome:
    ligand, found = {**record, "label": native["componentId"]}, []
    say = f"docking {one_line(native['componentId'], 20)} again"
    dock_all(
        request["search"],
        read_box(),
        [ligand],
        lambda _, outcome: found.append(outcome),
        lambda _, part: progress(0.1 + 0.85 * part, say),
    )
    if found[0]["status"] != "COMPLETED":
        raise cannot(f"{found[0]['failureStage']}: {found[0]['error']}")
    return found[0]


def measure(outcome: Outcome, record: dict[str, Any], crystal: Chem.Mol) -> tuple[Chem.Mol, list[dict[str, Any]]]:
    """The docked molecule, and its poses with their distance from the crystal's."""
    try:
        molecule = pose_molecule(outcome["pdbqt"], record["dockedSmiles"])
        distances = deviations(molecule, crystal)
    except Exception as error:  # Meeko and RDKit raise many kinds; each is about this molecule
        raise cannot(f"parse_output: {error}") from error
    if len(distances) != len(outcome["poses"]):
        raise cannot("parse_output: poses are missing")
    return molecule, [{**pose, "rmsdAngstrom": distance} for pose, distance in zip(outcome["poses"], distances)]


def scored(poses: list[dict[str, Any]], outcome: Outcome, rank_by: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The poses as they are ranked, with the CNN's scores where it is installed, and what to note."""
    try:
        receptor = (IN / "receptor.pdbqt").read_text(encoding="utf-8", errors="replace")
        return cnn.in_order(poses, cnn.Scorer(receptor).scores(outcome["pdbqt"]), rank_by), []
    except (ImportError, ValueError) as error:
        if rank_by == cnn.BY_CNN:
            raise cnn.absent(str(error)) from error
        return cnn.in_order(poses, None, rank_by), [f"no CNN score: {one_line(str(error), 200)}"]


def write_structures(native: dict[str, Any], crystal: Chem.Mol, molecule: Chem.Mol, poses: list[dict[str, Any]]) -> None:
    named = Chem.Mol(crystal)
    named.SetProp("_Name", one_line(native["componentId"], 80))
    write_text(OUT / "native" / "crystal.sdf", Chem.MolToMolBlock(named) + "$$$$\n")
    ligand = {"ligandId": native["componentId"], "label": f"{native['componentId']} docked again"}
    records = [sdf_record(molecule, pose["vinaRank"] - 1, ligand, pose) for pose in poses]
    with_rmsd = [
        record.removesuffix("$$$$\n") + f">  <rmsdAngstrom>\n{pose['rmsdAngstrom']:.3f}\n\n$$$$\n"
        for record, pose in zip(records, poses)
    ]
    write_text(OUT / "native" / "redocked.sdf", "".join(with_rmsd))


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    RDLogger.DisableLog("rdApp.*")
    require_vina()
    progress(0.0, "preparing the native ligand")
    native = read_json(IN / "native.json")
    crystal = read_crystal(native)
    ready = docked_before(request.get("ligandIndex"))
    record = ready[0] if ready else prepare(native, request)
    outcome = ready[1] if ready else search(request, native, record, progress)
    molecule, found = measure(outcome, record, crystal)
    poses, notes = scored(found, outcome, request["rankBy"])
    write_structures(native, crystal, molecule, poses)
    closest = min(poses, key=lambda pose: (pose["rmsdAngstrom"], pose["rank"]))
    best, threshold = poses[0], request["thresholdAngstrom"]
    summary = {
        "schema": SCHEMA,
        "componentId": native["componentId"],
        "rmsdAngstrom": best["rmsdAngstrom"],
        "closestRmsdAngstrom": closest["rmsdAngstrom"],
        "closestRank": closest["rank"],
        "scoreKcalMol": best["scoreKcalMol"],
        "thresholdAngstrom": threshold,
        "passed": best["rmsdAngstrom"] <= threshold,
        "dockedSmiles": record["dockedSmiles"],
        "notes": record["notes"] + notes_of(outcome["convergence"]) + notes,
        "rankedBy": request["rankBy"],
        "cnnScore": best["cnnScore"],
        "cnnAffinityPk": best["cnnAffinityPk"],
        "convergence": outcome["convergence"],
        "cpuSeconds": outcome["cpuSeconds"],
    }
    programs = program_versions(["vina", "rdkit", "meeko", "molscrub", "numpy"] + [cnn.PACKAGE] * (best["cnnScore"] is not None))
    write_json(OUT / "redock.json", {**summary, "poses": poses, "programs": programs})
    return {"summary": summary, "failures": [], "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
