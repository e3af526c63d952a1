// Places in a structure, as people write them: STI:A:201, A:315, A:52A.

import type { PocketResidue, SimulationParams } from '@/api/client'

const residueForm = /^([^:\s]{1,16}):(-?\d{1,5})([A-Za-z]{0,4})$/
const componentForm = /^[A-Za-z0-9]{1,8}$/

/** Reads COMPONENT, COMPONENT:CHAIN or COMPONENT:CHAIN:NUMBER. */
export function readLigandPlace(text: string): SimulationParams | undefined {
  const [component = '', chain, residue, ...more] = text.trim().split(':')
  const numbered = residue === undefined || /^-?\d{1,5}$/.test(residue)
  if (!componentForm.test(component) || more.length > 0 || chain === '' || !numbered) return undefined
  return {
    pocketLigand: component.toUpperCase(), ...(chain === undefined ? {} : { pocketLigandChain: chain }),
    ...(residue === undefined ? {} : { pocketLigandResidue: Number(residue) }),
  }
}

/** Reads residues such as A:315, A:52A; undefined where one is not. */
export function readResidues(text: string): PocketResidue[] | undefined {
  const found = text.split(/[\s,]+/).filter((word) => word !== '').map((word) => residueForm.exec(word))
  if (found.length === 0 || found.some((match) => match === null)) return undefined
  return found.map((match) => ({
    chain: match![1]!, residue: Number(match![2]), ...(match![3] ? { insertionCode: match![3] } : {}),
  }))
}

type Triple = [number, number, number]

export interface Box {
  center: Triple
  size: Triple
}

/** Reads the six numbers of a box; undefined where one is missing. */
export function readNumbers(numbers: string[]): Box | undefined {
  const values = numbers.map((text) => (text.trim() === '' ? NaN : Number(text)))
  if (values.length !== 6 || values.some((value) => !Number.isFinite(value))) return undefined
  return { center: values.slice(0, 3) as Triple, size: values.slice(3) as Triple }
}

/** A number of a box moved by some Å, to thousandths, as coordinates are written. */
export const moved = (text: string, by: number) => String(Math.round((Number(text || '0') + by) * 1000) / 1000)

/** Numbers of a box as they are written. */
export const written = (numbers: number[]) => numbers.map((n) => moved(String(n), 0))
