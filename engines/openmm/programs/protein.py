"""Makes a system of a protein's structure: repairs it, protonates it, lays water and ions around it, and gives it its force field.

What is changed is reported. A gap in a chain is never bridged: the chain is cut there, and both ends become ordinary termini.
Waters and ions of the structure stay. Usual additives of crystallisation go. Any other component without parameters is
refused by name, because whether a ligand matters only its owner knows.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import app, unit
from pdbfixer import PDBFixer

from systems import CUTOFF_NM, MAX_COORDINATE_NM, Prepared, check_particles, check_planned, hydrogen_mass
from task import Failure, one_line, user_error

FORCE_FIELDS = {"amber14": "amber14-all.xml", "amber19": "amber19-all.xml"}
PADDING_NM = 1.0
ATOMS_PER_NM3 = 100  # of water
LARGE_BOX = "The box of water around the structure would have about"
LEAST_EDGE_NM = 2.4  # twice the cutoff, and room for the barostat to shrink a small box
LONGEST_BOND_NM = 0.25  # a peptide bond has 0.133, a phosphodiester bond 0.16
MAX_INPUT_ATOMS = 500_000
MAX_REPORTED = 200
# A box that solute and waters fill to this share is solvated already. Crystals with their ordered waters stay far below.
SOLVATED_SHARE = 0.85
WATER_VOLUME_NM3 = 0.0299
SOLUTE_VOLUME_NM3_PER_DALTON = 0.00121  # of a protein's partial specific volume, 0.73 ml/g
CAPS = frozenset(("ACE", "NME", "NMA", "NHE", "NH2"))
WATERS = frozenset(("HOH", "WAT", "H2O", "DOD", "TIP3", "SOL"))
# What crystallisation and freezing leave in a structure (buffers, precipitants, cryoprotectants).
ADDITIVES = frozenset(
    "SO4 PO4 GOL EDO PEG PGE PG4 1PE P6G ACT ACY FMT DMS MPD MRD TRS EPE MES BME DTT IMD CIT NO3 SCN BCT TLA IPA EOH MOH NH4 DIO "
    "HEZ UNX".split()
)


def prepare_protein(request: dict[str, Any], path: Path) -> Prepared:
    protocol, seed = request["protocol"], request["protocol"]["seed"]
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)
    platform = openmm.Platform.getPlatform("CPU")
    platform.setPropertyDefaultValue("Threads", "1")  # two threads would not give the same coordinates twice,
    platform.setPropertyDefaultValue("DeterministicForces", "true")  # nor would one that is not told to
    fixer = read_structure(path, request["format"], platform)
    report: dict[str, Any] = {"kind": "protein", "format": request["format"]}
    notes: list[str] = []
    forcefield = app.ForceField(FORCE_FIELDS[protocol["forceField"]], f"{protocol['forceField']}/{protocol['waterModel']}.xml")
    box = fixer.topology.getPeriodicBoxVectors()
    try:
        repair(fixer, seed, report, notes)
        modeller = app.Modeller(fixer.topology, fixer.positions)
        refuse_unknown(forcefield, modeller, report)
        protonate(modeller, forcefield, protocol, platform, report, notes)
        solvate(modeller, forcefield, request, box, report, notes)
        system = parametrise(forcefield, modeller, protocol, notes)
    except (Failure, MemoryError, OSError):
        raise
    except Exception as error:  # PDBFixer and OpenMM raise whatever an odd structure leads them to
        raise user_error(
            "SYSTEM_UNBUILDABLE", f"No system can be made of the structure: {reason(error)}. Check its atoms, residues and bonds."
        ) from None
    return Prepared(system, modeller.topology, modeller.positions, modeller.topology.getPeriodicBoxVectors(), report, notes)


def read_structure(path: Path, form: str, platform: openmm.Platform) -> PDBFixer:
    """Reads the first model. Its atoms must be at most MAX_INPUT_ATOMS, and their coordinates finite."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise user_error(
            "STRUCTURE_UNREADABLE", "The structure is a binary or compressed file; upload it as plain PDB or mmCIF."
        ) from None
    if not text.strip():
        raise user_error("STRUCTURE_UNREADABLE", "The structure is an empty file; upload it again.")
    lines = sum(line.startswith(("ATOM", "HETATM")) for line in text.splitlines())
    if lines == 0:
        raise user_error("STRUCTURE_UNREADABLE", "The structure has no ATOM or HETATM line; give coordinates as PDB or mmCIF.")
    if lines > MAX_INPUT_ATOMS:
        raise user_error("STRUCTURE_TOO_LARGE", f"The structure has {lines:,} atoms; at most {MAX_INPUT_ATOMS:,} are taken.")
    try:
        fixer = (
            PDBFixer(pdbfile=io.StringIO(text), platform=platform)
            if form == "pdb"
            else PDBFixer(pdbxfile=io.StringIO(text), platform=platform)
        )
        positions = np.array(fixer.positions.value_in_unit(unit.nanometer))
    except Exception as error:  # the readers raise whatever their parsing meets
        raise user_error(
            "STRUCTURE_UNREADABLE",
            f"The structure cannot be read as {form}: {reason(error)}. Check the file, or give the other format.",
        ) from None
    if (
        fixer.topology.getNumAtoms() == 0
        or positions.shape != (fixer.topology.getNumAtoms(), 3)
        or not np.isfinite(positions).all()
    ):
        raise user_error("STRUCTURE_UNREADABLE", "The structure has no atoms, or coordinates that are no numbers.")
    if np.abs(positions).max() > MAX_COORDINATE_NM or np.ptp(positions, axis=0).max() > MAX_COORDINATE_NM:
        raise user_error(
            "STRUCTURE_UNREADABLE", "The structure's atoms lie more than 10,000 Å apart or from the origin; check its coordinates."
        )
    return fixer


