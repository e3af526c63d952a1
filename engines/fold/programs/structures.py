"""A predicted protein as PDB and as ModelCIF, the B-factor being each residue's pLDDT from 0 to 100."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple

import numpy as np

from confidence import Confidence

RESIDUES = "ARNDCQEGHILKMFPSTWYV"  # by AlphaFold's index
NAMES3 = "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split()
# AlphaFold's 37 places of heavy atoms.
ATOMS = (
    "N CA C CB O CG CG1 CG2 OG OG1 SG CD CD1 CD2 ND1 ND2 OD1 OD2 SD CE CE1 CE2 CE3 NE NE1 NE2 OE1 OE2 CH2 NH1 NH2 OH CZ CZ2 CZ3 "
    "NZ OXT"
).split()
CHAIN_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_ANGSTROM = 9999.0  # what a column of PDB holds


class Atom(NamedTuple):
    """One atom with its residue; number counts the residues of its chain from 1."""

    serial: int
    name: str
    residue: str
    chain: str
    number: int
    place: np.ndarray  # [3], Å
    plddt: float

    @property
    def element(self) -> str:
        return self.name[0]


class Prediction(NamedTuple):
    """A predicted protein of N residues, linkers left out."""

    residues: np.ndarray  # int64 [N], indices into RESIDUES
    chains: np.ndarray  # int64 [N]
    atoms: np.ndarray  # float32 [N, 37, 3], Å, by AlphaFold's 37 atom names
    present: np.ndarray  # bool [N, 37]
    confidence: Confidence


class OffTheMap(Exception):
    """Coordinates that are no numbers, or too large for a file."""


def atoms_of(prediction: Any) -> Iterator[Atom]:
    """The atoms of a Prediction in the order of its residues. Errors: OffTheMap."""
    if not np.isfinite(prediction.atoms).all() or np.abs(prediction.atoms).max() > MOST_ANGSTROM:
        raise OffTheMap("the model's coordinates are no numbers, or far outside any molecule")
    serial, number, before = 0, 0, None
    for index, (residue, chain) in enumerate(zip(prediction.residues, prediction.chains)):
        number = number + 1 if chain == before else 1
        before = chain
        for slot in np.flatnonzero(prediction.present[index]):
            serial += 1
            yield Atom(serial, ATOMS[slot], NAMES3[residue], CHAIN_NAMES[chain], number, prediction.atoms[index, slot],
                       float(prediction.confidence.plddt[index]))  # fmt: skip


def pdb(prediction: Any, remarks: list[str]) -> str:
    """The structure as PDB; remarks stand on top. Errors: OffTheMap."""
    lines = [f"REMARK   1 {line[:68]}" for line in remarks]
    last: Atom | None = None
    for atom in atoms_of(prediction):
        if last and last.chain != atom.chain:
            lines.append(ending(last))
        x, y, z = atom.place
        lines.append(
            f"ATOM  {atom.serial % 100_000:5d}  {atom.name:<3} {atom.residue} {atom.chain}{atom.number:4d}    "
            f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00{atom.plddt:6.2f}          {atom.element:>2}"
        )
        last = atom
    if last:
        lines.append(ending(last))
    return "\n".join([*lines, "END", ""])


def ending(atom: Atom) -> str:
    return f"TER   {(atom.serial + 1) % 100_000:5d}      {atom.residue} {atom.chain}{atom.number:4d}"


def modelcif(prediction: Any, title: str, model: dict[str, str]) -> str:
    """The structure as ModelCIF (mmcif_ma.dic). model says of the predictor: name, version, weights (its digest) and remark.
    Errors: OffTheMap."""
    chains = [
        "".join(RESIDUES[residue] for residue in prediction.residues[prediction.chains == chain])
        for chain in range(int(prediction.chains.max()) + 1)
    ]
    entities = list(dict.fromkeys(chains))
    owner = {CHAIN_NAMES[index]: entities.index(chain) + 1 for index, chain in enumerate(chains)}
    return "".join(
        [
            "data_model\n",
            pairs("entry", {"id": "model"}),
            pairs("struct", {"entry_id": "model", "title": title, "pdbx_details": model["remark"]}),
            pairs("ma_model_list", {"ordinal_id": 1, "model_id": 1, "model_name": title, "model_type": "Ab initio model",
                                    "data_id": 1, "model_group_id": 1}),
            pairs("ma_data", {"id": 1, "name": "model", "content_type": "model coordinates"}),
            pairs("software", {"pdbx_ordinal": 1, "name": model["name"], "version": model["version"],
                               "classification": "model building", "description": f"weights sha256:{model['weights']}"}),
            loop("audit_conform", ["dict_name", "dict_version"], [["mmcif_ma.dic", "1.4.5"]]),
            loop("entity", ["id", "type", "src_method", "pdbx_description"],
                 [[i + 1, "polymer", "man", title] for i in range(len(entities))]),
            loop("entity_poly", ["entity_id", "type", "nstd_linkage", "nstd_monomer", "pdbx_strand_id",
                                 "pdbx_seq_one_letter_code"],
                 [[i + 1, "polypeptide(L)", "no", "no", ",".join(name for name, e in owner.items() if e == i + 1), entity]
                  for i, entity in enumerate(entities)]),
            loop("entity_poly_seq", ["entity_id", "num", "mon_id"],
                 [[i + 1, n + 1, NAMES3[RESIDUES.index(letter)]] for i, e in enumerate(entities) for n, letter in enumerate(e)]),
            loop("struct_asym", ["id", "entity_id"], [[name, entity] for name, entity in owner.items()]),
            loop("ma_qa_metric", ["id", "name", "type", "mode", "description"], [
                [1, "pLDDT", "pLDDT", "global", "mean over residues, 0 to 100"],
                [2, "pLDDT", "pLDDT", "local", "0 to 100"],
                [3, "pTM", "pTM", "global", "0 to 1"],
            ]),
            loop("ma_qa_metric_global", ["ordinal_id", "model_id", "metric_id", "metric_value"], [
                [1, 1, 1, f"{prediction.confidence.plddt.mean():.2f}"], [2, 1, 3, f"{prediction.confidence.ptm:.4f}"],
            ]),
            local_metrics(prediction),
            loop("atom_type", ["symbol"], [[symbol] for symbol in "CNOS"]),
            atom_site(prediction, owner),
        ]
    )  # fmt: skip


def local_metrics(prediction: Any) -> str:
    rows, number, before = [], 0, None
    for index, (residue, chain) in enumerate(zip(prediction.residues, prediction.chains)):
        number = number + 1 if chain == before else 1
        before = chain
        rows.append([index + 1, 1, CHAIN_NAMES[chain], NAMES3[residue], number, 2,
                     f"{prediction.confidence.plddt[index]:.2f}"])  # fmt: skip
    return loop("ma_qa_metric_local", ["ordinal_id", "model_id", "label_asym_id", "label_comp_id", "label_seq_id", "metric_id",
                                       "metric_value"], rows)  # fmt: skip


def atom_site(prediction: Any, owner: dict[str, int]) -> str:
    columns = ["group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id", "label_asym_id",
               "label_entity_id", "label_seq_id", "pdbx_PDB_ins_code", "Cartn_x", "Cartn_y", "Cartn_z", "occupancy",
               "B_iso_or_equiv", "auth_seq_id", "auth_comp_id", "auth_asym_id", "pdbx_PDB_model_num"]  # fmt: skip
    rows = []
    for atom in atoms_of(prediction):
        x, y, z = (f"{value:.3f}" for value in atom.place)
        rows.append(["ATOM", atom.serial, atom.element, atom.name, ".", atom.residue, atom.chain, owner[atom.chain], atom.number,
                     "?", x, y, z, "1.00", f"{atom.plddt:.2f}", atom.number, atom.residue, atom.chain, 1])  # fmt: skip
    return loop("atom_site", columns, rows)


def pairs(category: str, values: dict[str, Any]) -> str:
    return "".join(f"_{category}.{name} {word(value)}\n" for name, value in values.items()) + "#\n"


def loop(category: str, columns: list[str], rows: list[list[Any]]) -> str:
    head = "loop_\n" + "".join(f"_{category}.{column}\n" for column in columns)
    return head + "".join(" ".join(map(word, row)) + "\n" for row in rows) + "#\n"


def word(value: Any) -> str:
    """A value as CIF spells it. Text of people has lost its line breaks and double quotes."""
    text = " ".join(str(value).split()).replace('"', "'")
    plain = text and text[0] not in "_#$'[];\"" and " " not in text and text.lower() not in ("loop_", "data_", "global_", "stop_")
    return text if plain else f'"{text}"'
