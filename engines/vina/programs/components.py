"""Decides what belongs to a receptor's site: which components stay in it, which go, and how to have it otherwise.

components.json has the classes of the components that structures hold most often, with the wwPDB's definitions: cofactors and
metals stay; additives of crystallisation, sugars and other small molecules go; modified residues of a chain stay.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any, Iterable, NamedTuple

from residues import AMINO_ACIDS, MAX_ATOMS, METALS, WATERS, bonded, chain_members, is_polymer, listed, template_names
from structure import Atom, Residue, named
from task import user_error

TABLE = Path(__file__).resolve().parent / "components.json"

# Waters that stay by the rule "structural": their oxygen is within hydrogen-bonding distance of at least three nitrogens, oxygens,
# sulfurs or metals of what stays, as in the usual preparation of proteins (Sastry et al. 2013, doi:10.1007/s10822-013-9644-8).
STRUCTURAL_WATER_PARTNERS = 3
HYDROGEN_BOND_ANGSTROM = 3.5
POLAR = frozenset(("N", "O", "S"))

LINK_ANGSTROM = 2.0  # heavy atoms of two residues that are nearer are bonded; S–S has 2.05 Å and belongs to cysteines alone
DISULFIDE_ANGSTROM = 2.3

TWICE_ANGSTROM = 3.0  # two atoms of one name that are farther apart belong to two molecules
IMINE_ANGSTROM = 1.40  # between C=N, 1.28 Å, and C–N, 1.47 Å
BACKBONE = frozenset(("N", "CA", "C"))
KEEP, REMOVE = "--keep {} (receptorPreparation.retainComponents)", "--remove {} (receptorPreparation.removeComponents)"
KEEP_WATERS = "--waters structural (receptorPreparation.waters)"


class Verdict(NamedTuple):
    """What becomes of a residue: kept, converted or removed, why, and the option that changes it ("" where none does)."""

    status: str
    why: str
    option: str = ""


@cache
def table() -> dict[str, dict[str, Any]]:
    with open(TABLE, encoding="utf-8") as file:
        return json.load(file)


def class_of(name: str) -> str:
    """cofactor, metal, additive, sugar, modified or polymer; "" for what the table does not know."""
    return table().get(name, {}).get("class", "")


def definition_of(name: str, components: dict[str, Any]) -> str | None:
    """SMILES of a component: the deployment's dictionary's, else the table's."""
    return components.get(name, {}).get("smiles") or table().get(name, {}).get("smiles")


def is_metal(name: str, atoms: list[Atom]) -> bool:
    return len(atoms) == 1 and atoms[0].element in METALS and class_of(name) in ("metal", "")