def reason(error: Exception) -> str:
    return one_line(str(error).rstrip("."), 200) or type(error).__name__


def label(residue: Any) -> str:
    chain = residue.chain.id.strip()
    return one_line(f"{residue.name} {residue.id}{residue.insertionCode.strip()}" + (f" of chain {chain}" if chain else ""), 60)


def is_polymer(residue: Any, known: Any) -> bool:
    return residue.name in CAPS or residue.name not in WATERS and residue.name in known


def repair(fixer: PDBFixer, seed: int, report: dict[str, Any], notes: list[str]) -> None:
    """Cuts chains at gaps, replaces modified residues and adds missing heavy atoms. Missing residues are not built."""
    fixer.findMissingResidues()
    report["missingResidues"] = missing_residues(fixer)
    fixer.findNonstandardResidues()
    report["replacedResidues"] = [{"residue": label(r), "by": by} for r, by in fixer.nonstandardResidues][:MAX_REPORTED]
    if fixer.nonstandardResidues:
        fixer.replaceNonstandardResidues()
        names = ", ".join(f"{entry['residue']} by {entry['by']}" for entry in report["replacedResidues"][:10])
        notes.append(f"{len(fixer.nonstandardResidues)} modified residues were replaced by their parents: {names}")
    remove_additives(fixer, report, notes)
    fixer.topology, gaps = cut_chains(fixer)
    report["gaps"] = gaps[:MAX_REPORTED]
    if gaps:
        notes.append(f"{len(gaps)} gaps were not bridged, their ends became termini: {'; '.join(gaps[:10])}")
    fixer.missingResidues = {}
    fixer.findMissingAtoms()
    missing = fixer.missingAtoms
    report["addedHeavyAtoms"] = [{"residue": label(r), "atoms": [a.name for a in atoms]} for r, atoms in missing.items()][
        :MAX_REPORTED
    ]
    report["addedTerminalAtoms"] = [{"residue": label(r), "atoms": list(atoms)} for r, atoms in fixer.missingTerminals.items()][
        :MAX_REPORTED
    ]
    if missing:
        notes.append(f"heavy atoms were added to {len(missing)} residues that lacked some")
    if missing or fixer.missingTerminals:
        fixer.addMissingAtoms(seed=seed)


def missing_residues(fixer: PDBFixer) -> list[dict[str, Any]]:
    """What the file's sequence has and its coordinates lack; none where the file states no sequence."""
    chains = list(fixer.topology.chains())
    found = []
    for (chain, place), names in list(fixer.missingResidues.items())[:MAX_REPORTED]:
        length = sum(1 for _ in chains[chain].residues())
        where = "start" if place == 0 else "end" if place >= length else "inside"
        found.append({"chain": chains[chain].id, "where": where, "residues": names[:MAX_REPORTED]})
    return found


