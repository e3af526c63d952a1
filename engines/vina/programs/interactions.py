"""Non-covalent contacts between a docked pose and its receptor, found with ProLIF and told in the receptor's own numbering.

The receptor is parsed once; RDKit takes its bonds from the distances and from its table of standard residues, and this module
puts right what that table does not know: the charges of acids, and which nitrogen of a histidine has the double bond. Where
a residue cannot be understood it is left out, and the receptor's notes say so.
"""

from __future__ import annotations

import math
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
import prolif
from rdkit import Chem
from scipy.spatial import cKDTree

NEAR_ANGSTROM = 8.0  # residues farther than this from every atom of a pose have no part in it
# Residues farther than this from every pose are not even read: what the others are bonded to lies nearer. ProLIF's time to take
# a receptor to pieces grows with the square of its size: 0.2 s for 4,000 atoms, 45 s for 50,000.
KEPT_ANGSTROM = 12.0
MAX_INTERACTIONS = 40  # of one pose
MAX_LEFT_OUT = 50  # residues that RDKit cannot understand; with more the receptor is not what it seems to be
MAX_REPAIRS = 20  # rounds of leaving out residues

# Distances in Å between heavy atoms or ring centres, angles in degrees. ProLIF's defaults, which follow Pharmit and RDKit's
# features, but for the angle of the hydrogen bond: ProLIF asks for 130 degrees at the hydrogen, PLIP for 100 (Salentin et al. 2015,
# doi:10.1093/nar/gkv315). A docked pose's hydrogens are ideal and not refined: imatinib's amide points at ABL1's Glu 286 at 131
# degrees in the crystal and at 109 where Vina puts it, 0.5 Å away. PLIP's 4.1 Å are not taken over: bonds so long are weak (Jeffrey
# 1997).
HYDROGEN_BOND = {"distance": 3.5, "DHA_angle": (100, 180)}
PARAMETERS: dict[str, dict[str, Any]] = {
    "HBDonor": HYDROGEN_BOND,
    "HBAcceptor": HYDROGEN_BOND,
    "Hydrophobic": {"distance": 4.5},
    "PiStacking": {
        "ftf_kwargs": {"distance": 5.5, "plane_angle": (0, 35), "normal_to_centroid_angle": (0, 33)},
        "etf_kwargs": {"distance": 6.5, "plane_angle": (50, 90), "normal_to_centroid_angle": (0, 30), "intersect_radius": 1.5},
    },
    "CationPi": {"distance": 4.5, "angle": (0, 30)},
    "PiCation": {"distance": 4.5, "angle": (0, 30)},
    "Cationic": {"distance": 4.5},
    "Anionic": {"distance": 4.5},
    "XBDonor": {"distance": 3.5, "AXD_angle": (130, 180), "XAR_angle": (80, 140)},
    "XBAcceptor": {"distance": 3.5, "AXD_angle": (130, 180), "XAR_angle": (80, 140)},
    "MetalDonor": {"distance": 2.8},
    "MetalAcceptor": {"distance": 2.8},
}
TYPES = {
    "HBDonor": "hydrogen_bond",
    "HBAcceptor": "hydrogen_bond",
    "Hydrophobic": "hydrophobic",
    "PiStacking": "pi_stacking",
    "CationPi": "pi_cation",
    "PiCation": "pi_cation",
    "Cationic": "salt_bridge",
    "Anionic": "salt_bridge",
    "XBDonor": "halogen_bond",
    "XBAcceptor": "halogen_bond",
    "MetalDonor": "metal_complex",
    "MetalAcceptor": "metal_complex",
}
ORDERS = {1.0: Chem.BondType.SINGLE, 2.0: Chem.BondType.DOUBLE, 3.0: Chem.BondType.TRIPLE}
ANGLES = ("DHA_angle", "AXD_angle", "plane_angle", "angle")  # ProLIF's names of the angle that is reported
BRIDGE_BONDS = ("HBDonor", "HBAcceptor")

