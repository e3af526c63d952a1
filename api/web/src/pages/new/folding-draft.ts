// What the form of a prediction of structures holds, and the request that it makes.

import type { EstimateRequest, SubmitRequest } from '@/api/client'
import type { StoredFile } from './file-field'
import type { Plan } from './frame'
import { priced } from './price'
import { commandLine } from './shell-word'

export interface FoldingDraft {
  source: 'text' | 'file'
  text: string
  file?: StoredFile
  /** Of the proteins in the file, which is not read again. */
  fileLengths?: number[]
  model: 'esmfold' | 'alphafold'
  device: 'cpu' | 'cuda'
  /** alphafold alone: whole numbers as they are typed. */
  models: string
  recycles: string
  seeds: string
  /** alphafold alone; '' leaves it to the service. */
  msa: '' | 'database' | 'single_sequence'
  relax: boolean
  /** alphafold alone: ids of the Protein Data Bank, as they are typed. */
  templates: string
  /** alphafold alone, of which alignments can be known. */
  noReuse: boolean
  name: string
}

export const emptyFolding = (): FoldingDraft => ({
  source: 'text', text: '', model: 'esmfold', device: 'cpu', models: '5', recycles: '3', seeds: '1', msa: '', relax: false,
  templates: '', noReuse: false, name: '',
})

const mostProteins = 1000
const mostResidues = { cpu: 400, cuda: 1024 }

/** How many residues each protein of a FASTA has, the chains of a complex together. */
export function lengthsOf(fasta: string): number[] {
  const lengths: number[] = []
  for (const line of fasta.split(/\r?\n/)) {
    if (line.startsWith('>')) lengths.push(0)
    else if (lengths.length > 0) lengths[lengths.length - 1]! += line.replace(/[^A-Za-z]/g, '').length
  }
  return lengths
}

/** A whole number of a range, or else what is wrong with it. */
function whole(text: string, what: string, least: number, most: number, missing: string[]): number | undefined {
  const number = text.trim() === '' ? NaN : Number(text)
  if (Number.isInteger(number) && number >= least && number <= most) return number
  missing.push(`${what}: write a whole number from ${least} to ${most}.`)
  return undefined
}

const idsOf = (text: string) => text.split(/[\s,;]+/).filter((id) => id !== '')

function alphafoldParams(draft: FoldingDraft, missing: string[]) {
  const foldModels = whole(draft.models, 'Models', 1, 5, missing)
  const foldRecycles = whole(draft.recycles, 'Recycles', 0, 20, missing)
  const foldSeeds = whole(draft.seeds, 'Seeds', 1, 8, missing)
  const foldTemplates = idsOf(draft.templates)
  const wrong = foldTemplates.find((id) => !/^[0-9][A-Za-z0-9]{3}$/.test(id))
  if (wrong !== undefined) missing.push(`Templates: “${wrong}” is no id of the Protein Data Bank, such as 1CBS.`)
  return {
    foldModels, foldRecycles, foldSeeds, foldRelax: draft.relax, ...(draft.msa ? { foldMsa: draft.msa } : {}),
    ...(foldTemplates.length > 0 ? { foldTemplates } : {}),
  }
}

export function foldingPlan(draft: FoldingDraft): { plan: Plan; estimate: EstimateRequest } {
  const missing: string[] = []
  const text = draft.source === 'text' ? draft.text.trim() : ''
  if (draft.source === 'file' ? !draft.file : text === '') missing.push('Give the sequences to fold.')
  else if (draft.source === 'text' && !text.startsWith('>')) {
    missing.push('This is no FASTA: each protein begins with a line “>name”.')
  }
  const simulationParams = draft.model === 'alphafold' ? alphafoldParams(draft, missing) : {}
  const job = {
    jobType: 'simulation', simulator: draft.model, simulationParams,
    ...(draft.device === 'cuda' ? { parameters: { foldDevice: 'cuda' } } : {}),
  } satisfies EstimateRequest
  const title = draft.source === 'file' ? (draft.file?.name ?? '') : (/^>\s*(\S+)/.exec(text)?.[1] ?? 'proteins')
  const request: SubmitRequest = {
    ...job, jobName: (draft.name.trim() || `fold of ${title}`).slice(0, 512), ...(alignsAgain(draft) ? { noReuse: true } : {}),
  }
  const plan: Plan = {
    ...(missing.length === 0 ? { request } : {}), scene: draft.source === 'file' ? draft.file?.storageKey : undefined,
    document: draft.source === 'text' ? { name: 'proteins.fasta', text: text + '\n' } : undefined, missing,
  }
  // What aligns is priced by its file, so that known alignments count; what does not, by lengths, without reading it.
  if (draft.model === 'alphafold' && plan.scene) return { plan, estimate: { ...job, ...priced(plan.scene, draft.noReuse) } }
  return { plan, estimate: { ...job, simulationParams: { ...simulationParams, ...lengthsToPrice(draft) } } }
}

/** Whether known alignments are made again; nothing else of a prediction can be known. */
const alignsAgain = (draft: FoldingDraft) => draft.model === 'alphafold' && draft.noReuse

/** What the price goes by. What is too long is not folded; the service says so of the sequences themselves. */
function lengthsToPrice(draft: FoldingDraft): { foldLengths?: number[] } {
  const lengths = draft.source === 'file' ? draft.fileLengths : lengthsOf(draft.text)
  const foldLengths = lengths?.filter((length) => length > 0 && length <= mostResidues[draft.device]).slice(0, mostProteins)
  return foldLengths?.length ? { foldLengths } : {}
}

export function foldingCommand(draft: FoldingDraft): string {
  const flags: [string, string][] = [
    ['--model', draft.model === 'esmfold' ? '' : draft.model], ['--device', draft.device === 'cpu' ? '' : draft.device],
    ...(draft.model === 'alphafold' ? alphafoldFlags(draft) : []), ['--name', draft.name],
  ]
  const file = (draft.source === 'file' && draft.file?.name) || 'proteins.fasta'
  const relax = draft.model === 'alphafold' && draft.relax ? ['--relax'] : []
  const again = alignsAgain(draft) ? ['--no-reuse'] : []
  return commandLine(['molfabric', 'fold', file, ...relax, ...again], flags.filter(([, value]) => value !== ''))
}

function alphafoldFlags(draft: FoldingDraft): [string, string][] {
  const usual = emptyFolding()
  const unusual = (value: string, other: string) => (value.trim() === other ? '' : value.trim())
  return [
    ['--models', unusual(draft.models, usual.models)], ['--recycles', unusual(draft.recycles, usual.recycles)],
    ['--seeds', unusual(draft.seeds, usual.seeds)], ['--msa', draft.msa],
    ['--templates', idsOf(draft.templates).join(',')],
  ]
}