def remove_additives(fixer: PDBFixer, report: dict[str, Any], notes: list[str]) -> None:
    gone = [residue for residue in fixer.topology.residues() if residue.name in ADDITIVES]
    report["removedComponents"] = [
        {"component": name, "count": count} for name, count in sorted(Counter(r.name for r in gone).items())
    ]
    if gone:
        notes.append(
            "additives of crystallisation were removed: "
            + ", ".join(f"{e['count']} {e['component']}" for e in report["removedComponents"])
        )
        modeller = app.Modeller(fixer.topology, fixer.positions)
        modeller.delete(gone)
        fixer.topology, fixer.positions = modeller.topology, modeller.positions


def cut_chains(fixer: PDBFixer) -> tuple[app.Topology, list[str]]:
    """A topology of the same atoms in the same order whose chains end where the polymer ends or has a gap, and the gaps."""
    positions = np.array(fixer.positions.value_in_unit(unit.nanometer))
    known = fixer.templates
    cut, atoms, gaps = app.Topology(), {}, []
    cut.setPeriodicBoxVectors(fixer.topology.getPeriodicBoxVectors())
    for chain in fixer.topology.chains():
        before = new = None
        for residue in chain.residues():
            gap = (
                before is not None
                and is_polymer(before, known)
                and is_polymer(residue, known)
                and apart(before, residue, positions)
            )
            if gap:
                gaps.append(f"between {label(before)} and {label(residue)}")
            if new is None or gap or is_polymer(before, known) != is_polymer(residue, known):
                new = cut.addChain(chain.id)
            added = cut.addResidue(residue.name, new, residue.id, residue.insertionCode)
            for atom in residue.atoms():
                atoms[atom] = cut.addAtom(atom.name, atom.element, added, atom.id, atom.formalCharge)
            before = residue
    for bond in fixer.topology.bonds():
        length = np.linalg.norm(positions[bond[0].index] - positions[bond[1].index])
        if atoms[bond[0]].residue.chain is atoms[bond[1]].residue.chain or length < LONGEST_BOND_NM:
            cut.addBond(atoms[bond[0]], atoms[bond[1]], bond.type, bond.order)
    return cut, gaps


def apart(before: Any, after: Any, positions: np.ndarray) -> bool:
    """Whether the bond from one residue to the next would be too long, for proteins (C to N) and nucleic acids (O3' to P)."""
    for end, start in (("C", "N"), ("O3'", "P")):
        left = [atom.index for atom in before.atoms() if atom.name == end]
        right = [atom.index for atom in after.atoms() if atom.name == start]
        if left and right:
            return bool(np.linalg.norm(positions[left[0]] - positions[right[0]]) > LONGEST_BOND_NM)
    return True


def refuse_unknown(forcefield: app.ForceField, modeller: app.Modeller, report: dict[str, Any]) -> None:
    """Refuses residues that the force field has no template of, whatever their hydrogens are."""
    known = {template.name for template in forcefield._templates.values()} | {"HIS", "WAT", *WATERS}
    elements = {t.atoms[0].element for t in forcefield._templates.values() if len(t.atoms) == 1}
    unknown = []
    for residue in modeller.topology.residues():
        atoms = list(residue.atoms())
        if residue.name not in known and not (len(atoms) == 1 and atoms[0].element in elements):
            unknown.append(residue)
    if unknown:
        raise no_parameters(unknown, "")
    report["keptWaters"] = sum(residue.name in WATERS for residue in modeller.topology.residues())
    report["keptIons"] = dict(
        Counter(r.name for r in modeller.topology.residues() if r.name not in WATERS and sum(1 for _ in r.atoms()) == 1)
    )


def no_parameters(residues: list[Any], more: str) -> Failure:
    names = list(dict.fromkeys(label(residue) for residue in residues))
    listed = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    return user_error(
        "RESIDUE_WITHOUT_PARAMETERS",
        f"The force field has no parameters for {listed}{more}. Remove such components from the structure or repair them, "
        "or give the whole system as amber prmtop and inpcrd.",
        [{"item": name, "step": "parametrise", "message": "no parameters"} for name in names],
    )