WATERS = frozenset(("HOH", "WAT", "DOD", "H2O", "SOL", "TIP", "TP3"))
METALS = frozenset((3, 4, 11, 12, 13, 19, 20, *range(21, 32), *range(37, 50), *range(55, 84)))  # atomic numbers
# Names that say a protonation state, as RDKit's table of bond orders knows the residue.
STANDARD_NAMES = {
    "HID": "HIS",
    "HIE": "HIS",
    "HIP": "HIS",
    "HSD": "HIS",
    "HSE": "HIS",
    "HSP": "HIS",
    "ASH": "ASP",
    "GLH": "GLU",
    "LYN": "LYS",
    "CYX": "CYS",
    "CYM": "CYS",
}


class ReceptorAtom(NamedTuple):
    """An atom as its depositors call it. serial is its number in the file that was given; None when the preparation added it."""

    chain: str
    residue: int
    insertion_code: str
    residue_name: str
    name: str
    serial: int | None


class Receptor:
    """The receptor of a shard: its molecule, the names of its atoms, and its residues as ProLIF wants them.

    pdb is PDB text with hydrogens; numbering is serials.json: its serials map chain:number:insertionCode:atomName to serials of
    the given file, its renamed gives the author's chain, number and insertion code where PDB's columns do not hold them; poses are
    the positions of all poses' atoms, (n, 3) in Å. Raises ValueError when RDKit cannot make a molecule of what is near them.
    """

    def __init__(self, pdb: str, numbering: dict[str, Any], poses: np.ndarray) -> None:
        self.notes: list[str] = []
        lines = lines_near(pdb, poses)
        self.given_names = {(line[21].strip(), int(line[22:26]), line[26].strip()): line[17:20].strip() for line in lines}
        molecule = Chem.MolFromPDBBlock(standard_names(lines), removeHs=False, sanitize=False)
        if molecule is None or molecule.GetNumAtoms() == 0:
            raise ValueError("RDKit cannot read the prepared receptor around the poses")
        molecule = Chem.RWMol(molecule)
        set_bonds(molecule, numbering.get("molecules", []))
        molecule = self.understood(molecule)
        self.atoms = [self.named(atom, numbering["serials"], numbering.get("renamed", {})) for atom in molecule.GetAtoms()]
        self.residue_numbers = number_residues(molecule)
        self.positions = molecule.GetConformer().GetPositions()
        self.molecule = prolif.Molecule(molecule)
        self.residue_ids = {residue.number: residue for residue in self.molecule.residues}
        self.waters = {number for number, atom in zip(self.residue_numbers, self.atoms) if atom.residue_name in WATERS}

    def understood(self, molecule: Chem.RWMol) -> Chem.Mol:
        """The sanitised molecule, without the residues that have impossible valences."""
        has_hydrogens = any(atom.GetAtomicNum() == 1 for atom in molecule.GetAtoms())
        free_hydrogens(molecule)
        charge_acids(molecule)
        place_histidine_bonds(molecule)
        loosen(molecule, [atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetAtomicNum() in METALS])
        loosen(molecule, problem_atoms(molecule))
        left_out: list[str] = []
        for _ in range(MAX_REPAIRS):
            troubled = {residue_key(molecule.GetAtomWithIdx(i)) for i in problem_atoms(molecule)}
            if not troubled:
                break
            left_out += sorted("".join(map(str, (key[3], " ", key[0], key[1], key[2]))).strip() for key in troubled)
            remove_residues(molecule, troubled)
        if len(left_out) > MAX_LEFT_OUT or molecule.GetNumAtoms() == 0:
            raise ValueError(f"RDKit cannot understand {len(left_out)} residues of the prepared receptor")
        if left_out:
            self.notes.append("interactions leave out residues that cannot be understood: " + ", ".join(left_out))
        if not has_hydrogens:
            self.notes.append("the receptor has no hydrogens, so its donors of hydrogen bonds are not known")
        Chem.SanitizeMol(molecule)
        return molecule.GetMol()

    def named(self, atom: Chem.Atom, serials: dict[str, int], renamed: dict[str, Any]) -> ReceptorAtom:
        chain, number, code, _ = residue_key(atom)
        name, place = atom.GetPDBResidueInfo().GetName().strip(), f"{chain}:{number}:{code}"
        author = renamed.get(place, (chain, number, code))
        return ReceptorAtom(*author, self.given_names[chain, number, code], name, serials.get(f"{place}:{name}"))

    def near(self, positions: np.ndarray) -> list[int]:
        """Numbers of the residues with an atom within NEAR_ANGSTROM of a position; positions is (n, 3) in Å."""
        distances, _ = cKDTree(positions).query(self.positions, distance_upper_bound=NEAR_ANGSTROM)
        return sorted({number for number, distance in zip(self.residue_numbers, distances) if math.isfinite(distance)})


