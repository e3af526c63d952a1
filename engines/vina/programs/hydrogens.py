"""Gives a receptor its hydrogens: PDB2PQR rebuilds missing atoms and places hydrogens by PROPKA's pKa values.

Everything here uses working ids (residues.Numbering): chains of one letter, numbers without insertion codes.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from common import is_atom, one_line, user_error
from pdbtext import Line, parse_line, text_of
from residues import AMINO_ACIDS, HISTIDINES, HYDROGENS, Numbering, is_polymer, listed
from structure import Atom, Residue, named

# Of a residue whose state the request gives: its names, the name in each state, and the hydrogens of its carboxylic acid.
CARBOXYLS: dict[str, tuple[frozenset[str], dict[str, str], frozenset[str]]] = {
    "ASP": (frozenset(("ASP", "ASH")), {"anionic": "ASP", "neutral": "ASH"}, frozenset(("HD1", "HD2"))),
    "GLU": (frozenset(("GLU", "GLH")), {"anionic": "GLU", "neutral": "GLH"}, frozenset(("HE1", "HE2"))),
}
FORCED_PKA = {"anionic": -99.0, "neutral": 99.0}  # below and above every pH
# Names of a residue's protonation states, by which PDB2PQR calls it and which Meeko tells apart by the hydrogens.
BASE_NAMES = {"ASH": "ASP", "GLH": "GLU", "LYN": "LYS", "CYX": "CYS", "CYM": "CYS", "TYM": "TYR", "AR0": "ARG"} | dict.fromkeys(HISTIDINES, "HIS")
USUAL_STATES = frozenset("ASP GLU LYS ARG CYS TYR".split())  # everything else is worth reporting, a histidine's always
UNCONVERTED = {"TYM": "TYR"}
BACKBONE = frozenset("N CA C".split())
CAPS = frozenset("H H1 H2 H3 HXT".split())


def fixed_states(preparation: dict[str, Any], kept: dict[Residue, list[Atom]], numbering: Numbering) -> dict[str, str]:
    """Working id → name of the state (ASP, ASH, GLU, GLH) of the residues whose state the request gives."""
    present = {residue[:3]: residue for residue in kept}
    states = {}
    for i, fixed in enumerate(preparation.get("fixedProtonationStates", [])):
        code = (fixed.get("insertionCode") or "").strip()
        found = present.get((fixed["chain"], fixed["residue"], code))
        names, by_state, _ = CARBOXYLS[fixed["residueName"]]
        if found is None or found.name not in names:
            there = f"; there is {found}" if found else ""
            raise user_error(
                "RECEPTOR_RESIDUE_MISSING",
                f"receptorPreparation.fixedProtonationStates[{i}] names {fixed['residueName']} {fixed['residue']}{code} of chain {one_line(fixed['chain'], 16)}, "
                f"which the receptor does not have{there}.",
            )
        states[numbering.working[found]] = by_state[fixed["state"]]
    return states


def enforce(lines: list[Line], states: dict[str, str]) -> list[Line]:
    """The lines with the given states: a name that Meeko takes for the state, and no acid hydrogen on an anion."""
    kept = []
    for line in lines:
        state = states.get(line.key)
        if state is not None:
            if state in CARBOXYLS and line.name in CARBOXYLS[state][2]:
                continue
            line = line._replace(residue=state)
        kept.append(line)
    return kept


def protonate(lines: list[Line], states: dict[str, str], numbering: Numbering, preparation: dict[str, Any], report: dict[str, Any]) -> list[Line]:
    """The lines with the hydrogens of the pH. Ions and components that PDB2PQR does not know go around it."""
    polymer = [line for line in lines if is_polymer(line.residue) and line.element not in HYDROGENS]
    others = [line for line in lines if not is_polymer(line.residue)]
    hint = incomplete_backbones(polymer, numbering)
    hydrogenated, pkas = run_pdb2pqr(text_of(polymer), states, preparation, hint)
    hydrogenated = [line._replace(residue=BASE_NAMES.get(line.residue, line.residue)) for line in without_false_termini(hydrogenated, lines)]
    strange = [line.residue for line in hydrogenated if line.key not in numbering.author]
    if strange:
        raise user_error("RECEPTOR_PROTONATION_FAILED", f"PDB2PQR gave {strange[0]} another chain; name the receptor's chains, or set receptorPreparation.protonationMethod to meeko.")
    report_rebuilt(polymer, hydrogenated, numbering, report)
    report_titration(hydrogenated, pkas, numbering, report)
    report["protonation"] = f"PDB2PQR and PROPKA at pH {preparation['protonationPh']:g}, {preparation['forceField']} force field"
    return hydrogenated + others


def incomplete_backbones(polymer: list[Line], numbering: Numbering) -> str:
    """What PDB2PQR cannot rebuild, for its failure's message: it says nothing itself."""
    names: dict[str, set[str]] = {}
    for line in polymer:
        if line.residue in AMINO_ACIDS:
            names.setdefault(line.key, set()).add(line.name)
    incomplete = [str(numbering.author[key]) for key, present in names.items() if not BACKBONE <= present]
    return f"; residues without a whole backbone (N, CA, C): {named(incomplete)}" if incomplete else ""