class Site:
    """Sorts residues into kept and removed, and collects what the report says about them.

    in_chain are the residues that a peptide bond or a phosphodiester joins to a neighbour; leave_out are the ligands whose place
    is docked into.
    """

    def __init__(self, preparation: dict[str, Any], leave_out: set[Residue], in_chain: set[Residue]) -> None:
        self.remove, self.retain = component_filter(preparation)
        self.structural_waters = preparation.get("waters") == "structural"
        self.leave_out, self.in_chain = leave_out, in_chain
        self.entries: list[dict[str, Any]] = []
        self.waters: dict[str, int] = {"kept": 0, "removed": 0}

    def verdict(self, residue: Residue, atoms: list[Atom]) -> Verdict:
        name = residue.name
        if residue in self.leave_out:
            return Verdict("removed", "it is the ligand whose place is docked into", KEEP.format(name))
        if name in self.remove:
            return Verdict("removed", "it was named to be removed")
        if name == "MSE" and residue in self.in_chain:
            return Verdict("converted", "selenomethionine is crystallographers' methionine; no force field here knows it")
        if self.is_part_of_chain(residue, atoms):
            return Verdict("kept", "it is a part of the chain", REMOVE.format(name))
        if name in self.retain:
            return Verdict("kept", "it was named to be kept", "leave out " + KEEP.format(name))
        if name in WATERS:
            return Verdict("removed", "it is water", KEEP_WATERS)
        return self.of_molecule(name, atoms)

    def is_part_of_chain(self, residue: Residue, atoms: list[Atom]) -> bool:
        """Whether a residue is one of a protein or nucleic acid. A free amino acid is a molecule of its own."""
        if residue in self.in_chain:
            return (
                is_polymer(residue.name) or residue.name in template_names() or class_of(residue.name) not in ("additive", "sugar")
            )
        return is_polymer(residue.name) and any(atom.polymer for atom in atoms)

    def of_molecule(self, name: str, atoms: list[Atom]) -> Verdict:
        kind = class_of(name)
        if is_metal(name, atoms):
            return Verdict("kept", "it is a metal ion", REMOVE.format(name))
        if kind == "cofactor":
            return Verdict("kept", "it is a cofactor", REMOVE.format(name))
        whys = {"additive": "it is an additive of crystallisation", "sugar": "it is a sugar"}
        return Verdict("removed", whys.get(kind, "it is another small molecule"), KEEP.format(name))

    def take(self, residue: Residue, atoms: list[Atom]) -> Verdict:
        """The verdict on a residue, noted for the report."""
        found = self.verdict(residue, atoms)
        if residue.name in WATERS:
            self.waters["kept" if found.status == "kept" else "removed"] += 1
        elif found.status == "converted" or not is_polymer(residue.name) or not self.is_part_of_chain(residue, atoms):
            self.note(residue, atoms, found)
        return found

    def note(self, residue: Residue, atoms: list[Atom], found: Verdict) -> None:
        entry = {
            **residue.record(),
            "name": table().get(residue.name, {}).get("name", ""),
            "status": found.status,
            "why": found.why,
            "option": found.option,
        }
        if is_metal(residue.name, atoms):
            entry["element"] = atoms[0].element.capitalize()
        if found.status == "converted":
            entry["convertedTo"] = "MET"
        heavy = [atom.position for atom in atoms if atom.element not in ("H", "D")] or [atom.position for atom in atoms]
        self.entries.append(
            {**entry, "atomCount": len(atoms), "positionsAngstrom": [[round(c, 3) for c in position] for position in heavy]}
        )

    def without(self, residue: Residue, why: str, option: str = "") -> None:
        """Says that a residue that was to stay could not."""
        for entry in self.entries:
            if residue.record().items() <= entry.items():
                entry.update(status="removed", why=why, option=option)

    def report(self, report: dict[str, Any]) -> None:
        listed(report, "site", self.entries)
        report["waters"] = {**self.waters, "option": KEEP_WATERS if not self.structural_waters else "leave out " + KEEP_WATERS}
        removed: dict[str, dict[str, Any]] = {}
        for entry in self.entries:
            if entry["status"] == "removed":
                record = removed.setdefault(entry["residueName"] or "(no name)", {"residues": 0, "atoms": 0, "why": entry["why"]})
                record["residues"] += 1
                record["atoms"] += entry["atomCount"]
        listed(report, "removedComponents", [{"component": name, **record} for name, record in sorted(removed.items())])


