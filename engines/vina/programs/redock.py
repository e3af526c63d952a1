"""Docks the native ligand of a receptor's structure again and measures how far its poses are from the crystal's.

Reads request.json, in/receptor.pdbqt, in/box.json and in/native.json; prepares the native ligand from its structure alone, as
every other ligand is (protonated, embedded anew), docks it, and writes out/redock.json, out/native/crystal.sdf,
out/native/redocked.sdf and out/result.json. The distance is the root mean square deviation of the heavy atoms in place, over
the best of the molecule's symmetries, in Å.
"""

from __future__ import annotations

import sys
from typing import Any

from molscrub import AcidBaseConjugator
from rdkit import Chem, RDLogger

from common import IN, OUT, Failure, Progress, main, one_line, program_versions, read_json, require_vina, user_error, write_json, write_text
from poses import deviations, pose_molecule, sdf_record
from prepare_ligands import attempt_in_child
from vina_process import Outcome, dock_all, read_box

SCHEMA = "molfabric.docking.redock/v1"


def read_crystal(native: dict[str, Any]) -> Chem.Mol:
    """The crystal pose without hydrogens, stereochemistry read from its geometry."""
    molecule = Chem.MolFromMolBlock(native["molblock"])
    if molecule is None or molecule.GetNumConformers() != 1 or not molecule.GetNumHeavyAtoms():
        name = one_line(native["componentId"], 20)
        raise user_error("NATIVE_LIGAND_UNREADABLE", f"dockingValidation.nativeReference: the structure of {name} cannot be read.")
    Chem.AssignStereochemistryFrom3D(molecule)
    return Chem.RemoveHs(molecule)


def prepare(crystal: Chem.Mol, request: dict[str, Any]) -> dict[str, Any]:
    """The native ligand's record, made from its SMILES, so that nothing of the crystal's geometry helps the docking."""
    entry = {"smiles": Chem.MolToSmiles(crystal), "protonationPh": request["protonationPh"]}
    record = attempt_in_child(entry, request["seed"], AcidBaseConjugator.from_default_data_files())
    if record["status"] != "PREPARED":
        raise cannot(f"{record['failureStage']}: {record['error']}")
    return record


def cannot(reason: str) -> Failure:
    return user_error(
        "REDOCKING_FAILED",
        f"The native ligand cannot be docked again ({one_line(reason)}); choose another dockingValidation.nativeReference or leave it out.",
    )


def search(request: dict[str, Any], native: dict[str, Any], record: dict[str, Any], progress: Progress) -> Outcome:
    ligand, found = {**record, "label": native["componentId"]}, []
    say = f"docking {one_line(native['componentId'], 20)} again"
    dock_all(request["search"], read_box(), [ligand], lambda _, outcome: found.append(outcome), lambda _, part: progress(0.1 + 0.85 * part, say))
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


def write_structures(native: dict[str, Any], crystal: Chem.Mol, molecule: Chem.Mol, poses: list[dict[str, Any]]) -> None:
    named = Chem.Mol(crystal)
    named.SetProp("_Name", one_line(native["componentId"], 80))
    write_text(OUT / "native" / "crystal.sdf", Chem.MolToMolBlock(named) + "$$$$\n")
    ligand = {"ligandId": native["componentId"], "label": f"{native['componentId']} docked again"}
    records = [sdf_record(molecule, i, ligand, pose) for i, pose in enumerate(poses)]
    with_rmsd = [
        record.removesuffix("$$$$\n") + f">  <rmsdAngstrom>\n{pose['rmsdAngstrom']:.3f}\n\n$$$$\n" for record, pose in zip(records, poses)
    ]
    write_text(OUT / "native" / "redocked.sdf", "".join(with_rmsd))


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    RDLogger.DisableLog("rdApp.*")
    require_vina()
    progress(0.0, "preparing the native ligand")
    native = read_json(IN / "native.json")
    crystal = read_crystal(native)
    record = prepare(crystal, request)
    outcome = search(request, native, record, progress)
    molecule, poses = measure(outcome, record, crystal)
    write_structures(native, crystal, molecule, poses)
    closest = min(poses, key=lambda pose: (pose["rmsdAngstrom"], pose["rank"]))
    best, threshold = poses[0], request["thresholdAngstrom"]
    summary = {
        "schema": SCHEMA, "componentId": native["componentId"], "rmsdAngstrom": best["rmsdAngstrom"],
        "closestRmsdAngstrom": closest["rmsdAngstrom"], "closestRank": closest["rank"], "scoreKcalMol": best["scoreKcalMol"],
        "thresholdAngstrom": threshold, "passed": best["rmsdAngstrom"] <= threshold, "dockedSmiles": record["dockedSmiles"],
        "notes": record["notes"], "cpuSeconds": outcome["cpuSeconds"],
    }  # fmt: skip
    programs = program_versions(["vina", "rdkit", "meeko", "molscrub", "numpy"])
    write_json(OUT / "redock.json", {**summary, "poses": poses, "programs": programs})
    return {"summary": summary, "failures": [], "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
