// What was clicked in the viewer, in the Studio's selection language.

import type { Picked, Selector } from '@/viewer'

export interface Pointed {
  picked: Picked
  /** The atom alone, not its residue. */
  atom: boolean
}

/** "Thr" for an amino acid's THR; what is no name of three letters of one stays as it is. */
const aminoAcids = new Set('ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL'.split(' '))
const residueName = (name: string) => (aminoAcids.has(name) ? name[0] + name.slice(1).toLowerCase() : name)

export function selectionOf({ picked, atom }: Pointed): string {
  const parts = [picked.chain ? `chain ${picked.chain}` : '', `resi ${picked.residue}${picked.insertionCode}`,
    atom ? `name ${picked.atomName}` : '']
  return parts.filter(Boolean).join(' and ')
}

/** The same for the viewer. */
export const selectorOf = ({ picked, atom }: Pointed): Selector => ({
  structure: picked.structure, auth_asym_id: picked.chain, auth_seq_id: picked.residue,
  ...(picked.insertionCode ? { pdbx_PDB_ins_code: picked.insertionCode } : {}),
  ...(atom ? { auth_atom_id: picked.atomName } : {}),
})

export function pointedWords({ picked, atom }: Pointed): string {
  const residue =
    `${residueName(picked.residueName)} ${picked.residue}${picked.insertionCode}${picked.chain ? `, chain ${picked.chain}` : ''}`
  return atom ? `${picked.atomName} of ${residue}` : residue
}
