"""Where a docking job's results come from: provenance.json, and a methods paragraph for a paper."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from rounds import SAME_POSE_ANGSTROM, SAME_SCORE_KCAL_MOL
from task import OUT, one_line, write_json

PROVENANCE_SCHEMA = "molfabric.docking.provenance/v1"
MAX_CHAINS_NAMED = 12
BOX_SOURCES = {
    "explicit": "placed by its given centre and size",
    "ligandFile": "laid around a given ligand",
    "pocketLigand": "laid around the structure's own ligand",
    "pocketResidues": "laid around the given residues of the pocket",
    "fpocket": "laid around the best pocket that fpocket found",
}

STAGES = {
    "parse": "reading the ligand",
    "protonate": "protonation",
    "embed": "3D embedding",
    "dock": "docking",
    "parse_output": "reading the poses",
}


def write_provenance(
    request: dict[str, Any],
    document: dict[str, Any],
    results: list[dict[str, Any]],
    programs: dict[str, str],
    methods: str,
    names: list[str],
) -> None:
    """What made the results: programs, parameters, seed, digests of what went in and came out, and what to cite. names are
    the files below out/ that the ranking wrote; the poses' digests are with the tasks that wrote them."""
    receptor = document["receptor"]
    asked = {key: request[key] for key in ("search", "shardSize", "cpuThreadsAsked", "receptorPreparation", "ligandCount")}
    ligands = [
        {key: r[key] for key in ("index", "ligandId", "inputSmiles", "dockedSmiles")}
        for r in sorted(results, key=lambda r: r["index"])
    ]
    write_json(
        OUT / "provenance.json",
        {
            "schema": PROVENANCE_SCHEMA,
            "programs": programs,
            "parameters": {**asked, "box": document["box"]},
            "inputs": {
                "receptor": {
                    "sha256": receptor["inputSha256"],
                    "preparedSha256": receptor["preparedSha256"],
                    "hashes": receptor.get("hashes"),
                },
                "ligands": ligands,
            },
            "outputs": [{"name": name, "sha256": file_sha256(name)} for name in names],
            "citations": request["citations"],
            "methods": methods,
        },
    )


