"""Redocks one case as a chemist does by hand: the peer of the measurement.

The chains near the ligand and the components that the case keeps, hydrogens by PDB2PQR (where that fails, by PDBFixer),
PDBQT by Meeko's own command with --allow_bad_res, kept components as rigid atoms, the ligand embedded anew from its SMILES, and
AutoDock Vina's Python bindings. A receptor or ligand that is PDBQT already is left as it is.

Reads a request (JSON; see read_request) and writes <out>/poses.sdf and <out>/peer.json; exit status 0 also when a step failed,
which peer.json then names.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import gemmi
import numpy as np
from meeko import MoleculePreparation, PDBQTMolecule, PDBQTWriterLegacy, RDKitMolCreate
from molscrub import AcidBaseConjugator
from rdkit import Chem, RDLogger
from rdkit.Chem import AllChem, rdDistGeom

from crystal import CaseError, Crystal, definitions, heavy_atoms, mappings, placed, read_crystal, read_entry, residues, skeleton

REACH_ANGSTROM = 8.0  # a chain or component is near the ligand when an atom of it is
PH = 7.4
NUM_MODES = 9
COMMAND_SECONDS = 900  # of PDB2PQR or Meeko on a large entry
SAID_CHARS = 300
# What Vina's scoring function tells apart of atoms that Meeko has no bonds for.
ELEMENT_TYPES = {"C": "C", "N": "NA", "O": "OA", "S": "SA", "P": "P", "F": "F", "CL": "Cl", "BR": "Br", "I": "I"}


class StepError(Exception):
    """A step of the preparation did not succeed."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class Request(NamedTuple):
    case: dict[str, Any]  # as score.py reads it
    receptor: Path
    keep: list[str]  # components
    center: list[float] | None  # Å; None lays the box around the ligand
    size: list[float] | None
    seed: int
    exhaustiveness: int
    cpu: int
    components: Path


def read_request(path: Path) -> Request:
    document = json.loads(path.read_text(encoding="utf-8"))
    return Request(
        document["case"],
        Path(document["case"]["receptor"]),
        document["keep"],
        document.get("center"),
        document.get("size"),
        document["seed"],
        document["exhaustiveness"],
        document["cpu"],
        Path(document["components"]),
    )


def cpu_seconds() -> float:
    """Of this process and of the commands that it has run."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def run(step: str, folder: Path, *command: str) -> None:
    """Runs one of the environment's own commands. Raises StepError with the end of what it said."""
    program = str(Path(sys.executable).with_name(command[0]))
    try:
        arguments = [sys.executable, program, *command[1:]]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise StepError(step, f"{command[0]} did not end within {COMMAND_SECONDS} s") from None
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise StepError(step, f"{command[0]}: {' '.join(said[-2:])}"[:SAID_CHARS])


def distance(residue: gemmi.Residue, positions: np.ndarray) -> float:
    """The shortest one between an atom of the residue and the positions, in Å."""
    places = np.array([atom.pos.tolist() for atom in heavy_atoms(residue)]).reshape(-1, 1, 3)
    return float(np.linalg.norm(places - positions[None], axis=2).min(initial=np.inf))


def protein_near(path: Path, crystal: Crystal, out: Path) -> None:
    """Writes the ATOM records of the chains near the ligand, of the first model."""
    model = read_entry(path)
    chains = {
        chain.name
        for chain in model
        for residue in chain
        if residue.het_flag == "A" and distance(residue, crystal.positions) < REACH_ANGSTROM
    }
    if not chains:
        raise StepError("chains", f"no chain is within {REACH_ANGSTROM:g} Å of the ligand")
    kept = gemmi.Model(1)
    for chain in model:
        if chain.name in chains:
            copy = gemmi.Chain(chain.name)
            for residue in chain:
                if residue.het_flag == "A":
                    copy.add_residue(residue)
            kept.add_chain(copy)
    structure = gemmi.Structure()
    structure.add_model(kept)
    structure.write_pdb(str(out), gemmi.PdbWriteOptions(cryst1_record=False, seqres_records=False, conect_records=False))


def fix(protein: Path, out: Path) -> None:
    """Missing atoms and hydrogens by PDBFixer."""
    from openmm.app import PDBFile
    from pdbfixer import PDBFixer

    try:
        fixer = PDBFixer(filename=str(protein))
        fixer.missingResidues = {}
        fixer.findMissingAtoms()
        fixer.addMissingAtoms(seed=1)
        fixer.addMissingHydrogens(PH)
        with open(out, "w", encoding="utf-8") as file:
            PDBFile.writeFile(fixer.topology, fixer.positions, file, keepIds=True)
    except Exception as error:  # PDBFixer and OpenMM raise many kinds; each is about this structure
        raise StepError("hydrogens", f"PDBFixer: {error}"[:SAID_CHARS]) from error


