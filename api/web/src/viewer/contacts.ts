// Kinds of contacts between a ligand and its receptor: names, signs and colours, as the docking's pictures have them. The colours
// are told apart by every kind of colour vision (after Okabe and Ito), and never alone: each has a sign.

export interface ContactKind {
  name: string
  /** For places with room for no more. */
  sign: string
  color: string
}

const kinds: Record<string, ContactKind> = {
  hydrogen_bond: { name: 'hydrogen bond', sign: 'H', color: '#1f8fe0' },
  salt_bridge: { name: 'salt bridge', sign: 'S', color: '#d99a00' },
  halogen_bond: { name: 'halogen bond', sign: 'X', color: '#00a5a5' },
  metal_complex: { name: 'bond to a metal', sign: 'M', color: '#8a5fb0' },
  water_bridge: { name: 'water bridge', sign: 'W', color: '#6fb9ea' },
  pi_stacking: { name: 'π stacking', sign: 'π', color: '#4aa85a' },
  pi_cation: { name: 'π–cation', sign: 'π+', color: '#d96b45' },
  hydrophobic: { name: 'hydrophobic contact', sign: '·', color: '#9aa3ad' },
}

export const contactKinds = Object.keys(kinds)

export const contactKind = (type: string): ContactKind =>
  kinds[type] ?? { name: type.replaceAll('_', ' '), sign: '?', color: '#9aa3ad' }

/** "THR" 315 reads "Thr315". */
export const residueWords = (name: string, number: number, insertionCode = '') =>
  `${name.length === 3 && /^[A-Z]+$/.test(name) ? name[0] + name.slice(1).toLowerCase() : name}${number}${insertionCode}`