def run_pdb2pqr(pdb: str, states: dict[str, str], preparation: dict[str, Any], hint: str) -> tuple[list[Line], dict[str, float]]:
    """PDB2PQR's atoms, and PROPKA's pKa by working id. Residues with a given state get a pKa that leads to it, so that PDB2PQR
    places the acid's hydrogen by the hydrogen bonds around it."""
    logging.getLogger().setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    import pdb2pqr.main as program

    predict, pkas = program.run_propka, {}

    def predict_and_force(arguments: Any, biomolecule: Any) -> Any:
        rows, text = predict(arguments, biomolecule)
        for row in rows:
            if row["group_label"].startswith(row["res_name"]):
                working = f"{row['chain_id'].strip()}:{row['res_num']}"
                pkas[working] = round(float(row["pKa"]), 2)
                if working in states:
                    row["pKa"] = FORCED_PKA["anionic" if states[working] in CARBOXYLS else "neutral"]
        return rows, text

    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(sys.stderr):
        source, hydrogenated, pqr = (Path(scratch) / name for name in ("source.pdb", "hydrogenated.pdb", "receptor.pqr"))
        source.write_text(pdb)
        program.run_propka = predict_and_force
        try:
            program.run_pdb2pqr(
                ["--ff", preparation["forceField"], "--titration-state-method", "propka", "--with-ph", str(preparation["protonationPh"]),
                 "--keep-chain", "--log-level", "ERROR", "--pdb-output", str(hydrogenated), str(source), str(pqr)]
            )  # fmt: skip
        except (Exception, SystemExit) as error:
            raise user_error(
                "RECEPTOR_PROTONATION_FAILED",
                f"PDB2PQR cannot protonate the receptor ({one_line(str(error.__cause__ or error), 150)}{hint}); repair it, or set receptorPreparation.protonationMethod to meeko.",
            ) from error
        finally:
            program.run_propka = predict
        return [parse_line(line.rstrip("\n").ljust(80)) for line in hydrogenated.read_text().splitlines() if is_atom(line)], pkas


def without_false_termini(lines: list[Line], given: list[Line]) -> list[Line]:
    """PDB2PQR takes a residue beside one that goes around it (a phosphoserine) for a chain's end and caps it. The caps go;
    Meeko adds the hydrogen that belongs there."""
    atoms = {(line.key, line.name) for line in given}
    order = list(dict.fromkeys((line.chain, line.key, is_polymer(line.residue)) for line in given))
    beside = {
        key
        for i, (chain, key, inside) in enumerate(order)
        for j in (i - 1, i + 1)
        if inside and 0 <= j < len(order) and not order[j][2] and order[j][0] == chain
    }

    def is_cap(line: Line) -> bool:
        return line.key in beside and (line.name in CAPS or (line.name == "OXT" and (line.key, line.name) not in atoms))

    return [line for line in lines if not is_cap(line)]


def report_rebuilt(before: list[Line], after: list[Line], numbering: Numbering, report: dict[str, Any]) -> None:
    given = {(line.key, line.name) for line in before}
    rebuilt: dict[str, list[str]] = {}
    for line in after:
        if line.element not in HYDROGENS and (line.key, line.name) not in given:
            rebuilt.setdefault(line.key, []).append(line.name)
    report["rebuiltHeavyAtoms"] = sum(map(len, rebuilt.values()))
    listed(report, "rebuiltResidues", [{**numbering.author[key].record(), "atoms": names} for key, names in rebuilt.items()])


def report_titration(lines: list[Line], pkas: dict[str, float], numbering: Numbering, report: dict[str, Any]) -> None:
    """The predicted pKa and the state of each histidine and of each residue in an unusual state."""
    hydrogens: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for line in lines:
        names[line.key] = line.residue
        if line.element in HYDROGENS:
            hydrogens.setdefault(line.key, set()).add(line.name)
    records = [
        {**numbering.author[key].record(), "pKa": pka, "state": state_of(names[key], hydrogens.get(key, set()))}
        for key, pka in pkas.items() if key in numbering.author and key in names
    ]  # fmt: skip
    unusual = [record for record in records if record["state"] not in USUAL_STATES]
    listed(report, "titration", [{**record, "state": UNCONVERTED.get(record["state"], record["state"])} for record in unusual])
    if any(record["state"] in UNCONVERTED for record in unusual):
        report["notes"].append("tyrosines that the pH deprotonates keep their hydrogen: Meeko has no template without it")


def state_of(name: str, hydrogens: set[str]) -> str:
    """The name of a residue's protonation state."""
    if name == "HIS":
        return {(True, True): "HIP", (True, False): "HID", (False, True): "HIE"}.get(("HD1" in hydrogens, "HE2" in hydrogens), "HIS")
    if name in CARBOXYLS:
        return CARBOXYLS[name][1]["neutral" if hydrogens & CARBOXYLS[name][2] else "anionic"]
    whole = {"LYS": {"HZ1", "HZ2", "HZ3"}, "CYS": {"HG"}, "TYR": {"HH"}}.get(name, set())
    unusual = {"LYS": "LYN", "CYS": "CYX or CYM", "TYR": "TYM"}
    return name if whole <= hydrogens else unusual[name]
