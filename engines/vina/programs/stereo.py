"""Which stereochemistry a molecule has, whether a step has kept it, and what was chosen where it was left open.

Centres that no substance keeps are none here: nitrogens that invert, C=N–H and delocalised C=N+ bonds that turn, and the
phosphorus or sulfur of an acid whose oxygens share their hydrogen or charge.
"""

from __future__ import annotations

from rdkit import Chem
from rdkit.Chem import rdCIPLabeler

from molecule import atom_name

CIP_ITERATIONS = 100_000  # a tenth of a second; labels of larger cages are left out
ACID_CENTRES = (15, 16, 33)


def elements(molecule: Chem.Mol, specified: bool) -> list[Chem.StereoInfo]:
    """The stereo elements of a molecule that are specified, or those that are not."""
    wanted = Chem.StereoSpecified.Specified if specified else Chem.StereoSpecified.Unspecified
    copy = Chem.Mol(molecule)  # the search cleans up marks that it finds wanting
    return [element for element in Chem.FindPotentialStereo(copy) if element.specified == wanted and is_lasting(molecule, element)]


def is_lasting(molecule: Chem.Mol, element: Chem.StereoInfo) -> bool:
    if element.type == Chem.StereoType.Bond_Double:
        bond = molecule.GetBondWithIdx(element.centeredOn)
        return not any(
            atom.GetAtomicNum() == 7 and (atom.GetTotalNumHs(includeNeighbors=True) or atom.GetFormalCharge() > 0)
            for atom in (bond.GetBeginAtom(), bond.GetEndAtom())
        )
    if element.type != Chem.StereoType.Atom_Tetrahedral:
        return True
    atom = molecule.GetAtomWithIdx(element.centeredOn)
    if atom.GetAtomicNum() == 7:
        return atom.GetFormalCharge() > 0 and not atom.GetTotalNumHs(includeNeighbors=True)
    ends = [n.GetAtomicNum() for n in atom.GetNeighbors() if sum(m.GetAtomicNum() > 1 for m in n.GetNeighbors()) == 1]
    return not (atom.GetAtomicNum() in ACID_CENTRES and any(ends.count(chalcogen) > 1 for chalcogen in (8, 16, 34)))


def names(molecule: Chem.Mol, found: list[Chem.StereoInfo]) -> list[str]:
    """The elements as a chemist names them, with their labels: C5 (S), C7=C8 (E). The labels are those of the molecule."""
    labelled = Chem.Mol(molecule)
    try:
        rdCIPLabeler.AssignCIPLabels(labelled, maxRecursiveIterations=CIP_ITERATIONS)
    except RuntimeError:
        pass
    return [name(labelled, element) for element in found]


def name(labelled: Chem.Mol, element: Chem.StereoInfo) -> str:
    if element.type in (Chem.StereoType.Bond_Double, Chem.StereoType.Bond_Atropisomer, Chem.StereoType.Bond_Cumulene_Even):
        carrier: Chem.Atom | Chem.Bond = labelled.GetBondWithIdx(element.centeredOn)
        text = "=".join(sorted((atom_name(carrier.GetBeginAtom()), atom_name(carrier.GetEndAtom())), key=place))
    else:
        carrier = labelled.GetAtomWithIdx(element.centeredOn)
        text = atom_name(carrier)
    return f"{text} ({carrier.GetProp('_CIPCode')})" if carrier.HasProp("_CIPCode") else text


def place(name: str) -> int:
    return int(name.lstrip("".join(c for c in name if c.isalpha())))


def pattern(molecule: Chem.Mol, kept: list[Chem.StereoInfo]) -> Chem.Mol:
    """The molecule as a search pattern that fits every charge and isotope of it and has only these stereo elements."""
    copy = Chem.RWMol(molecule)
    atoms = {e.centeredOn for e in kept if e.type == Chem.StereoType.Atom_Tetrahedral}
    bonds = {e.centeredOn for e in kept if e.type == Chem.StereoType.Bond_Double}
    for atom in copy.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetIsotope(0)
        if atom.GetIdx() not in atoms:
            atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    for bond in copy.GetBonds():
        if bond.GetIdx() not in bonds:
            bond.SetStereo(Chem.BondStereo.STEREONONE)
    return copy.GetMol()


def match(before: Chem.Mol, after: Chem.Mol) -> tuple[int, ...]:
    """For each atom of before its atom in after, with all specified stereo elements of before; () when one is lost."""
    return after.GetSubstructMatch(pattern(before, elements(before, specified=True)), useChirality=True)


def from_coordinates(molecule: Chem.Mol) -> Chem.Mol:
    """The same atoms with the stereochemistry that their first conformer has."""
    copy = Chem.Mol(molecule)
    Chem.RemoveStereochemistry(copy)
    Chem.AssignStereochemistryFrom3D(copy)
    return copy


def changed(molecule: Chem.Mol) -> list[str]:
    """The names of the specified elements that the molecule's conformer does not have as specified."""
    shaped = from_coordinates(molecule)
    found = elements(molecule, specified=True)
    if shaped.HasSubstructMatch(pattern(molecule, found), useChirality=True):
        return []
    lost = [e for e in found if not shaped.HasSubstructMatch(pattern(molecule, [e]), useChirality=True)]
    return names(molecule, lost or found)


def settle(molecule: Chem.Mol) -> list[str]:
    """Marks the open elements as the molecule's conformer has them, and returns their names."""
    open_ones = elements(molecule, specified=False)
    if not open_ones:
        return []
    shaped = from_coordinates(molecule)
    for element in open_ones:
        if element.type == Chem.StereoType.Atom_Tetrahedral:
            molecule.GetAtomWithIdx(element.centeredOn).SetChiralTag(shaped.GetAtomWithIdx(element.centeredOn).GetChiralTag())
        elif element.type == Chem.StereoType.Bond_Double:
            source, target = shaped.GetBondWithIdx(element.centeredOn), molecule.GetBondWithIdx(element.centeredOn)
            opposite = source.GetStereo() in (Chem.BondStereo.STEREOE, Chem.BondStereo.STEREOTRANS)
            if source.GetStereo() != Chem.BondStereo.STEREONONE:
                target.SetStereoAtoms(*source.GetStereoAtoms())
                target.SetStereo(Chem.BondStereo.STEREOTRANS if opposite else Chem.BondStereo.STEREOCIS)
    Chem.SetDoubleBondNeighborDirections(molecule)  # without these marks RDKit's writers forget double bonds
    return names(molecule, open_ones)
