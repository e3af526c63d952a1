"""Prepares a chunk of ligands for docking: parse, protonate at a pH, embed in 3D, write PDBQT.

Reads request.json (and in/ligand-*.sdf, .mol2, .pdbqt for ligands given as files), writes out/ligands.json with one record a
ligand, and out/result.json. A ligand that fails is recorded with the step that failed and does not stop the others: each is
prepared in a child process of its own, so that neither a crash nor an endless embedding costs more than that one ligand.
"""

from __future__ import annotations

import json
import logging
import os
import re
import resource
import select
import signal
import sys
import time
from typing import Any

from meeko import MoleculePreparation, PDBQTWriterLegacy
from molscrub import AcidBaseConjugator
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem, rdDistGeom

from common import GLUE_TYPES, IN, LIGAND_TYPES, OUT, Progress, is_atom, main, one_line, pdbqt_atom, program_versions, write_json

MAX_HEAVY_ATOMS = 100  # Vina's tables grow with the square of the atoms; 100 take 6 GB
MAX_PDBQT_ATOMS = 125
LIGAND_SECONDS = 90.0  # wall time for one ligand; ordinary ones take 0.1 s
MAX_RECORD_BYTES = 4 << 20
EMBED_ATTEMPTS = 50
MMFF_ITERATIONS = 1000
TIME_STAMP = re.compile(r"^\s*\[\d\d:\d\d:\d\d\]\s*")


class LigandError(Exception):
    """A ligand cannot be prepared. step is parse, protonate or embed."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class RdkitMessages(logging.Handler):
    """Keeps what RDKit logs, because its parsers return None and log the reason."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        rdBase.LogToPythonLogger()
        logger = logging.getLogger("rdkit")
        logger.handlers, logger.propagate = [self], False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def reason(self, fallback: str) -> str:
        """The first line that says something, without RDKit's clock, which would make two runs differ."""
        lines = [TIME_STAMP.sub("", line) for line in self.lines]
        telling = [line for line in lines if "check for mistakes" not in line and line.strip(" ~^\n\t")]
        return one_line(telling[0]) if telling else fallback


def parse_smiles(smiles: str, messages: RdkitMessages) -> Chem.Mol:
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise LigandError("parse", messages.reason("RDKit cannot read this SMILES"))
    return molecule


def parse_file(entry: dict[str, Any], messages: RdkitMessages, notes: list[str]) -> Chem.Mol:
    text = (IN / entry["file"]).read_text(encoding="utf-8", errors="replace")
    if entry["format"] == "mol2":
        parts = text.split("@<TRIPOS>MOLECULE")
        count, block = len(parts) - 1, "@<TRIPOS>MOLECULE" + (parts[1] if len(parts) > 1 else "")
        molecule = Chem.MolFromMol2Block(block, removeHs=False)
    else:
        count = text.count("$$$$") or 1
        molecule = Chem.MolFromMolBlock(text.split("$$$$")[0], removeHs=False)
    if molecule is None:
        raise LigandError("parse", messages.reason(f"RDKit cannot read this {entry['format']} file"))
    if count > 1:
        notes.append(f"the file holds {count} molecules; the first is docked")
    if molecule.GetNumConformers() and molecule.GetConformer().Is3D():
        Chem.AssignStereochemistryFrom3D(molecule)
    return Chem.RemoveHs(molecule)


def largest_fragment(molecule: Chem.Mol, notes: list[str]) -> Chem.Mol:
    """The fragment with the most heavy atoms: a salt's counter-ions are not docked."""
    fragments = Chem.GetMolFrags(molecule, asMols=True)
    if len(fragments) < 2:
        return molecule
    ranked = sorted(fragments, key=lambda f: (-f.GetNumHeavyAtoms(), Chem.MolToSmiles(f)))
    notes.append("removed the smaller fragments " + ", ".join(Chem.MolToSmiles(f) for f in ranked[1:6]))
    return ranked[0]