def protonate(
    modeller: app.Modeller,
    forcefield: app.ForceField,
    protocol: dict[str, Any],
    platform: Any,
    report: dict[str, Any],
    notes: list[str],
) -> None:
    """Gives the solute the hydrogens of the protocol's pH. Those that a structure brings are of another one, or badly named."""
    hydrogens = [a for a in modeller.topology.atoms() if a.element is app.element.hydrogen and a.residue.name not in WATERS]
    modeller.delete(hydrogens)
    if hydrogens:
        notes.append(f"{len(hydrogens)} hydrogens of the structure were replaced by those of pH {protocol['pH']:g}")
    try:
        variants = modeller.addHydrogens(forcefield, pH=protocol["pH"], platform=platform)
    except (ValueError, openmm.OpenMMException) as error:
        raise unmatched(forcefield, modeller, error) from None
    pairs = zip(modeller.topology.residues(), variants, strict=True)
    report["protonation"] = [{"residue": label(r), "state": state} for r, state in pairs if state is not None][:MAX_REPORTED]
    modeller.addExtraParticles(forcefield)


def unmatched(forcefield: app.ForceField, modeller: app.Modeller, error: Exception) -> Failure:
    residues = forcefield.getUnmatchedResidues(modeller.topology)
    heavy = [r for r in residues if r.name not in WATERS]
    if heavy or residues:
        return no_parameters(heavy or residues, f" ({reason(error)})")
    return user_error(
        "SYSTEM_UNBUILDABLE", f"The force field does not fit the structure: {reason(error)}. Check its atoms and bonds."
    )


def solvate(
    modeller: app.Modeller, forcefield: app.ForceField, request: dict[str, Any], box: Any, report: dict[str, Any], notes: list[str]
) -> None:
    """Fills a cube of water and ions around the solute, unless the structure is in a box that is full already."""
    share = filled_share(modeller.topology, box)
    report["solvated"] = {"alreadySolvated": share >= SOLVATED_SHARE, "filledShareOfInputBox": round(share, 3)}
    if share >= SOLVATED_SHARE:
        modeller.topology.setPeriodicBoxVectors(box)
        notes.append(
            f"the structure's box is {share:.0%} full: it was taken as solvated, no water and no ions were added and "
            f"ionicStrengthM was not applied"
        )
        return
    positions = np.array(modeller.positions.value_in_unit(unit.nanometer))
    middle = (positions.max(axis=0) + positions.min(axis=0)) / 2
    radius = float(np.linalg.norm(positions - middle, axis=1).max())
    edge = round(max(2 * radius + PADDING_NM, LEAST_EDGE_NM), 3)
    likely = int(edge**3 * ATOMS_PER_NM3)
    check_particles(likely, LARGE_BOX)
    check_planned(likely, request["maxAtoms"], LARGE_BOX)  # before the waters are laid, which is what takes long
    before = Counter(r.name for r in modeller.topology.residues())
    try:
        modeller.addSolvent(
            forcefield,
            model="tip3p",
            boxSize=openmm.Vec3(edge, edge, edge) * unit.nanometer,
            ionicStrength=request["protocol"]["ionicStrengthM"] * unit.molar,
        )
    except (ValueError, openmm.OpenMMException) as error:
        raise unmatched(forcefield, modeller, error) from None
    added = Counter(r.name for r in modeller.topology.residues()) - before
    report["solvated"].update(
        {
            "boxEdgeNm": edge,
            "paddingNm": PADDING_NM,
            "addedWaters": added["HOH"],
            "addedSodium": added["NA"],
            "addedChloride": added["CL"],
        }
    )


def filled_share(topology: app.Topology, box: Any) -> float:
    """Share of the box that waters and solute fill."""
    if box is None:
        return 0.0
    volume = abs(float(np.linalg.det(np.array(box.value_in_unit(unit.nanometer)))))
    waters = sum(residue.name in WATERS for residue in topology.residues())
    mass = sum(
        a.element.mass.value_in_unit(unit.dalton)
        for a in topology.atoms()
        if a.element is not None and a.residue.name not in WATERS
    )
    return (waters * WATER_VOLUME_NM3 + mass * SOLUTE_VOLUME_NM3_PER_DALTON) / volume if volume > 0 else 0.0


def parametrise(forcefield: app.ForceField, modeller: app.Modeller, protocol: dict[str, Any], notes: list[str]) -> openmm.System:
    check_particles(modeller.topology.getNumAtoms(), "The system has")
    try:
        return forcefield.createSystem(
            modeller.topology,
            nonbondedMethod=app.PME,
            nonbondedCutoff=CUTOFF_NM * unit.nanometer,
            constraints=app.HBonds,
            rigidWater=True,
            removeCMMotion=protocol["removeCenterOfMassMotion"],
            hydrogenMass=hydrogen_mass(protocol, notes),
        )
    except (ValueError, openmm.OpenMMException) as error:
        raise unmatched(forcefield, modeller, error) from None
