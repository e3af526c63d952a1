// Which ligands of a run are listed. Pure.

import type { DockingResult } from '@/api/client'
import { contactKind, residueWords } from '@/viewer/contacts'

export interface Filter {
  text: string
  /** Best score at most, kcal/mol; as typed. */
  maxScore: string
  status: '' | DockingResult['status']
  checks: '' | 'passed' | 'failed'
}

export const noFilter: Filter = { text: '', maxScore: '', status: '', checks: '' }

export function filtered(results: DockingResult[], filter: Filter): DockingResult[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean)
  const most = filter.maxScore.trim() === '' ? NaN : Number(filter.maxScore.replace(',', '.').replace('−', '-'))
  return results.filter((one) => {
    if (filter.status && one.status !== filter.status) return false
    if (filter.checks && one.passedChecks !== (filter.checks === 'passed')) return false
    if (Number.isFinite(most) && !(one.bestScoreKcalMol !== null && one.bestScoreKcalMol <= most)) return false
    if (words.length === 0) return true
    const said =
      `${one.label} ${one.ligandId} ${one.inchiKey ?? ''} ${(one.interactions ?? []).map((key) => keyWords(key)).join(' ')}`.toLowerCase()
    return words.every((word) => said.includes(word))
  })
}

/** An interaction as results name it: chain:residueName:residue:type, an insertion code behind the number. */
export interface InteractionKey {
  chain: string
  residueName: string
  residue: string
  type: string
}

export function interactionOf(key: string): InteractionKey {
  const [chain = '', residueName = '', residue = '', type = ''] = key.split(':')
  return { chain, residueName, residue, type }
}

/** "Met318 A hydrogen bond" */
export function keyWords(key: string): string {
  const { chain, type } = interactionOf(key)
  return `${residueOf(key)} ${chain} ${contactKind(type).name}`
}

/** "Met318" */
export function residueOf(key: string): string {
  const { residueName, residue } = interactionOf(key)
  const [, number = residue, code = ''] = /^(-?\d+)(.*)$/.exec(residue) ?? []
  return residueWords(residueName, Number(number), code)
}

/** The contacts that say most, directed ones first, a residue and kind each once. */
export function keyContacts(keys: string[] | null, most: number): { words: string[]; more: number } {
  const directed = [...new Set(keys ?? [])].filter((key) => interactionOf(key).type !== 'hydrophobic')
  return {
    words: directed.slice(0, most).map((key) => `${residueOf(key)} ${contactKind(interactionOf(key).type).sign}`),
    more: Math.max(0, directed.length - most),
  }
}