def check_molecule(molecule: Chem.Mol) -> None:
    heavy = molecule.GetNumHeavyAtoms()
    if heavy == 0:
        raise LigandError("parse", "the molecule has no heavy atoms")
    if heavy > MAX_HEAVY_ATOMS:
        raise LigandError("parse", f"the molecule has {heavy} heavy atoms; at most {MAX_HEAVY_ATOMS} can be docked")
    if any(atom.GetAtomicNum() == 0 for atom in molecule.GetAtoms()):
        raise LigandError("parse", "the molecule has a wildcard atom (*); name its element")


def protonate(molecule: Chem.Mol, ph: float, conjugator: AcidBaseConjugator, notes: list[str]) -> Chem.Mol:
    """The molecule's state at the pH by molscrub's rules. Where a group's pKa equals the pH the rules give several states;
    the one with the smallest charge, then the first SMILES in order, is taken."""
    before = Chem.MolToSmiles(molecule)
    try:
        states = {Chem.MolToSmiles(state): state for state in conjugator(Chem.Mol(molecule), ph, ph)}
        chosen = min(states, key=lambda smiles: (abs(Chem.GetFormalCharge(states[smiles])), smiles))
        state = Chem.MolFromSmiles(chosen)
    except Exception as error:  # molscrub raises whatever RDKit's reactions raise
        raise LigandError("protonate", one_line(str(error)) or type(error).__name__) from error
    if state is None:
        raise LigandError("protonate", "the protonated molecule is not a valid molecule")
    if stereo_count(state) < stereo_count(molecule):
        notes.append("protonation would have lost stereochemistry; the molecule is docked in the state it was given")
        return molecule
    if len(states) > 1:
        notes.append(f"{len(states)} protonation states are possible at pH {ph:g}; docked as {chosen}")
    elif chosen != before:
        notes.append(f"protonated at pH {ph:g} as {chosen}")
    return state


def stereo_count(molecule: Chem.Mol) -> int:
    fresh = Chem.MolFromSmiles(Chem.MolToSmiles(molecule))
    if fresh is None:
        return 0
    return sum(1 for element in Chem.FindPotentialStereo(fresh) if element.specified == Chem.StereoSpecified.Specified)


def embed(molecule: Chem.Mol, seed: int, notes: list[str]) -> Chem.Mol:
    """Hydrogens and a 3D conformer: ETKDGv3 with a fixed seed, then MMFF94s, or UFF where MMFF has no parameters."""
    molecule = Chem.AddHs(molecule)
    parameters = rdDistGeom.ETKDGv3()
    parameters.randomSeed = seed & 0x7FFFFFFF  # RDKit reads negative seeds as "random"
    parameters.maxIterations = EMBED_ATTEMPTS
    parameters.numThreads = 1
    if rdDistGeom.EmbedMolecule(molecule, parameters) < 0:
        parameters.useRandomCoords = True
        if rdDistGeom.EmbedMolecule(molecule, parameters) < 0:
            raise LigandError("embed", "no 3D conformer satisfies the molecule's geometry; check its stereochemistry")
    if AllChem.MMFFHasAllMoleculeParams(molecule):
        AllChem.MMFFOptimizeMolecule(molecule, mmffVariant="MMFF94s", maxIters=MMFF_ITERATIONS)
    elif AllChem.UFFHasAllMoleculeParams(molecule):
        AllChem.UFFOptimizeMolecule(molecule, maxIters=MMFF_ITERATIONS)
        notes.append("relaxed with UFF because MMFF94s has no parameters for it")
    else:
        notes.append("not relaxed because no force field has parameters for it")
    note_chosen_stereo(molecule, notes)
    return molecule


