"""Gives a receptor its hydrogens: PDB2PQR rebuilds missing atoms and places hydrogens by PROPKA's pKa values.

Everything here uses working ids (residues.Numbering): chains of one letter, numbers without insertion codes.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from components import Prepared
from pdbqt import is_atom
from pdbtext import Line, parse_line, text_of
from residues import HISTIDINES, HYDROGENS, Numbering, is_polymer, listed
from structure import Atom, Residue
from task import one_line, user_error

# Of a residue whose state the request gives: its names, the name in each state, and the hydrogens of its carboxylic acid.
CARBOXYLS: dict[str, tuple[frozenset[str], dict[str, str], frozenset[str]]] = {
    "ASP": (frozenset(("ASP", "ASH")), {"anionic": "ASP", "neutral": "ASH"}, frozenset(("HD1", "HD2"))),
    "GLU": (frozenset(("GLU", "GLH")), {"anionic": "GLU", "neutral": "GLH"}, frozenset(("HE1", "HE2"))),
}
FORCED_PKA = {"anionic": -99.0, "neutral": 99.0}  # below and above every pH
# Names of a residue's protonation states, by which PDB2PQR calls it and which Meeko tells apart by the hydrogens.
BASE_NAMES = {"ASH": "ASP", "GLH": "GLU", "LYN": "LYS", "CYX": "CYS", "CYM": "CYS", "TYM": "TYR", "AR0": "ARG"} | dict.fromkeys(
    HISTIDINES, "HIS"
)
USUAL_STATES = frozenset("ASP GLU LYS ARG CYS TYR".split())  # everything else is worth reporting, a histidine's always
UNCONVERTED = {"TYM": "TYR"}
MAX_SET_ASIDE = 20  # residues, or rounds, before PDB2PQR is given up
NAMED_BY_PDB2PQR = re.compile(r"\b([A-Z0-9]{1,3}) ([A-Za-z0-9]) (-?\d+)\b")
# Atoms that give a metal their electrons and may have a hydrogen before, and how near they are to it.
METAL_LIGANDS = {(name, atom) for name in HISTIDINES for atom in ("ND1", "NE2")} | {(name, "SG") for name in ("CYS", "CYM", "CYX")}
OTHER_NITROGEN = {"ND1": "NE2", "NE2": "ND1"}
COORDINATION_ANGSTROM = 2.8
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
                f"receptorPreparation.fixedProtonationStates[{i}] names {fixed['residueName']} {fixed['residue']}{code} of chain "
                f"{one_line(fixed['chain'], 16)}, "
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


def protonate(
    lines: list[Line],
    states: dict[str, str],
    numbering: Numbering,
    prepared: Prepared,
    preparation: dict[str, Any],
    report: dict[str, Any],
) -> list[Line]:
    """The lines with the hydrogens of the pH. What stays as it is goes around PDB2PQR, and so does a residue that PDB2PQR cannot
    work on; where it names none, or too many, the hydrogens are left to Meeko."""
    aside = {numbering.working[residue] for residue in prepared.rigid}
    for _ in range(MAX_SET_ASIDE):
        polymer = [line for line in lines if is_polymer(line.residue) and line.element not in HYDROGENS and line.key not in aside]
        try:
            hydrogenated, pkas = run_pdb2pqr(text_of(polymer), states, preparation)
            break
        except Pdb2pqrError as error:
            named_by_it = {key for key in error.residues if key in numbering.author} - aside
            if not named_by_it:
                return left_to_meeko(lines, f"PDB2PQR cannot protonate it ({author_ids(str(error), numbering)})", report)
            for key in named_by_it:
                prepared.rigid[numbering.author[key]] = f"PDB2PQR cannot work on it ({author_ids(str(error), numbering)})"
            aside |= named_by_it
    else:
        return left_to_meeko(lines, f"PDB2PQR cannot work on more than {MAX_SET_ASIDE} of its residues", report)
    others = [line for line in lines if not is_polymer(line.residue) or line.key in aside]
    ended = without_false_termini(hydrogenated, lines, aside)
    hydrogenated = [line._replace(residue=BASE_NAMES.get(line.residue, line.residue)) for line in ended]
    if any(line.key not in numbering.author for line in hydrogenated):
        return left_to_meeko(lines, "PDB2PQR gave a residue another chain", report)
    report_rebuilt(polymer, hydrogenated, numbering, report)
    report_titration(hydrogenated, pkas, numbering, report)
    report["protonation"] = f"PDB2PQR and PROPKA at pH {preparation['protonationPh']:g}, {preparation['forceField']} force field"
    return hydrogenated + others


def left_to_meeko(lines: list[Line], why: str, report: dict[str, Any]) -> list[Line]:
    report["notes"].append(
        f"the receptor's hydrogens are placed by Meeko's residue templates: {why}; histidines get the state that fits their name"
    )
    report["protonation"] = "by Meeko's residue templates"
    return [line for line in lines if line.element not in HYDROGENS]


class Pdb2pqrError(Exception):
    """PDB2PQR cannot work on a receptor; residues are the working ids that it names."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message, 150))
        self.residues = {f"{chain}:{number}" for _, chain, number in NAMED_BY_PDB2PQR.findall(message)}