def convert(folder: Path, hydrogenated: str) -> str:
    files = ("--read_pdb", hydrogenated, "-o", "receptor", "-p")
    run("receptor", folder, "mk_prepare_receptor.py", *files, "--allow_bad_res", "--default_altloc", "A")
    return (folder / "receptor.pdbqt").read_text(encoding="utf-8")


def prepare_protein(folder: Path) -> tuple[str, str]:
    """The protein as PDBQT, and the program that placed its hydrogens."""
    try:
        run(
            "hydrogens",
            folder,
            "pdb2pqr30",
            "--ff",
            "AMBER",
            "--titration-state-method",
            "propka",
            "--with-ph",
            str(PH),
            "--drop-water",
            "--keep-chain",
            "--pdb-output",
            "pdb2pqr.pdb",
            "protein.pdb",
            "protein.pqr",
        )
        return convert(folder, "pdb2pqr.pdb"), "PDB2PQR"
    except StepError as error:
        fix(folder / "protein.pdb", folder / "pdbfixer.pdb")
        return convert(folder, "pdbfixer.pdb"), f"PDBFixer, because PDB2PQR's way failed ({error})"


def rigid(residue: gemmi.Residue, smiles: str | None) -> str:
    """A kept component as rigid PDBQT atoms: with the bonds of its definition by Meeko, else by its elements alone."""
    crystal = placed(heavy_atoms(residue))
    whole = Chem.MolFromSmiles(smiles) if smiles else None
    found = mappings(skeleton(whole), crystal) if whole is not None and whole.GetNumAtoms() > 1 else []
    if not found or whole.GetNumAtoms() != crystal.GetNumAtoms():
        return by_elements(residue)
    placed_whole, conformer = Chem.Mol(whole), Chem.Conformer(whole.GetNumAtoms())
    for position, place in zip(crystal.GetConformer().GetPositions(), found[0]):
        conformer.SetAtomPosition(place, position.tolist())
    placed_whole.AddConformer(conformer, assignId=True)
    try:
        setup = MoleculePreparation().prepare(Chem.AddHs(placed_whole, addCoords=True))[0]
        text, good, _ = PDBQTWriterLegacy.write_string(setup)
    except Exception:  # Meeko raises many kinds for what it has no parameters for
        return by_elements(residue)
    return "".join(line + "\n" for line in text.splitlines() if line.startswith("ATOM")) if good else by_elements(residue)


def by_elements(residue: gemmi.Residue) -> str:
    lines = []
    for i, atom in enumerate(heavy_atoms(residue)):
        element = atom.element.name.upper()
        what = ELEMENT_TYPES.get(element, element.capitalize())
        place = "".join(f"{value:8.3f}" for value in atom.pos.tolist())
        start = f"HETATM{i + 1:5d} {element:>2}   {residue.name:>3} A{residue.seqid.num:4d}    {place}"
        lines.append(f"{start}  1.00  0.00     0.000 {what:<2}\n")
    return "".join(lines)


def kept_components(request: Request, crystal: Crystal) -> tuple[str, list[str]]:
    """PDBQT of the components that the case keeps, and their names: every copy near the ligand, else the nearest one."""
    known, text, names = definitions(request.components, set(request.keep)), "", []
    present = list(residues(read_entry(request.receptor)))
    for component in request.keep:
        copies = [(chain.name, residue) for chain, residue in present if residue.name == component]
        apart = [(distance(residue, crystal.positions), chain, residue) for chain, residue in copies]
        if not apart:
            raise StepError("receptor", f"the entry has no {component}")
        nearest = min(reach for reach, _, _ in apart)
        for reach, chain, residue in apart:
            if reach <= max(nearest, REACH_ANGSTROM):
                text += rigid(residue, known.get(residue.name))
                names.append(f"{component} {chain} {residue.seqid}")
    return text, names