def file_sha256(name: str) -> str:
    with open(OUT / name, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Citations:
    """Numbers of the request's citations, from 1, found by DOI or by the start of their text."""

    def __init__(self, citations: list[dict[str, str]]) -> None:
        self.citations = citations

    def __call__(self, *wanted: str) -> str:
        numbers = [
            number
            for number, citation in enumerate(self.citations, start=1)
            if any(citation.get("doi", "").lower() == name.lower() or citation["text"].startswith(name) for name in wanted)
        ]
        return f" [{','.join(map(str, numbers))}]" if numbers else ""


def named(programs: dict[str, str], key: str, name: str) -> str:
    """The program with its version, where the version is known."""
    return f"{name} {programs[key]}" if programs.get(key) else name


def receptor_name(receptor: dict[str, Any]) -> str:
    """What was docked into, in a few words: PDB 1IEP, chain A."""
    selection = receptor.get("selection") or {}
    pdb_id, digest = receptor.get("pdbId"), receptor.get("inputSha256") or ""
    parts = [f"PDB {one_line(str(pdb_id), 12)}" if pdb_id else f"the uploaded structure {digest[:8]}"]
    chains = [one_line(str(chain), 16) for chain in selection.get("chains") or []]
    if chains:
        more = f" and {len(chains) - MAX_CHAINS_NAMED} more" if len(chains) > MAX_CHAINS_NAMED else ""
        parts.append(("chain " if len(chains) == 1 else "chains ") + ", ".join(chains[:MAX_CHAINS_NAMED]) + more)
    if selection.get("assemblyId"):
        parts.append(f"assembly {one_line(str(selection['assemblyId']), 16)}")
    if selection.get("model"):
        parts.append(f"model {selection['model']}")
    return ", ".join(parts)


def edges(size: list[float]) -> str:
    return " × ".join(f"{edge:g}" for edge in size) + " Å"


def receptor_sentence(receptor: dict[str, Any], programs: dict[str, str], cite: Citations) -> str:
    subject = f"The receptor ({receptor_name(receptor)})"
    if receptor.get("format") == "pdbqt":
        return f"{subject} was given as PDBQT and docked into as it was."
    meeko = f"{named(programs, 'meeko', 'Meeko')}{cite('Meeko')}"
    preparation = receptor.get("preparation") or {}
    if preparation.get("protonationMethod") == "meeko":
        return f"{subject} was protonated and converted with {meeko}."
    ph, field = preparation.get("protonationPh"), preparation.get("forceField")
    conditions = (f" at pH {ph:g}" if ph is not None else "") + (f" ({field} force field)" if field else "")
    tools = f"{named(programs, 'pdb2pqr', 'PDB2PQR')} and {named(programs, 'propka', 'PROPKA')}"
    return (
        f"{subject} was protonated with {tools}{conditions}{cite('10.1002/pro.3280', '10.1021/ct100578z')} and converted with "
        f"{meeko}."
    )


def ligand_sentence(results: list[dict[str, Any]], programs: dict[str, str], cite: Citations) -> str:
    as_given = sum(any(note.startswith("given as PDBQT") for note in result["notes"]) for result in results)
    if as_given == len(results):
        return "The ligands were given as PDBQT and docked as they were."
    rdkit = f"{named(programs, 'rdkit', 'RDKit')}{cite('10.5281/zenodo.591637')}"
    sentence = (
        f"The ligands were protonated with {named(programs, 'molscrub', 'molscrub')}{cite('molscrub')}, embedded in three "
        f"dimensions with {rdkit} "
        "(ETKDGv3, then MMFF94s) and converted with Meeko"
    )
    return sentence + (f", except {as_given} that {'was' if as_given == 1 else 'were'} given as PDBQT." if as_given else ".")


def length_clause(parameters: dict[str, Any]) -> str:
    """How long each ligand was searched for."""
    if "auto" not in parameters:
        return f"with an exhaustiveness of {parameters['exhaustiveness']}"
    most = max(bound["exhaustiveness"] for bound in parameters["auto"]["bounds"])
    return (
        "in independent rounds with seeds of their own until two of them had found the same best pose (within "
        f"{SAME_POSE_ANGSTROM:g} Å and {SAME_SCORE_KCAL_MOL:g} kcal/mol), up to an exhaustiveness of {most} in all"
    )


def docking_sentence(document: dict[str, Any], cite: Citations) -> str:
    engine, box, parameters = document["engine"], document["box"], document["parameters"]
    center = ", ".join(f"{value:.3f}" for value in box["centerAngstrom"])
    modes = parameters["numModes"]
    return (
        f"They were docked with {engine['name']} {engine['version'] or ''}".rstrip()
        + f" and its {engine['scoringFunction'].capitalize()} scoring "
        f"function{cite('10.1021/acs.jcim.1c00203', '10.1002/jcc.21334')} "
        + f"in a box of {edges(box['sizeAngstrom'])} centred at ({center}) Å, "
        f"{BOX_SOURCES.get(box.get('source'), 'placed as given')}, "
        + f"{length_clause(parameters)}, at most {modes} pose{'s' * (modes > 1)} a ligand within "
        + f"{parameters['energyRangeKcalMol']:g} kcal/mol of the best{choice_clause(parameters)}, and the random seed "
        f"{document['seed']}."
    )


def choice_clause(parameters: dict[str, Any]) -> str:
    """How a ligand's poses were chosen, where Vina's score did not decide."""
    auto = parameters.get("auto", {})
    if "chooseBy" not in auto or auto["candidates"] <= parameters["numModes"]:
        return ""
    return f" (the best, and of up to {auto['candidates']} found those that the network below finds likeliest)"


def validation_sentence(validation: dict[str, Any] | None) -> str:
    if validation is None:
        return ""
    return (
        f"As a check, the structure's own ligand {one_line(str(validation['componentId']), 20)} was taken out and docked again "
        f"from its SMILES alone: "
        f"its best-scored pose lies {validation['rmsdAngstrom']:.2f} Å from the crystal pose (root mean square deviation of the "
        f"heavy atoms "
        f"in place, corrected for symmetry; threshold {validation['thresholdAngstrom']:g} Å)."
    )


def analysis_sentence(results: list[dict[str, Any]], programs: dict[str, str], cite: Citations) -> str:
    parts = []
    if any(result["interactions"] is not None for result in results):
        parts.append(
            f"interactions were found with {named(programs, 'prolif', 'ProLIF')}{cite('Bouysset', '10.1186/s13321-021-00548-6')}"
        )
    if any(result["checks"] for result in results):
        parts.append(
            f"poses were checked with {named(programs, 'posebusters', 'PoseBusters')}{cite('Buttenschoen', '10.1039/d3sc04185a')}"
        )
    if any(result["cnnScore"] is not None for result in results):
        cited = cite("10.1186/s13321-025-00973-x", "10.1186/s13321-021-00522-2")
        parts.append(
            f"poses were scored a second time by the fast convolutional network of GNINA 1.3 with "
            f"{named(programs, 'rustina', 'rustina')}{cited}"
        )
    text = ", and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]])) if len(parts) > 2 else " and ".join(parts)
    return text[:1].upper() + text[1:] + "." if text else ""


def methods_text(request: dict[str, Any], document: dict[str, Any], results: list[dict[str, Any]], programs: dict[str, str]) -> str:
    """A paragraph for a paper, with the numbers of the request's citations in brackets."""
    cite, counts = Citations(request["citations"]), document["counts"]
    sentences = [
        receptor_sentence(document["receptor"], programs, cite),
        ligand_sentence(results, programs, cite),
        docking_sentence(document, cite),
        validation_sentence(document["validation"]),
        analysis_sentence(results, programs, cite),
        f"Pictures were drawn with {named(programs, 'molstar', 'Mol*')}{cite('10.1093/nar/gkab314')}."
        if "molstar" in programs
        else "",
        f"Of {counts['total']:,} ligand{'s' * (counts['total'] > 1)}, {counts['completed']:,} "
        f"{'was' if counts['completed'] == 1 else 'were'} docked; "
        f"ligands are ranked by {RANKINGS[request['rankBy']]}, and ligand efficiency is the score of that pose, sign reversed, by "
        f"heavy atoms." + failure_clause(results),
    ]
    return " ".join(filter(None, sentences))


# What ligands are ranked by, in a sentence.
RANKINGS = {
    "vina": "the score of their best pose",
    "cnn": "the network's probability that their best pose is near to native, and their poses too",
}


def failure_clause(results: list[dict[str, Any]]) -> str:
    stages = Counter(result["failureStage"] for result in results if result["status"] == "FAILED")
    if not stages:
        return ""
    return (
        " The others failed: "
        + ", ".join(f"{count:,} in {STAGES.get(stage, stage)}" for stage, count in sorted(stages.items()))
        + "."
    )