def note_chosen_stereo(molecule: Chem.Mol, notes: list[str]) -> None:
    """Names the stereochemistry that the embedding chose where the request left it open. Nitrogens do not count: those with
    a hydrogen invert freely."""
    open_before = [element for element in Chem.FindPotentialStereo(molecule) if element.specified == Chem.StereoSpecified.Unspecified]
    carbons = [e for e in open_before if e.type != Chem.StereoType.Atom_Tetrahedral or molecule.GetAtomWithIdx(e.centeredOn).GetAtomicNum() != 7]
    if not carbons:
        return
    Chem.AssignStereochemistryFrom3D(molecule)
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() == 7 and atom.GetTotalNumHs(includeNeighbors=True):
            atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    notes.append(f"{len(carbons)} stereo elements were not specified; docked as {Chem.MolToSmiles(Chem.RemoveHs(molecule))}")


def to_pdbqt(molecule: Chem.Mol) -> tuple[str, int]:
    """PDBQT text and number of rotatable bonds."""
    unknown = sorted({a.GetSymbol() for a in molecule.GetAtoms()} - {"H", "C", "N", "O", "P", "S", "F", "Cl", "Br", "I", "Si"})
    if unknown:
        raise LigandError("embed", f"AutoDock Vina has no parameters for {', '.join(unknown)}")
    setups = MoleculePreparation().prepare(molecule)
    text, ok, message = PDBQTWriterLegacy.write_string(setups[0])
    if not ok:
        raise LigandError("embed", one_line(message) or "Meeko cannot write the molecule as PDBQT")
    return text, check_pdbqt(text, "embed")[1]


def check_pdbqt(text: str, step: str) -> tuple[int, int]:
    """Heavy atoms and rotatable bonds of a ligand PDBQT. Vina aborts, or skips the ligand silently, where this raises."""
    atoms, torsions, roots, opened = [], None, 0, 0
    for number, line in enumerate(text.splitlines(), start=1):
        keyword = line.split(" ", 1)[0].strip()
        if is_atom(line):
            try:
                atoms.append(pdbqt_atom(line))
            except ValueError as error:
                raise LigandError(step, f"line {number}: {error}") from None
        elif keyword == "TORSDOF":
            fields = line.split()
            torsions = int(fields[1]) if len(fields) == 2 and fields[1].isdigit() else None
        elif keyword == "ROOT":
            roots += 1
        elif keyword in ("BRANCH", "ENDBRANCH"):
            opened += 1 if keyword == "BRANCH" else -1
        elif keyword in ("MODEL", "BEGIN_RES"):
            raise LigandError(step, f"line {number}: {keyword} is not allowed; give one ligand, not docked poses or residues")
        elif keyword not in ("REMARK", "ENDROOT", "TER", "END", "USER", "WARNING", ""):
            raise LigandError(step, f"line {number}: {one_line(keyword, 20)} is not a PDBQT record of a ligand")
    if not atoms:
        raise LigandError(step, "the PDBQT file has no atoms")
    if roots != 1 or opened != 0 or torsions is None:
        raise LigandError(step, "the PDBQT file has no complete torsion tree (ROOT, BRANCH, TORSDOF)")
    unknown = sorted({atom.type for atom in atoms} - LIGAND_TYPES)
    if unknown:
        raise LigandError(step, f"AutoDock Vina has no parameters for the atom types {', '.join(unknown)}")
    if len(atoms) > MAX_PDBQT_ATOMS:
        raise LigandError(step, f"the ligand has {len(atoms)} atoms; at most {MAX_PDBQT_ATOMS} can be docked")
    heavy = sum(1 for atom in atoms if atom.type not in ("H", "HD", "HS") and atom.type not in {g for g in GLUE_TYPES if g[0] == "G"})
    return heavy, torsions


def prepare_pdbqt(entry: dict[str, Any]) -> dict[str, Any]:
    """A ligand given as PDBQT is checked and docked as it is. Meeko's REMARK SMILES, where present, says what it is."""
    text = (IN / entry["file"]).read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    heavy, torsions = check_pdbqt(text, "parse")
    smiles = next((line.split()[2] for line in text.splitlines() if line.startswith("REMARK SMILES ") and len(line.split()) == 3), None)
    molecule = Chem.MolFromSmiles(smiles) if smiles else None
    notes = ["given as PDBQT: docked as it is, without protonation"]
    if molecule is None:
        notes.append("the PDBQT file has no REMARK SMILES, so the poses cannot be written as SDF")
    record = {"heavyAtoms": heavy, "rotatableBonds": torsions, "pdbqt": text, "notes": notes}
    return {**record, **(identity(molecule, molecule) if molecule else {"canonicalSmiles": None, "inchiKey": None, "dockedSmiles": None, "formalCharge": None})}