def lines_near(pdb: str, poses: np.ndarray) -> list[str]:
    """The atom lines of the residues with an atom within KEPT_ANGSTROM of a pose; none when there is no pose."""
    lines = [line for line in pdb.splitlines() if line.startswith(("ATOM", "HETATM"))]
    if not lines or not len(poses):
        return []
    positions = np.array([[float(line[start : start + 8]) for start in (30, 38, 46)] for line in lines])
    distances, _ = cKDTree(poses).query(positions, distance_upper_bound=KEPT_ANGSTROM)
    kept = {line[17:27] for line, distance in zip(lines, distances) if math.isfinite(distance)}
    return [line for line in lines if line[17:27] in kept]


def standard_names(lines: list[str]) -> str:
    return "\n".join(line[:17] + STANDARD_NAMES.get(line[17:20], line[17:20]) + line[20:] for line in lines) + "\n"


def residue_key(atom: Chem.Atom) -> tuple[str, int, str, str]:
    info = atom.GetPDBResidueInfo()
    return info.GetChainId().strip(), info.GetResidueNumber(), info.GetInsertionCode().strip(), info.GetResidueName().strip()


def number_residues(molecule: Chem.Mol) -> list[int]:
    """Numbers the residues from 1, one chain for all, and returns every atom's number: ProLIF knows no insertion codes, and
    takes no residue in pieces, so that a piece counts as a residue here."""
    keys = [residue_key(atom) for atom in molecule.GetAtoms()]
    numbers, count = [0] * len(keys), 0
    for start in range(len(keys)):
        if numbers[start]:
            continue
        count += 1
        numbers[start], reached = count, [start]
        while reached:
            i = reached.pop()
            for neighbour in molecule.GetAtomWithIdx(i).GetNeighbors():
                j = neighbour.GetIdx()
                if not numbers[j] and keys[j] == keys[i]:
                    numbers[j] = count
                    reached.append(j)
    for atom, number in zip(molecule.GetAtoms(), numbers):
        info = atom.GetPDBResidueInfo()
        info.SetResidueNumber(number)
        info.SetInsertionCode("")
        info.SetChainId("A")
    return numbers


def free_hydrogens(molecule: Chem.RWMol) -> None:
    """Leaves every hydrogen one bond, the shortest to its own residue: in a tight place RDKit also joins it to a neighbour. A
    hydrogen without such a bond was placed for a chain's end where there is none; it goes."""
    positions = molecule.GetConformer().GetPositions()
    molecule.BeginBatchEdit()
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() != 1:
            continue
        i, key = atom.GetIdx(), residue_key(atom)
        partners = [n.GetIdx() for n in atom.GetNeighbors()]
        own = [j for j in partners if residue_key(molecule.GetAtomWithIdx(j)) == key]
        if not own:
            molecule.RemoveAtom(i)
            continue
        nearest = min(own, key=lambda j: float(np.linalg.norm(positions[i] - positions[j])))
        for j in partners:
            if j != nearest:
                molecule.RemoveBond(i, j)
    molecule.CommitBatchEdit()


