"""Makes a system of an Amber topology with its parameters (prmtop) and the coordinates that belong to it (inpcrd)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from openmm import app, unit

from amber_pointers import check_pointers
from systems import CUTOFF_NM, MAX_COORDINATE_NM, Prepared, check_box, check_particles, hydrogen_mass, listed
from task import one_line, user_error

WATERS = frozenset(("WAT", "HOH", "SOL", "TIP3"))
MOST_ANGLE_DIFFERENCE_DEG = 1.0
EDGE_NOTE_SHARE = 0.02


def prepare_amber(request: dict[str, Any], prmtop_path: Path, inpcrd_path: Path) -> Prepared:
    read_text(prmtop_path, "PRMTOP_UNREADABLE", "prmtop")
    check_pointers(prmtop_path, request["maxAtoms"])
    prmtop, inpcrd = read_prmtop(prmtop_path), read_inpcrd(inpcrd_path)
    notes: list[str] = []
    atoms, coordinates = prmtop.topology.getNumAtoms(), len(inpcrd.positions)
    if atoms != coordinates:
        raise user_error(
            "AMBER_FILES_DIFFER",
            f"The prmtop has {atoms:,} atoms and the coordinates have {coordinates:,}; give the two files of one system.",
        )
    check_particles(atoms, "The system has")
    box = box_of(prmtop, inpcrd, notes)
    prmtop.topology.setPeriodicBoxVectors(box)
    report = {
        "kind": "amber",
        "format": "prmtop",
        "waters": sum(residue.name in WATERS for residue in prmtop.topology.residues()),
        "velocitiesIgnored": inpcrd.velocities is not None,
    }
    protocol = request["protocol"]
    notes.append("pH and ionicStrengthM were not applied: the prmtop says what the system is")
    try:
        system = prmtop.createSystem(
            nonbondedMethod=app.PME,
            nonbondedCutoff=CUTOFF_NM * unit.nanometer,
            constraints=app.HBonds,
            rigidWater=True,
            removeCMMotion=protocol["removeCenterOfMassMotion"],
            hydrogenMass=hydrogen_mass(protocol, notes),
        )
    except Exception as error:  # a damaged section shows up anywhere in its conversion
        raise user_error(
            "PRMTOP_UNREADABLE", f"The prmtop's parameters cannot be used: {reason(error)}. Write it again with tleap or parmed."
        ) from None
    return Prepared(system, prmtop.topology, inpcrd.positions, box, report, notes)


def reason(error: Exception) -> str:
    return one_line(str(error).rstrip("."), 200) or type(error).__name__


def read_text(path: Path, code: str, what: str) -> None:
    """Refuses a file that is empty or no text."""
    content = path.read_bytes()
    if not content.strip():
        raise user_error(code, f"The {what} is an empty file; upload it again.")
    if b"\0" in content:
        raise user_error(code, f"The {what} is a binary file (NetCDF, perhaps); give it as text.")


def read_prmtop(path: Path) -> app.AmberPrmtopFile:
    """Reads a prmtop whose pointers have been checked."""
    try:
        return app.AmberPrmtopFile(str(path))
    except Exception as error:  # the reader raises whatever its parsing meets
        raise user_error(
            "PRMTOP_UNREADABLE", f"The prmtop cannot be read: {reason(error)}. Give the topology file that tleap or parmed wrote."
        ) from None


def read_inpcrd(path: Path) -> app.AmberInpcrdFile:
    read_text(path, "INPCRD_UNREADABLE", "coordinates")
    try:
        inpcrd = app.AmberInpcrdFile(str(path))
        near = bool(
            (np.abs(np.array(inpcrd.positions.value_in_unit(unit.nanometer), dtype=float)) <= MAX_COORDINATE_NM).all()
        )  # not so of NaN
    except Exception as error:
        raise user_error(
            "INPCRD_UNREADABLE", f"The coordinates cannot be read: {reason(error)}. Give the inpcrd or rst7 file of the prmtop."
        ) from None
    if not near:
        raise user_error(
            "INPCRD_UNREADABLE",
            "The coordinates hold values that are no numbers, or beyond 10,000 Å. Give the inpcrd or rst7 file of the prmtop.",
        )
    return inpcrd


def box_of(prmtop: app.AmberPrmtopFile, inpcrd: app.AmberInpcrdFile, notes: list[str]) -> Any:
    """The coordinates' box, which the prmtop's must be like: its edges are those of the start of a preparation, and may be
    older."""
    stated, box = prmtop.topology.getPeriodicBoxVectors(), inpcrd.boxVectors
    if stated is None:
        raise user_error(
            "NO_PERIODIC_BOX", "The prmtop says that its system has no periodic box, which PME needs; give a solvated system."
        )
    check_box(box)
    (edges, angles), (old_edges, old_angles) = shape(box), shape(stated)
    if np.abs(angles - old_angles).max() > MOST_ANGLE_DIFFERENCE_DEG:
        raise user_error(
            "AMBER_FILES_DIFFER",
            f"The box of the prmtop has the angles {listed(old_angles)}° and that of the coordinates {listed(angles)}°; give the "
            f"two files of one system.",
        )
    if np.abs(edges / old_edges - 1).max() > EDGE_NOTE_SHARE:
        notes.append(f"the coordinates' box ({listed(edges)} nm) was used, not the prmtop's ({listed(old_edges)} nm)")
    return box


def shape(box: Any) -> tuple[np.ndarray, np.ndarray]:
    """Edges in nm and angles in degrees."""
    a, b, c = np.array(box.value_in_unit(unit.nanometer), dtype=float)
    edges = np.array([np.linalg.norm(v) for v in (a, b, c)])
    cosines = [b @ c / (edges[1] * edges[2]), a @ c / (edges[0] * edges[2]), a @ b / (edges[0] * edges[1])]
    return edges, np.degrees(np.arccos(np.clip(cosines, -1, 1)))