def identity(given: Chem.Mol, docked: Chem.Mol) -> dict[str, Any]:
    return {
        "canonicalSmiles": Chem.MolToSmiles(given),
        "inchiKey": Chem.MolToInchiKey(given) or None,
        "dockedSmiles": Chem.MolToSmiles(docked),
        "formalCharge": Chem.GetFormalCharge(docked),
    }


def prepare(entry: dict[str, Any], seed: int, conjugator: AcidBaseConjugator) -> dict[str, Any]:
    """The record of one prepared ligand. Raises LigandError."""
    messages, notes = RdkitMessages(), []
    if entry.get("format") == "pdbqt":
        return prepare_pdbqt(entry)
    given = parse_file(entry, messages, notes) if "file" in entry else parse_smiles(entry["smiles"], messages)
    given = largest_fragment(given, notes)
    check_molecule(given)
    docked = embed(protonate(given, entry["protonationPh"], conjugator, notes), seed, notes)
    pdbqt, torsions = to_pdbqt(docked)
    docked = Chem.RemoveHs(docked)
    record = {"heavyAtoms": docked.GetNumHeavyAtoms(), "rotatableBonds": torsions, "pdbqt": pdbqt, "notes": notes}
    return {**record, **identity(given, docked)}


def attempt(entry: dict[str, Any], seed: int, conjugator: AcidBaseConjugator) -> dict[str, Any]:
    try:
        return {"status": "PREPARED", **prepare(entry, seed, conjugator)}
    except LigandError as error:
        return failed(error.step, str(error))
    except Exception as error:  # anything else the libraries raise is about this ligand, not the chunk
        return failed("embed", f"{type(error).__name__}: {error}")


def failed(step: str, message: str) -> dict[str, Any]:
    return {"status": "FAILED", "failureStage": step, "error": one_line(message)}


def attempt_in_child(entry: dict[str, Any], seed: int, conjugator: AcidBaseConjugator) -> dict[str, Any]:
    """Prepares a ligand in a forked child with a time limit, and turns a crash or a timeout into a failed record."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps(attempt(entry, seed, conjugator)).encode())
        os._exit(0)
    os.close(writer)
    answer, deadline = b"", time.monotonic() + LIGAND_SECONDS
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while len(answer) <= MAX_RECORD_BYTES:
            if not select.select([pipe], [], [], max(deadline - time.monotonic(), 0))[0]:
                break
            block = pipe.read(1 << 16)
            if not block:
                break
            answer += block
    expired = time.monotonic() >= deadline
    if expired:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if expired:
        return failed("embed", f"preparation took longer than {LIGAND_SECONDS:g} seconds")
    if status != 0:
        return failed("embed", "preparation crashed on this molecule")
    return json.loads(answer)


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    ligands = request["ligands"]
    conjugator = AcidBaseConjugator.from_default_data_files()
    records = []
    for done, entry in enumerate(ligands):
        progress(done / len(ligands), f"preparing {entry['label']} ({done + 1} of {len(ligands)})")
        sys.stdout.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        record = attempt_in_child(entry, request["seed"], conjugator)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        record["cpuSeconds"] = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)
        records.append({"index": entry["index"], "ligandId": entry["ligandId"], "label": entry["label"], "inputSmiles": entry.get("smiles"), **record})
    programs = program_versions(["rdkit", "meeko", "molscrub"])
    write_json(OUT / "ligands.json", {"schema": "molfabric.docking.ligands/v1", "ligands": records, "programs": programs})
    count = sum(1 for record in records if record["status"] == "PREPARED")
    return {"summary": {"prepared": count, "failed": len(records) - count}, "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