def set_bonds(molecule: Chem.RWMol, known: list[dict[str, Any]]) -> None:
    """Gives cofactors and what else stayed as it is the bonds and charges that the preparation found; RDKit's table has none of
    them."""
    places: dict[tuple[str, int, str], dict[str, int]] = {}
    for atom in molecule.GetAtoms():
        chain, number, code, _ = residue_key(atom)
        places.setdefault((chain, number, code), {})[atom.GetPDBResidueInfo().GetName().strip()] = atom.GetIdx()
    for residue in known:
        atoms = places.get((residue["chain"], residue["residue"], residue["insertionCode"]), {})
        inside = set(atoms.values())
        for bond in [bond for bond in molecule.GetBonds() if {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= inside]:
            molecule.RemoveBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
        for first, second, order in residue["bonds"]:
            if first in atoms and second in atoms:
                molecule.AddBond(atoms[first], atoms[second], ORDERS[order])
        for name, charge in residue["charges"].items():
            if name in atoms:
                molecule.GetAtomWithIdx(atoms[name]).SetFormalCharge(charge)


def hydrogens_on(atom: Chem.Atom) -> int:
    return sum(1 for neighbour in atom.GetNeighbors() if neighbour.GetAtomicNum() == 1)


def charge_acids(molecule: Chem.RWMol) -> None:
    """Charges the single-bonded oxygens of acids that have no hydrogen."""
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() != 8 or atom.GetDegree() != 1 or atom.GetBonds()[0].GetBondType() != Chem.BondType.SINGLE:
            continue
        centre = atom.GetNeighbors()[0]
        if centre.GetAtomicNum() in (6, 15, 16):
            others = (bond.GetOtherAtom(centre) for bond in centre.GetBonds() if bond.GetBondType() == Chem.BondType.DOUBLE)
            if any(other.GetAtomicNum() == 8 for other in others):
                atom.SetFormalCharge(-1)


def place_histidine_bonds(molecule: Chem.RWMol) -> None:
    """Moves the double bond of a neutral histidine to the nitrogen without hydrogen, and that of a neutral acid to the oxygen
    without hydrogen; RDKit's table always gives it to ND1, OD1 and OE1."""
    by_residue: dict[tuple[str, int, str, str], dict[str, Chem.Atom]] = {}
    for atom in molecule.GetAtoms():
        if (key := residue_key(atom))[3] in ("HIS", "ASP", "GLU"):
            by_residue.setdefault(key, {})[atom.GetPDBResidueInfo().GetName().strip()] = atom
    for key, atoms in by_residue.items():
        first, centre, second = {"HIS": ("ND1", "CE1", "NE2"), "ASP": ("OD1", "CG", "OD2"), "GLU": ("OE1", "CD", "OE2")}[key[3]]
        if not {first, centre, second} <= set(atoms) or not hydrogens_on(atoms[first]) or hydrogens_on(atoms[second]):
            continue
        single, double = (molecule.GetBondBetweenAtoms(atoms[centre].GetIdx(), atoms[n].GetIdx()) for n in (first, second))
        if single is not None and double is not None:
            single.SetBondType(Chem.BondType.SINGLE)
            double.SetBondType(Chem.BondType.DOUBLE)
            atoms[first].SetFormalCharge(0)
            atoms[second].SetFormalCharge(0)


def problem_atoms(molecule: Chem.Mol) -> list[int]:
    atoms: list[int] = []
    for problem in Chem.DetectChemistryProblems(molecule):
        atoms += problem.GetAtomIndices() if hasattr(problem, "GetAtomIndices") else [problem.GetAtomIdx()]
    return atoms


def loosen(molecule: Chem.RWMol, atoms: list[int]) -> None:
    """Removes the bonds of these atoms to other residues but for peptide bonds: RDKit takes a close contact for a bond, and a
    metal's coordination too."""
    for i in atoms:
        atom = molecule.GetAtomWithIdx(i)
        for other in atom.GetNeighbors():
            peptide = {a.GetPDBResidueInfo().GetName().strip() for a in (atom, other)} == {"C", "N"}
            if residue_key(atom) != residue_key(other) and not peptide:
                molecule.RemoveBond(i, other.GetIdx())


def remove_residues(molecule: Chem.RWMol, keys: set[tuple[str, int, str, str]]) -> None:
    molecule.BeginBatchEdit()
    for atom in molecule.GetAtoms():
        if residue_key(atom) in keys:
            molecule.RemoveAtom(atom.GetIdx())
    molecule.CommitBatchEdit()


class Finder:
    """ProLIF with this module's parameters. One serves all poses."""

    def __init__(self) -> None:
        self.fingerprint = prolif.Fingerprint(list(PARAMETERS), parameters=PARAMETERS, count=True)
        self.bonds = prolif.Fingerprint(
            list(BRIDGE_BONDS), parameters={name: PARAMETERS[name] for name in BRIDGE_BONDS}, count=True
        )

    def find(self, receptor: Receptor, pose: Chem.Mol) -> list[dict[str, Any]]:
        """The interactions of a pose (one conformer, with hydrogens) as records of the document, at most
        MAX_INTERACTIONS, in the order of the receptor's residues."""
        numbers = [n for n in receptor.near(pose.GetConformer().GetPositions()) if n in receptor.residue_ids]
        residues = [receptor.residue_ids[n] for n in numbers]
        ligand = prolif.Molecule.from_rdkit(as_one_residue(pose))
        contacts: list[tuple[dict[str, Any], tuple[Any, ...]]] = []
        for found in self.fingerprint.generate(ligand, receptor.molecule, residues=residues, metadata=True).values():
            for name, hits in found.items():
                contacts += [contact(name, receptor, pose, hit) for hit in hits]
        contacts += self.bridges(receptor, pose, ligand, [n for n in numbers if n in receptor.waters], residues)
        return select(contacts)

    def bridges(
        self, receptor: Receptor, pose: Chem.Mol, ligand: prolif.Molecule, waters: list[int], residues: list[Any]
    ) -> list[tuple[dict[str, Any], tuple[Any, ...]]]:
        """Water bridges: a water of the receptor that has hydrogen bonds to the ligand and to another residue. The distance is
        that from the ligand's atom to the residue's."""
        others = [residue for residue in residues if residue.number not in receptor.waters]
        answer = []
        for number in waters:
            water = receptor.residue_ids[number]
            to_ligand = self.bonds.generate(ligand, receptor.molecule, residues=[water], metadata=True)
            hits = [hit for found in to_ligand.values() for hits in found.values() for hit in hits]
            if not hits:
                continue
            for other in others:
                beyond = self.bonds.metadata(receptor.molecule[water], receptor.molecule[other])
                answer += [bridge(receptor, pose, hit, far) for fars in beyond.values() for far in fars for hit in hits]
        return answer


def as_one_residue(pose: Chem.Mol) -> Chem.Mol:
    """A copy whose atoms are one residue to ProLIF, whatever their PDBQT said."""
    copy = Chem.Mol(pose)
    for atom in copy.GetAtoms():
        atom.SetMonomerInfo(Chem.AtomPDBResidueInfo(" X", residueName="UNL", residueNumber=1))
    return copy


def heavy(molecule: Chem.Mol, indices: tuple[int, ...]) -> list[int]:
    """Indices of the heavy atoms among indices, each hydrogen replaced by the atom that it sits on, in their order."""
    answer: list[int] = []
    for i in indices:
        atom = molecule.GetAtomWithIdx(i)
        if atom.GetAtomicNum() == 1 and atom.GetDegree():
            i = atom.GetNeighbors()[0].GetIdx()
        if i not in answer:
            answer.append(i)
    return answer


def record(kind: str, receptor: Receptor, index: int, ligand: list[int], distance: float, angle: float | None) -> dict[str, Any]:
    atom = receptor.atoms[index]
    return {
        "type": kind,
        "receptor": {
            "chain": atom.chain,
            "residue": atom.residue,
            "insertionCode": atom.insertion_code,
            "residueName": atom.residue_name,
            "atomName": atom.name,
            "atomSerial": atom.serial,
        },
        "ligand": {"atomIndices": ligand},
        "distanceAngstrom": round(distance, 2),
        "angleDegrees": None if angle is None else round(angle, 1),
    }


def contact(name: str, receptor: Receptor, pose: Chem.Mol, hit: dict[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The record of one hit of ProLIF, and a key that hits telling the same thing share: a residue counts once for all its
    hydrophobic contacts, and a charged group once for all its atoms. Of a ring the atom nearest to the ligand's is named."""
    kind = TYPES[name]
    ligand = heavy(pose, hit["parent_indices"]["ligand"])
    atoms = heavy(receptor.molecule, hit["parent_indices"]["protein"])
    if kind in ("pi_stacking", "pi_cation"):
        positions = pose.GetConformer().GetPositions()[ligand]
        atom = min(atoms, key=lambda i: float(np.linalg.norm(positions - receptor.positions[i], axis=1).min()))
    else:  # a halogen comes second in ProLIF's patterns, after what it is bound to
        atom = atoms[1 if name == "XBAcceptor" else 0]
        ligand = [ligand[1 if name == "XBDonor" else 0]]
    angle = next((hit[angle] for angle in ANGLES if angle in hit), None)
    residue = receptor.residue_numbers[atom]
    key: tuple[Any, ...] = (kind, residue, atom, *ligand)
    if kind == "hydrophobic":
        key = (kind, residue)
    elif kind == "salt_bridge":
        key = (kind, residue, charge_centre(pose, ligand[0]))
    elif kind in ("pi_stacking", "pi_cation"):
        key = (kind, residue, *sorted(ligand))
    return record(kind, receptor, atom, ligand, hit["distance"], angle), key


def charge_centre(pose: Chem.Mol, index: int) -> int:
    """The atom that a charged atom hangs on (the carbon of a carboxylate), or itself within a chain."""
    neighbours = [n.GetIdx() for n in pose.GetAtomWithIdx(index).GetNeighbors() if n.GetAtomicNum() > 1]
    return neighbours[0] if len(neighbours) == 1 else index


def bridge(receptor: Receptor, pose: Chem.Mol, near: dict[str, Any], far: dict[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """A water bridge from the water's hydrogen bonds to the ligand (near) and to a residue (far)."""
    ligand = heavy(pose, near["parent_indices"]["ligand"])[:1]
    atom = heavy(receptor.molecule, far["parent_indices"]["protein"])[0]
    distance = float(np.linalg.norm(pose.GetConformer().GetPositions()[ligand[0]] - receptor.positions[atom]))
    return record("water_bridge", receptor, atom, ligand, distance, None), ("water_bridge", atom, *ligand)


def select(contacts: list[tuple[dict[str, Any], tuple[Any, ...]]]) -> list[dict[str, Any]]:
    """The shortest of every key, at most MAX_INTERACTIONS: hydrophobic ones go first when there are more, then long ones."""

    def order(entry: dict[str, Any]) -> tuple[Any, ...]:
        atom = entry["receptor"]
        return (
            atom["chain"],
            atom["residue"],
            atom["insertionCode"],
            entry["type"],
            entry["distanceAngstrom"],
            atom["atomName"],
            entry["ligand"]["atomIndices"],
        )

    shortest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry, key in sorted(contacts, key=lambda pair: (pair[0]["distanceAngstrom"], order(pair[0]))):
        shortest.setdefault(key, entry)
    kept = sorted(shortest.values(), key=lambda entry: (entry["type"] == "hydrophobic", entry["distanceAngstrom"], order(entry)))
    return sorted(kept[:MAX_INTERACTIONS], key=order)


def method() -> dict[str, Any]:
    """What the document says of how interactions were found."""
    return {
        "tool": "ProLIF",
        "version": metadata.version("prolif"),
        "parameters": PARAMETERS,
        "types": TYPES,
        "nearAngstrom": NEAR_ANGSTROM,
        "mostPerPose": MAX_INTERACTIONS,
        "remarks": [
            "Distances are between heavy atoms or ring centres; a hydrogen is told as the heavy atom that it sits on.",
            "A residue counts once for all its hydrophobic contacts, and a charged group once for all its atoms.",
            "A water bridge is a water of the receptor with hydrogen bonds to the ligand and to a residue; its distance is from "
            "the ligand's atom to the residue's.",
        ],
    }
