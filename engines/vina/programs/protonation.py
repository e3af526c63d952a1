"""A ligand's protonation state at a pH: molscrub's rules, and one that they lack."""

from __future__ import annotations

from molscrub import AcidBaseConjugator
from rdkit import Chem

import stereo
from molecule import LigandError
from task import one_line

# Second acidity constants of ethylenediamine and of piperazine (CRC Handbook of Chemistry and Physics): above it two amines
# that are two carbons apart hold one proton between them. molscrub treats each amine alone and would give both one.
OPEN_DIAMINE_PKA = 6.9
RING_DIAMINE_PKA = 5.3
NEAR_AMMONIUMS = Chem.MolFromSmarts("[NX4+;!H0]-[CX4]-[CX4]-[NX4+;!H0]")


def protonate(molecule: Chem.Mol, ph: float, conjugator: AcidBaseConjugator, notes: list[str]) -> Chem.Mol:
    """The molecule's state at the pH. Where a group's pKa equals the pH the rules give several states; the one with the smallest
    charge, then the first SMILES in order, is taken. A state that would lose stereochemistry is not taken."""
    before = Chem.MolToSmiles(molecule)
    try:
        found = [share_protons(Chem.MolFromSmiles(Chem.MolToSmiles(state)), ph) for state in conjugator(Chem.Mol(molecule), ph, ph)]
        states = {Chem.MolToSmiles(state): state for state in found}
        chosen = min(states, key=lambda smiles: (abs(Chem.GetFormalCharge(states[smiles])), smiles))
        state = Chem.MolFromSmiles(chosen)
    except Exception as error:  # molscrub raises whatever RDKit's reactions raise
        raise LigandError("protonate", one_line(str(error)) or type(error).__name__) from error
    if state is None:
        raise LigandError("protonate", "the protonated molecule is not a valid molecule")
    places = stereo.match(molecule, state)
    if len(places) != molecule.GetNumAtoms():
        notes.append("protonation would have lost stereochemistry or bonds; the molecule is docked in the state it was given")
        return molecule
    for atom, place in zip(molecule.GetAtoms(), places):
        state.GetAtomWithIdx(place).SetIntProp("_given", atom.GetIntProp("_given") if atom.HasProp("_given") else atom.GetIdx())
    if len(states) > 1:
        notes.append(f"{len(states)} protonation states are possible at pH {ph:g}; docked as {chosen}")
    elif chosen != before:
        notes.append(f"protonated at pH {ph:g} as {chosen}")
    return state


def share_protons(state: Chem.Mol, ph: float) -> Chem.Mol:
    """The state with one proton less for every two ammoniums that are too near each other at this pH."""
    editable = Chem.RWMol(state)
    for _ in range(state.GetNumAtoms()):
        near = [
            (pair[0], pair[3])
            for pair in editable.GetSubstructMatches(NEAR_AMMONIUMS)
            if ph > second_pka(editable, pair[0], pair[3])
        ]
        if not near:
            break
        ranks = list(Chem.CanonicalRankAtoms(editable))
        atom = editable.GetAtomWithIdx(
            max({place for pair in near for place in pair}, key=lambda place: acidity(editable, near, ranks, place))
        )
        atom.SetFormalCharge(0)
        atom.SetNoImplicit(False)
        atom.SetNumExplicitHs(0)
        Chem.SanitizeMol(editable)
    return editable.GetMol()


def second_pka(molecule: Chem.Mol, first: int, second: int) -> float:
    rings = molecule.GetRingInfo()
    return RING_DIAMINE_PKA if rings.AreAtomsInSameRing(first, second) else OPEN_DIAMINE_PKA


def acidity(molecule: Chem.Mol, near: list[tuple[int, int]], ranks: list[int], place: int) -> tuple[int, int, int, int]:
    """Which ammonium gives its proton first: the one with the most near it, then with the most carbons that draw electrons away
    (benzyl, allyl, beside oxygen), then the most substituted, then the last in canonical order."""
    atom = molecule.GetAtomWithIdx(place)
    drawing = sum(
        any(
            n.GetIdx() != place and (n.GetAtomicNum() != 6 or n.GetHybridization() != Chem.HybridizationType.SP3)
            for n in carbon.GetNeighbors()
        )
        for carbon in atom.GetNeighbors()
    )
    return sum(place in pair for pair in near), drawing, atom.GetDegree(), ranks[place]
