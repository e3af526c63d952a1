"""Prepares a chunk of ligands for docking: parse, protonate at a pH, embed in 3D, write PDBQT.

Reads request.json (and in/ligand-*.sdf, .mol2, .pdbqt, .pdb for ligands given as files, in/native.json for the native ligand),
writes out/ligands.json with one record a ligand, and out/result.json. A ligand that fails is recorded with the step that failed and
does not stop the others: each is prepared in a child process of its own, so that neither a crash nor an endless embedding costs
more than that one ligand.

What is docked is one state of one tautomer: the tautomer as given (see molecule.py), of a salt or mixture the largest part that
is no counter-ion or solvent, protonated by rules at the pH. Specified stereochemistry is kept or the ligand fails; what is left
open is chosen by the embedding, for which the seed decides. A record's notes say where any of this changed what was given.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

from molscrub import AcidBaseConjugator
from rdkit import Chem

from bounded import Tell, in_child
from conformer import embed, length_angstrom
from ligand_pdbqt import check_elements, describe_pdbqt, to_pdbqt
from molecule import MAX_FILE_BYTES, LigandError, check_molecule, note_tautomers, read_molecule, without_isotopes
from plans import main
from protonation import protonate
from task import IN, OUT, Progress, one_line, program_versions, write_json

MAX_RECORD_BYTES = 4 << 20
MAX_SUMMARY_BYTES = 900_000  # what the document of a finished task has room for
SUMMARY_NOTE_CHARS = (500, 200, 80, 20)  # tried in this order until the summary fits
SUMMARY_KEYS = (
    "index status failureStage error canonicalSmiles inchiKey dockedSmiles formalCharge heavyAtoms rotatableBonds notes".split()
)


def identity(given: Chem.Mol | None, docked: Chem.Mol | None) -> dict[str, Any]:
    """What the ligand is: as it was given, and in the state that is docked."""
    if given is None or docked is None:
        return dict.fromkeys(("canonicalSmiles", "inchiKey", "dockedSmiles", "formalCharge"))
    return {
        "canonicalSmiles": Chem.MolToSmiles(given),
        "inchiKey": Chem.MolToInchiKey(given) or None,
        "dockedSmiles": Chem.MolToSmiles(docked),
        "formalCharge": Chem.GetFormalCharge(docked),
    }


def prepare_pdbqt(entry: dict[str, Any]) -> dict[str, Any]:
    path = IN / entry["file"]
    if path.stat().st_size > MAX_FILE_BYTES:
        raise LigandError("parse", f"the file is larger than {MAX_FILE_BYTES >> 20} MB; give one ligand")
    record, molecule = describe_pdbqt(path.read_text(encoding="utf-8", errors="replace"))
    return {**record, **identity(molecule, molecule)}


def prepare(entry: dict[str, Any], seed: int, conjugator: AcidBaseConjugator, reached: Any) -> dict[str, Any]:
    """The record of one prepared ligand. Says which step it has reached. Raises LigandError."""
    notes: list[str] = []
    reached("parse")
    if entry.get("format") == "pdbqt":
        return prepare_pdbqt(entry)
    given = read_molecule(entry, notes)
    check_molecule(given)
    note_tautomers(given, notes)
    reached("protonate")
    state = protonate(without_isotopes(given, notes), entry["protonationPh"], conjugator, notes)
    reached("embed")
    check_elements(state)
    shaped = embed(state, seed, notes)
    pdbqt, torsions = to_pdbqt(shaped, notes)
    docked = Chem.RemoveHs(shaped)
    record = {
        "heavyAtoms": docked.GetNumHeavyAtoms(),
        "rotatableBonds": torsions,
        "pdbqt": pdbqt,
        "lengthAngstrom": length_angstrom(shaped.GetConformer().GetPositions()),
        "notes": notes,
    }
    return {**record, **identity(given, docked)}


def attempt(entry: dict[str, Any], seed: int, conjugator: AcidBaseConjugator, reached: Any) -> dict[str, Any]:
    step = "parse"

    def remember(name: str) -> None:
        nonlocal step
        step = name
        reached(name)

    try:
        return {"status": "PREPARED", **prepare(entry, seed, conjugator, remember)}
    except LigandError as error:
        return failed(error.step, str(error))
    except Exception as error:  # anything else the libraries raise is about this ligand, not the chunk
        return failed(step, f"{type(error).__name__}: {error}")


def failed(step: str, message: str) -> dict[str, Any]:
    return {"status": "FAILED", "failureStage": step, "error": one_line(message)}


def attempt_in_child(entry: dict[str, Any], seed: int, conjugator: AcidBaseConjugator, cpu_seconds: int) -> dict[str, Any]:
    """Prepares a ligand in a child with a bound on its processor time, and turns a crash or a ligand without end into a failed
    record."""

    def work(tell: Tell) -> None:
        tell(attempt(entry, seed, conjugator, lambda step: tell({"reached": step})))

    answer = in_child(work, cpu_seconds, MAX_RECORD_BYTES, "preparation")
    if answer.documents and "status" in answer.documents[-1] and not answer.ended:
        return answer.documents[-1]
    step = next((document["reached"] for document in reversed(answer.documents) if "reached" in document), "parse")
    return failed(step, answer.ended or "the record is larger than any real ligand's")


def summary_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    """What becomes known of the ligands before they are docked. Notes are cut as far as the summary's bound asks for."""
    count = sum(record["status"] == "PREPARED" for record in records)
    ligands = [{key: record[key] for key in SUMMARY_KEYS if key in record} for record in records]
    for limit in SUMMARY_NOTE_CHARS:
        for ligand in ligands:
            ligand["notes"] = [one_line(note, limit) for note in ligand.get("notes", [])]
        if len(json.dumps(ligands, ensure_ascii=False).encode()) < MAX_SUMMARY_BYTES:
            break
    return {"prepared": count, "failed": len(records) - count, "ligands": ligands}


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    ligands = request["ligands"]
    conjugator = AcidBaseConjugator.from_default_data_files()
    records = []
    for done, entry in enumerate(ligands):
        progress(done / len(ligands), f"preparing {entry['label']} ({done + 1} of {len(ligands)})")
        sys.stdout.flush()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        record = attempt_in_child(entry, request["seed"], conjugator, request["ligandCpuSeconds"])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        record["cpuSeconds"] = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)
        known = {"componentId": entry["componentId"]} if "componentId" in entry else {}
        asked = {
            "index": entry["index"],
            "ligandId": entry["ligandId"],
            "label": entry["label"],
            "inputSmiles": entry.get("smiles"),
        }
        records.append({**asked, **known, **record})
    programs = program_versions(["rdkit", "meeko", "molscrub"])
    write_json(OUT / "ligands.json", {"schema": "molfabric.docking.ligands/v1", "ligands": records, "programs": programs})
    return {"summary": summary_of(records), "failures": [], "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