def component_filter(preparation: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Names of components to remove and to retain, in upper case."""
    remove, retain = ({name.upper() for name in preparation.get(key, [])} for key in ("removeComponents", "retainComponents"))
    return remove, retain


def stays(residue: Residue, atoms: list[Atom], in_chain: set[Residue], preparation: dict[str, Any]) -> bool:
    """Whether a ligand that is docked into would stay in the receptor if nothing were done."""
    return Site({**preparation, "removeComponents": []}, set(), in_chain).verdict(residue, atoms).status != "removed"


def structural_waters(waters: dict[Residue, list[Atom]], kept: dict[Residue, list[Atom]]) -> set[Residue]:
    """The waters that hold at least STRUCTURAL_WATER_PARTNERS polar atoms of what stays together."""
    import numpy as np
    from scipy.spatial import cKDTree

    partners = [atom.position for atoms in kept.values() for atom in atoms if atom.element in POLAR or atom.element in METALS]
    if not partners:
        return set()
    tree = cKDTree(np.array(partners))
    found = set()
    for residue, atoms in waters.items():
        oxygen = next((atom for atom in atoms if atom.element == "O"), None)
        if oxygen and len(tree.query_ball_point(oxygen.position, HYDROGEN_BOND_ANGSTROM)) >= STRUCTURAL_WATER_PARTNERS:
            found.add(residue)
    return found


class Link(NamedTuple):
    """A covalent bond between two residues, neither a peptide bond of two standard residues nor a disulfide."""

    first: Residue
    first_atom: Atom
    second: Residue
    second_atom: Atom


def links(residues: dict[Residue, list[Atom]], of: Iterable[Residue]) -> list[Link]:
    """The covalent bonds that lead out of some residues to any other; metals make none."""
    import numpy as np
    from scipy.spatial import cKDTree

    bonding = [
        (residue, atom) for residue, atoms in residues.items() for atom in atoms if bonds(atom) and residue.name not in WATERS
    ]
    if not bonding:
        return []
    tree = cKDTree(np.array([atom.position for _, atom in bonding]))
    found = []
    for residue in of:
        for atom in filter(bonds, residues[residue]):
            for i in sorted(tree.query_ball_point(atom.position, DISULFIDE_ANGSTROM)):
                other, neighbour = bonding[i]
                most = DISULFIDE_ANGSTROM if atom.element == neighbour.element == "S" else LINK_ANGSTROM
                if other != residue and math.dist(atom.position, neighbour.position) <= most:
                    found.append(Link(residue, atom, other, neighbour))
    return found


def bonds(atom: Atom) -> bool:
    return atom.element not in ("H", "D") and atom.element not in METALS


def with_linked(structure: dict[Residue, list[Atom]], ligand: Residue, notes: list[str]) -> set[Residue]:
    """A ligand and the small molecules that are bonded to it: together they are one molecule, which leaves the site as one."""
    found, reached = {ligand}, [ligand]
    while reached:
        near = {link.second for link in links(structure, [reached.pop()])}
        fresh = {residue for residue in near - found if not is_polymer(residue.name)}
        found |= fresh
        reached += sorted(fresh)
    beside = sorted(found - {ligand})
    if beside:
        notes.append(f"{named(beside)} is bonded to {ligand} and leaves the site with it")
    return found


class Prepared(NamedTuple):
    """What goes into the preparation. kept holds everything that stays; rigid says of some of it why it goes around PDB2PQR and
    Meeko's templates, and stays as it is."""

    kept: dict[Residue, list[Atom]]
    rigid: dict[Residue, str]
    in_chain: set[Residue]
    removed_polymer: dict[Residue, list[Atom]]  # residues of a chain that were named to be removed


def choose_components(
    residues: dict[Residue, list[Atom]], preparation: dict[str, Any], leave_out: set[Residue], report: dict[str, Any]
) -> tuple[Prepared, Site]:
    """Drops waters, additives and ligands, and says of what stays what needs no template."""
    in_chain = chain_members(residues)
    site = Site(preparation, leave_out, in_chain)
    missing = site.retain - {residue.name for residue in residues}
    if missing:
        raise user_error(
            "RECEPTOR_COMPONENT_MISSING",
            f"receptorPreparation.retainComponents names {named(sorted(missing))}, which the receptor does not have.",
        )
    kept, waters, removed_polymer = {}, {}, {}
    for residue, atoms in residues.items():
        found = site.take(residue, atoms)
        if found.status != "removed":
            kept[residue] = [selenium_to_sulfur(atom) for atom in atoms] if found.status == "converted" else atoms
        elif residue.name in WATERS and residue.name not in site.remove:
            waters[residue] = atoms
        elif residue in in_chain and residue not in leave_out:
            removed_polymer[residue] = atoms
    kept = {residue: once(residue, atoms, report) for residue, atoms in kept.items()}
    trim_stubs(kept, report)
    if site.structural_waters:
        stay = structural_waters(waters, kept)
        kept = {
            residue: residues[residue] if residue in stay else kept[residue]
            for residue in residues
            if residue in stay or residue in kept
        }
        site.waters = {"kept": site.waters["kept"] + len(stay), "removed": site.waters["removed"] - len(stay)}
    check_kept(kept)
    if any(entry["status"] == "converted" for entry in site.entries):
        report["notes"].append("selenomethionine (MSE) is prepared as methionine (MET)")
    return Prepared(kept, rigid_residues(kept, in_chain), in_chain, removed_polymer), site


def selenium_to_sulfur(atom: Atom) -> Atom:
    return atom._replace(name="SD", element="S") if atom.element == "SE" else atom


def once(residue: Residue, atoms: list[Atom], report: dict[str, Any]) -> list[Atom]:
    """Each atom once. Copies that lie beside each other are alternate locations without their letters; others are another
    molecule."""
    first: dict[str, Atom] = {}
    for atom in atoms:
        known = first.setdefault(atom.name, atom)
        if math.dist(known.position, atom.position) > TWICE_ANGSTROM:
            raise user_error(
                "RECEPTOR_RESIDUE_TWICE",
                f"The receptor holds the atom {atom.name} of {residue} more than once, in places far apart; give each chain a "
                f"name of its own, or mark alternate locations.",
            )
    if len(first) < len(atoms):
        report["notes"].append(f"{residue} holds atoms twice, without alternate locations; the first of each is used")
    return list(first.values())


def trim_stubs(kept: dict[Residue, list[Atom]], report: dict[str, Any]) -> None:
    """Drops what is left of an amino acid at the end of a chain: some backbone atoms without their CA."""
    order = [residue for residue in kept if residue.name in AMINO_ACIDS]
    stubs = []
    for i, residue in enumerate(order):
        before, after = (order[j] if 0 <= j < len(order) and order[j].chain == residue.chain else None for j in (i - 1, i + 1))
        inside = before and after and bonded(kept[before], kept[residue]) and bonded(kept[residue], kept[after])
        if not inside and all(atom.name != "CA" for atom in kept[residue]):
            stubs.append(residue)
    listed(report, "trimmedResidues", [{**residue.record(), "atoms": [atom.name for atom in kept[residue]]} for residue in stubs])
    if stubs:
        report["notes"].append("trimmed, because no more than a stub of the backbone was seen: " + named(stubs))
    for residue in stubs:
        del kept[residue]


def rigid_residues(kept: dict[Residue, list[Atom]], in_chain: set[Residue]) -> dict[Residue, str]:
    """What stays as it is, and why: molecules, residues that nobody has a template for, and what they are bonded to."""
    rigid = {}
    for residue, atoms in kept.items():
        if residue.name in AMINO_ACIDS and not BACKBONE <= {atom.name for atom in atoms}:
            rigid[residue] = "its backbone was not seen whole"
        elif not (is_polymer(residue.name) or residue.name in WATERS or (residue in in_chain and residue.name in template_names())):
            rigid[residue] = "it is no standard residue"
    reached = list(rigid)
    while reached:
        for link in links(kept, [reached.pop()]):
            if link.second not in rigid and not is_backbone_bond(link):
                rigid[link.second] = f"it is bonded to {link.first}"
                reached.append(link.second)
    return rigid


def is_backbone_bond(link: Link) -> bool:
    """Whether a link is what joins residues to a chain."""
    names = {link.first_atom.name, link.second_atom.name}
    return names in ({"C", "N"}, {"O3'", "P"})


def link_orders(residue: Residue, kept: dict[Residue, list[Atom]]) -> dict[str, int]:
    """How many bonds lead from each of a residue's atoms to others, an imine's counted twice (PLP's to its lysine)."""
    orders: dict[str, int] = {}
    for link in links(kept, [residue]):
        near = math.dist(link.first_atom.position, link.second_atom.position) <= IMINE_ANGSTROM
        double = near and {link.first_atom.element, link.second_atom.element} == {"C", "N"} and not is_backbone_bond(link)
        orders[link.first_atom.name] = orders.get(link.first_atom.name, 0) + (2 if double else 1)
    return orders


def check_kept(kept: dict[Residue, list[Atom]]) -> None:
    if not any(is_polymer(residue.name) for residue in kept):
        raise user_error("RECEPTOR_NO_POLYMER", "The receptor has no protein or nucleic acid residues.")
    if sum(map(len, kept.values())) > MAX_ATOMS:
        raise user_error("RECEPTOR_TOO_LARGE", f"The receptor has more than {MAX_ATOMS} atoms; choose chains with receptorChains.")
