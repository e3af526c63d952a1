"""Docks one prepared ligand with AutoDock Vina and nothing else: what `vina --receptor … --ligand …` does. Arguments: the request,
the ligand, and where the poses go (<ligand>.out when it is not said)."""

import json
import sys

import vina

request = json.load(open(sys.argv[1], encoding="utf-8"))
engine = vina.Vina(sf_name="vina", cpu=1, seed=request["seed"], verbosity=0)
engine.set_receptor(request["receptor"])
engine.compute_vina_maps(center=request["center"], box_size=request["size"])
engine.set_ligand_from_file(sys.argv[2])
engine.dock(exhaustiveness=request["exhaustiveness"], n_poses=9, min_rmsd=1.0)
with open(sys.argv[3] if len(sys.argv) > 3 else sys.argv[2] + ".out", "w", encoding="utf-8") as file:
    file.write(engine.poses(n_poses=9, energy_range=3.0))
