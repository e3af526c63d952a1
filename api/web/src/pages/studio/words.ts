// What the Studio's answers say, in a few words.

import type { StudioOperation, StudioSelection } from '@/api/client'
import { count } from '@/words'

const plain = (name: string) => name.replaceAll('_', ' ')

function valueWords(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueWords).join(', ')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

/** Arguments that say what an operation is about: they come first, and need no name. */
const leading = new Set(['sel', 'of', 'source', 'what', 'kind', 'between', 'about', 'feature'])

/** "show ligand as sticks" for an operation. */
export function operationWords({ op, args }: StudioOperation): string {
  const inOrder = Object.entries(args).sort(([a], [b]) => Number(leading.has(b)) - Number(leading.has(a)))
  const parts = inOrder.map(([name, value]) => {
    if (value === true) return plain(name)
    if (value === false) return `no ${plain(name)}`
    return leading.has(name) || name === op ? valueWords(value) : `${plain(name)} ${valueWords(value)}`
  })
  return [plain(op), ...parts].join(' ')
}

export const countWords = (one: StudioSelection) => `${count(one.residueCount, 'residue')}, ${count(one.atomCount, 'atom')}`

/** Whether a turn did what it was asked to, or would do it. */
export const isDone = (turn: { notUnderstood: string[]; operations: StudioOperation[] }) =>
  turn.notUnderstood.length === 0 && turn.operations.every(({ op }) => op !== 'ask' && op !== 'refuse')
