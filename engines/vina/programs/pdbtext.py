"""Writes atoms in the columns of the PDB format."""

from __future__ import annotations

from typing import Iterable, NamedTuple

from structure import Atom

SERIALS = 100_000  # what five columns hold


class Line(NamedTuple):
    """One atom of a PDB file. number and code are the residue's number and insertion code."""

    name: str
    element: str  # upper case
    residue: str
    chain: str
    number: int
    code: str
    position: tuple[float, float, float]  # Å
    polymer: bool = True

    @property
    def key(self) -> str:
        return f"{self.chain}:{self.number}"


def text_of(lines: Iterable[Line], remarks: Iterable[str] = ()) -> str:
    """PDB text with serial numbers from 1 and a TER wherever the chain changes."""
    written, chain = [f"REMARK 900 {remark}"[:80] for remark in remarks], None
    for serial, line in enumerate(lines, start=1):
        if chain is not None and line.chain != chain:
            written.append("TER")
        chain = line.chain
        name = line.name[:4]
        name = name.ljust(4) if len(name) == 4 or len(line.element) == 2 else f" {name:3s}"
        x, y, z = line.position
        written.append(
            f"{'ATOM  ' if line.polymer else 'HETATM'}{serial % SERIALS:5d} {name} {line.residue[:3]:>3s} "
            f"{line.chain[:1]:1s}{line.number:4d}{line.code[:1]:1s}"
            f"   {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {line.element:>2s}  "
        )
    return "\n".join(written) + "\nTER\nEND\n"


def line_of(atom: Atom, working: str, name: str) -> Line:
    """An atom under its working id (chain:number) and its residue's working name."""
    chain, number = working.split(":")
    return Line(atom.name, atom.element, name, chain, int(number), "", atom.position, atom.polymer or name == "MET")


def parse_line(text: str) -> Line:
    """An atom line that one of our own programs wrote."""
    name, element = text[12:16].strip(), text[76:78].strip().upper()
    position = (float(text[30:38]), float(text[38:46]), float(text[46:54]))
    element = element or name.lstrip("0123456789")[:1]
    return Line(
        name, element, text[17:20].strip(), text[21].strip(), int(text[22:26]), text[26].strip(), position, text.startswith("ATOM")
    )
