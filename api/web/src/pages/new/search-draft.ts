// What the form of a sequence search holds, and the request that it makes.

import type { EstimateRequest, SubmitRequest } from '@/api/client'
import type { StoredFile } from './file-field'
import type { Plan } from './frame'
import { priced } from './price'
import { commandLine } from './shell-word'

export interface SearchDraft {
  source: 'text' | 'file'
  text: string
  file?: StoredFile
  /** What the letters of the file say; it is not read again. */
  fileProgram?: Program
  program: '' | Program
  /** Name and version of the database, with a slash; '' for the only one of its type. */
  database: string
  evalue: string
  maxHits: string
  noReuse: boolean
  name: string
}

export type Program = 'blastp' | 'blastn'

export const emptySearch = (): SearchDraft => ({
  source: 'text', text: '', program: '', database: '', evalue: '10', maxHits: '500', noReuse: false, name: '',
})

/** The share of ACGTUN among the letters from which on a sequence is one of nucleotides; of proteins they are a third. */
const nucleotideShare = 0.9
const leastLetters = 12

/** What searches these sequences, by their letters; undefined where they do not tell. Throws for what is no FASTA. */
export function programOf(fasta: string): Program | undefined {
  const lines = fasta.split(/\r?\n/).map((line) => line.trim()).filter((line) => line !== '' && !/^[;!#]/.test(line))
  if (lines.length > 0 && !lines[0]!.startsWith('>')) throw new Error('This is no FASTA: each sequence begins with a line “>name title”.')
  const letters = lines.filter((line) => !line.startsWith('>')).join('').toUpperCase().replace(/[^A-Z]/g, '')
  if (letters.length < leastLetters) return undefined
  return letters.replace(/[^ACGTUN]/g, '').length >= nucleotideShare * letters.length ? 'blastn' : 'blastp'
}

function guess(text: string): { program?: Program; problem?: string } {
  try {
    return { program: programOf(text) }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** What searches the sequences of a draft. */
export function chosenProgram(draft: SearchDraft): Program | undefined {
  return draft.program || (draft.source === 'file' ? draft.fileProgram : guess(draft.text).program)
}

export function searchPlan(draft: SearchDraft): { plan: Plan; estimate?: EstimateRequest } {
  const missing: string[] = []
  const program = chosenProgram(draft)
  const text = draft.source === 'text' ? draft.text.trim() : ''
  if (draft.source === 'file' ? !draft.file : text === '') missing.push('Give the sequences to search with.')
  const { problem } = guess(text)
  if (problem) missing.push(problem)
  else if (missing.length === 0 && !program) missing.push('The letters do not tell proteins from nucleotides: choose the program.')
  const [evalue, maxHits] = [Number(draft.evalue), Number(draft.maxHits)]
  if (!(evalue > 0)) missing.push('E-value: write a number above 0, such as 0.001.')
  if (!Number.isInteger(maxHits) || maxHits < 1) missing.push('Hits: write a whole number.')
  const [blastDatabaseName, blastDatabaseVersion] = draft.database.split('/')
  const job = {
    jobType: 'simulation', simulator: program ?? 'blastp',
    simulationParams: {
      ...(blastDatabaseName ? { blastDatabaseName } : {}), ...(blastDatabaseVersion ? { blastDatabaseVersion } : {}),
      ...(evalue > 0 ? { blastEvalue: evalue } : {}), ...(maxHits >= 1 ? { blastMaxHits: maxHits } : {}),
    },
  } satisfies EstimateRequest
  const title = draft.source === 'file' ? draft.file?.name ?? '' : (/^>\s*(\S+)/.exec(text)?.[1] ?? 'sequences')
  const against = blastDatabaseName ? ` against ${blastDatabaseName}` : ''
  const jobName = (draft.name.trim() || `${job.simulator} of ${title}${against}`).slice(0, 512)
  const request: SubmitRequest = { ...job, jobName, ...(draft.noReuse ? { noReuse: true } : {}) }
  const plan: Plan = {
    ...(missing.length === 0 ? { request } : {}), scene: draft.source === 'file' ? draft.file?.storageKey : undefined,
    document: draft.source === 'text' ? { name: 'queries.fasta', text: text + '\n' } : undefined, missing,
  }
  return program ? { plan, estimate: { ...job, ...priced(plan.scene, draft.noReuse) } } : { plan }
}

export function searchCommand(draft: SearchDraft): string {
  const flags: [string, string][] = [
    ['--db', draft.database.replace('/', ':')], ['--program', chosenProgram(draft) ?? ''], ['--evalue', draft.evalue],
    ['--max-hits', draft.maxHits], ['--name', draft.name],
  ]
  const file = (draft.source === 'file' && draft.file?.name) || 'queries.fasta'
  const again = draft.noReuse ? ['--no-reuse'] : []
  return commandLine(['molfabric', 'blast', file, ...again], flags.filter(([, value]) => value !== ''))
}