def author_ids(message: str, numbering: Numbering) -> str:
    """A message of PDB2PQR's with the author's residues in place of working ids."""

    def author(found: re.Match[str]) -> str:
        residue = numbering.author.get(f"{found[2]}:{found[3]}")
        return str(residue) if residue else found[0]

    return NAMED_BY_PDB2PQR.sub(author, message)


def run_pdb2pqr(pdb: str, states: dict[str, str], preparation: dict[str, Any]) -> tuple[list[Line], dict[str, float]]:
    """PDB2PQR's atoms, and PROPKA's pKa by working id. Residues with a given state get a pKa that leads to it, so that PDB2PQR
    places the acid's hydrogen by the hydrogen bonds around it. Raises Pdb2pqrError."""
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
                [
                    "--ff",
                    preparation["forceField"],
                    "--titration-state-method",
                    "propka",
                    "--with-ph",
                    str(preparation["protonationPh"]),
                    "--keep-chain",
                    "--log-level",
                    "ERROR",
                    "--pdb-output",
                    str(hydrogenated),
                    str(source),
                    str(pqr),
                ]
            )
        except (Exception, SystemExit) as error:  # it raises what its libraries raise
            raise Pdb2pqrError(str(error.__cause__ or error)) from error
        finally:
            program.run_propka = predict
        return [parse_line(line.rstrip("\n").ljust(80)) for line in hydrogenated.read_text().splitlines() if is_atom(line)], pkas


def free_metal_ligands(lines: list[Line], metals: list[tuple[float, float, float]]) -> list[Line]:
    """The lines without the hydrogens of what binds a metal: a cysteine's sulfur and the nitrogen of a histidine that points there.
    The other nitrogen of such a histidine has the hydrogen."""
    if not metals:
        return lines
    binding = {
        (line.key, line.name)
        for line in lines
        if (line.residue, line.name) in METAL_LIGANDS
        and any(math.dist(line.position, metal) <= COORDINATION_ANGSTROM for metal in metals)
    }
    gone, renamed = set(), {}
    for key, name in binding:
        if name == "SG":
            gone.add((key, "HG"))
            renamed[key] = "CYM"
        elif (key, OTHER_NITROGEN[name]) not in binding:
            gone |= (
                {(key, "HD1"), (key, "HE2")}
                if (key, hydrogen_of(OTHER_NITROGEN[name])) not in {(a.key, a.name) for a in lines}
                else {(key, hydrogen_of(name))}
            )
            renamed[key] = "HID" if name == "NE2" else "HIE"
    return [line._replace(residue=renamed.get(line.key, line.residue)) for line in lines if (line.key, line.name) not in gone]


def hydrogen_of(nitrogen: str) -> str:
    return {"ND1": "HD1", "NE2": "HE2"}[nitrogen]


def without_false_termini(lines: list[Line], given: list[Line], aside: set[str]) -> list[Line]:
    """PDB2PQR takes a residue beside one that goes around it (a phosphoserine) for a chain's end and caps it. The caps go;
    Meeko adds the hydrogen that belongs there."""
    atoms = {(line.key, line.name) for line in given}
    order = list(dict.fromkeys((line.chain, line.key, is_polymer(line.residue) and line.key not in aside) for line in given))
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
        for key, pka in pkas.items()
        if key in numbering.author and key in names
    ]
    unusual = [record for record in records if record["state"] not in USUAL_STATES]
    listed(report, "titration", [{**record, "state": UNCONVERTED.get(record["state"], record["state"])} for record in unusual])
    if any(record["state"] in UNCONVERTED for record in unusual):
        report["notes"].append("tyrosines that the pH deprotonates keep their hydrogen: Meeko has no template without it")


def state_of(name: str, hydrogens: set[str]) -> str:
    """The name of a residue's protonation state."""
    if name == "HIS":
        return {(True, True): "HIP", (True, False): "HID", (False, True): "HIE"}.get(
            ("HD1" in hydrogens, "HE2" in hydrogens), "HIS"
        )
    if name in CARBOXYLS:
        return CARBOXYLS[name][1]["neutral" if hydrogens & CARBOXYLS[name][2] else "anionic"]
    whole = {"LYS": {"HZ1", "HZ2", "HZ3"}, "CYS": {"HG"}, "TYR": {"HH"}}.get(name, set())
    unusual = {"LYS": "LYN", "CYS": "CYX or CYM", "TYR": "TYM"}
    return name if whole <= hydrogens else unusual[name]
