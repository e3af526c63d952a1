// What the form of a prediction of structures holds, and the request that it makes.

import type { EstimateRequest, SubmitRequest } from '@/api/client'
import type { StoredFile } from './file-field'
import type { Plan } from './frame'
import { commandLine } from './shell-word'

export interface FoldingDraft {
  source: 'text' | 'file'
  text: string
  file?: StoredFile
  device: 'cpu' | 'cuda'
  name: string
}

export const emptyFolding = (): FoldingDraft => ({ source: 'text', text: '', device: 'cpu', name: '' })

export function foldingPlan(draft: FoldingDraft): { plan: Plan; estimate: EstimateRequest } {
  const missing: string[] = []
  const text = draft.source === 'text' ? draft.text.trim() : ''
  if (draft.source === 'file' ? !draft.file : text === '') missing.push('Give the sequences to fold.')
  else if (draft.source === 'text' && !text.startsWith('>')) {
    missing.push('This is no FASTA: each protein begins with a line “>name”.')
  }
  const job = {
    jobType: 'simulation', simulator: 'esmfold', ...(draft.device === 'cuda' ? { parameters: { foldDevice: 'cuda' } } : {}),
  } satisfies EstimateRequest
  const title = draft.source === 'file' ? (draft.file?.name ?? '') : (/^>\s*(\S+)/.exec(text)?.[1] ?? 'proteins')
  const request: SubmitRequest = { ...job, jobName: (draft.name.trim() || `fold of ${title}`).slice(0, 512) }
  const plan: Plan = {
    ...(missing.length === 0 ? { request } : {}), scene: draft.source === 'file' ? draft.file?.storageKey : undefined,
    document: draft.source === 'text' ? { name: 'proteins.fasta', text: text + '\n' } : undefined, missing,
  }
  return { plan, estimate: job }
}

export function foldingCommand(draft: FoldingDraft): string {
  const flags: [string, string][] = [['--device', draft.device === 'cpu' ? '' : draft.device], ['--name', draft.name]]
  const file = (draft.source === 'file' && draft.file?.name) || 'proteins.fasta'
  return commandLine(['molfabric', 'fold', file], flags.filter(([, value]) => value !== ''))
}