def prepare_ligand(smiles: str, seed: int) -> str:
    """PDBQT of the ligand: protonated at pH 7.4 by molscrub, embedded by ETKDGv3, relaxed with MMFF94s."""
    try:
        states = list(AcidBaseConjugator.from_default_data_files()(Chem.MolFromSmiles(smiles), PH, PH))
        molecule = Chem.AddHs(Chem.MolFromSmiles(min(Chem.MolToSmiles(state) for state in states)))
        parameters = rdDistGeom.ETKDGv3()
        parameters.randomSeed = seed
        if rdDistGeom.EmbedMolecule(molecule, parameters) < 0:
            raise StepError("ligand", "RDKit finds no conformer")
        AllChem.MMFFOptimizeMolecule(molecule, mmffVariant="MMFF94s")
        text, good, error = PDBQTWriterLegacy.write_string(MoleculePreparation().prepare(molecule)[0])
    except StepError:
        raise
    except Exception as error:  # molscrub, RDKit and Meeko raise many kinds; each is about this molecule
        raise StepError("ligand", str(error)[:SAID_CHARS]) from error
    if not good:
        raise StepError("ligand", error[:SAID_CHARS])
    return text


def dock(request: Request, folder: Path, ligand: str, box: tuple[list[float], list[float]]) -> str:
    """Vina's poses as PDBQT."""
    import vina

    try:
        engine = vina.Vina(sf_name="vina", cpu=request.cpu, seed=request.seed, verbosity=0)
        engine.set_receptor(str(folder / "site.pdbqt"))
        engine.compute_vina_maps(center=box[0], box_size=box[1])
        engine.set_ligand_from_string(ligand)
        engine.dock(exhaustiveness=request.exhaustiveness, n_poses=NUM_MODES, min_rmsd=1.0)
        return str(engine.poses(n_poses=NUM_MODES, energy_range=3.0))
    except (RuntimeError, ValueError, TypeError) as error:
        raise StepError("dock", f"AutoDock Vina: {error}"[:SAID_CHARS]) from error


def write_poses(text: str, out: Path) -> list[float]:
    """Writes the poses with their bonds and returns their scores in kcal/mol, best first."""
    (out / "poses.pdbqt").write_text(text, encoding="utf-8")
    molecule = RDKitMolCreate.from_pdbqt_mol(PDBQTMolecule(text, skip_typing=True))[0]
    with Chem.SDWriter(str(out / "poses.sdf")) as writer:
        for conformer in molecule.GetConformers():
            writer.write(molecule, confId=conformer.GetId())
    return [float(line.split()[3]) for line in text.splitlines() if line.startswith("REMARK VINA RESULT:")]


def box_of(request: Request, crystal: Crystal) -> tuple[list[float], list[float]]:
    """The box that is given, else the ligand's extents and 5 Å on each side, 15 to 40 Å an edge."""
    if request.center and request.size:
        return request.center, request.size
    low, high = crystal.positions.min(axis=0), crystal.positions.max(axis=0)
    return ((low + high) / 2).round(3).tolist(), np.clip(high - low + 10, 15, 40).round(3).tolist()


def redock(request: Request, out: Path, report: dict[str, Any]) -> None:
    crystal = read_crystal(request.case, request.components)
    if request.receptor.suffix.lower() == ".pdbqt":
        text, report["hydrogens"], report["kept"] = request.receptor.read_text(encoding="utf-8"), "as given", []
    else:
        protein_near(request.receptor, crystal, out / "protein.pdb")
        text, report["hydrogens"] = prepare_protein(out)
        components, report["kept"] = kept_components(request, crystal)
        text += components
    (out / "site.pdbqt").write_text(text, encoding="utf-8")
    ligand = prepare_ligand(crystal.smiles, request.seed)
    box = box_of(request, crystal)
    report["box"] = {"center": box[0], "size": box[1]}
    report["prepareCpuSeconds"] = round(cpu_seconds(), 3)
    began = time.monotonic()
    poses = dock(request, out, ligand, box)
    report["dockWallSeconds"] = round(time.monotonic() - began, 3)
    report["dockCpuSeconds"] = round(cpu_seconds() - report["prepareCpuSeconds"], 3)
    report["scoresKcalMol"] = write_poses(poses, out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("request", type=Path, help="JSON: case, keep, center, size, seed, exhaustiveness, cpu, components")
    parser.add_argument("out", type=Path, help="an empty folder for what is made")
    arguments = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    report: dict[str, Any] = {}
    try:
        redock(read_request(arguments.request), arguments.out, report)
    except StepError as error:
        report |= {"failedStep": error.step, "error": str(error)}
    except CaseError as error:
        report |= {"failedStep": "case", "error": str(error)}
    (arguments.out / "peer.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
