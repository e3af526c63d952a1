"""Makes a task of analyse.py whose answers are known: two tripeptides that tumble through a skewed box, every atom wrapped into
it by itself. Prints the RMSD, radius of gyration and RMSF in nm as JSON, computed here from the atoms before they were wrapped.

two_peptides.py TASK PDB FRAMES [waters] writes TASK/in. With waters, the peptides are left out.
"""

import json
import sys
from pathlib import Path

import numpy as np
from openmm import app, unit

NM = unit.nanometer
INTERVAL_STEPS, TIMESTEP_FS = 50, 2
COLUMNS = "step,time_ps,potential_kj_mol,kinetic_kj_mol,total_kj_mol,temperature_k,volume_nm3,density_g_ml,speed_ns_day"


def rotation(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def kabsch(moving: np.ndarray, still: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """All of moving, superposed on still by the atoms of fit."""
    a, b = moving[fit].mean(axis=0), still[fit].mean(axis=0)
    u, _, v = np.linalg.svd((moving[fit] - a).T @ (still[fit] - b))
    flip = np.diag([1, 1, np.sign(np.linalg.det(u @ v))])
    return (moving - a) @ (u @ flip @ v) + b


def wrapped(positions: np.ndarray, cell: np.ndarray) -> np.ndarray:
    parts = positions @ np.linalg.inv(cell)
    return (parts - np.floor(parts)) @ cell


def main() -> None:
    task, frames, waters = Path(sys.argv[1]), int(sys.argv[3]), sys.argv[4:] == ["waters"]
    (task / "in").mkdir(parents=True, exist_ok=True)
    model = app.Modeller(*(lambda pdb: (pdb.topology, pdb.positions))(app.PDBFile(sys.argv[2])))
    if waters:
        model.delete([r for r in model.topology.residues() if r.name == "ALA"])
    start, topology = np.array(model.positions.value_in_unit(NM)), model.topology
    cell = np.array(topology.getPeriodicBoxVectors().value_in_unit(NM))
    with open(task / "in" / "topology.pdb", "w") as file:
        app.PDBFile.writeFile(topology, model.positions, file, keepIds=True)
    random = np.random.default_rng(7)
    peptide = np.array([a.index for a in topology.atoms() if a.residue.name == "ALA"], dtype=int)
    fit = np.array([a.index for a in topology.atoms() if a.residue.name == "ALA" and a.name in ("N", "CA", "C", "O")], dtype=int)
    middles = np.array([a.index for a in topology.atoms() if a.residue.name == "ALA" and a.name == "CA"], dtype=int)
    masses = np.array([a.element.mass.value_in_unit(unit.dalton) for a in topology.atoms()])
    path = []
    with open(task / "in" / "trajectory.dcd", "wb") as file:
        dcd = app.DCDFile(file, topology, TIMESTEP_FS * unit.femtosecond, INTERVAL_STEPS, INTERVAL_STEPS)
        for frame in range(frames):
            shaken = start + random.normal(scale=0.01 * (1 + frame % 5), size=start.shape)
            path.append(shaken @ rotation(0.3 * frame) + [0.17 * frame, -0.11 * frame, 0.05 * frame])
            dcd.writeModel(wrapped(path[-1], cell) * NM, periodicBoxVectors=cell * NM)
    rows = [
        f"{s},{s * 0.002},{-1000 - i % 7},{100 + i % 5},{-900 + i % 3},{300 + i % 9 - 4},21.0,{0.9 + 0.0001 * i},{10.0}"
        for i, s in enumerate(steps(frames))
    ]
    (task / "in" / "state.csv").write_text("\n".join([COLUMNS, *rows]) + "\n")
    if waters:
        print("{}")
        return
    laid = np.array([kabsch(p, path[0], fit) for p in path])
    rmsd = np.sqrt(((laid[:, fit] - path[0][fit]) ** 2).sum(axis=2).mean(axis=1))
    heavy = masses[peptide]
    centred = [p[peptide] - heavy @ p[peptide] / heavy.sum() for p in path]
    gyration = [float(np.sqrt(heavy @ (p**2).sum(axis=1) / heavy.sum())) for p in centred]
    rmsf = np.sqrt(((laid[:, middles] - laid[:, middles].mean(axis=0)) ** 2).sum(axis=2).mean(axis=0))
    print(json.dumps({"rmsd": rmsd.tolist(), "gyration": gyration, "rmsf": rmsf.tolist()}))


def steps(frames: int) -> range:
    return range(INTERVAL_STEPS, (frames + 1) * INTERVAL_STEPS, INTERVAL_STEPS)


if __name__ == "__main__":
    main()
