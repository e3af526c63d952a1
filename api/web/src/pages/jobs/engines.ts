// How jobs are called, and what can be done with their results.

import type { Job } from '@/api/client'

const engines: Record<string, string> = {
  'autodock-vina': 'AutoDock Vina', fpocket: 'fpocket', blastp: 'BLAST+ blastp', blastn: 'BLAST+ blastn', openmm: 'OpenMM',
  alphafold: 'AlphaFold',
  esmfold: 'ESMFold', molstar: 'Mol*', cycles: 'Cycles', swan: 'SWAN', wavewatch3: 'WAVEWATCH III',
}

const types: Record<string, string> = {
  render: 'Rendering', molecular: 'Molecular rendering', pipeline: 'Simulation and film', simulation: 'Simulation',
}

export const engineOf = (job: Pick<Job, 'simulator' | 'jobType'>) =>
  (job.simulator ? engines[job.simulator] ?? job.simulator : types[job.jobType] ?? job.jobType)

export const titleOf = (job: Pick<Job, 'jobName' | 'simulator' | 'jobType'>) => job.jobName || `${engineOf(job)} job without a name`

export const isDocking = (job: Job) => job.simulator === 'autodock-vina'
export const isSearch = (job: Job) => job.simulator === 'blastp' || job.simulator === 'blastn'
export const isFolding = (job: Job) => job.simulator === 'esmfold' || job.simulator === 'alphafold'
export const isDynamics = (job: Job) => job.simulator === 'openmm'

/** Job states by what a reader looks for. */
export const filters = [
  { value: 'active', label: 'Running and waiting', statuses: ['SUBMITTED', 'QUEUED', 'RUNNING', 'CANCELLING'] },
  { value: 'completed', label: 'Completed', statuses: ['COMPLETED'] },
  { value: 'partly', label: 'With failures', statuses: ['COMPLETED_WITH_FAILURES'] },
  { value: 'failed', label: 'Failed', statuses: ['FAILED'] },
  { value: 'cancelled', label: 'Cancelled', statuses: ['CANCELLED'] },
] as const satisfies { value: string; label: string; statuses: Job['status'][] }[]

export const active: Job['status'][] = [...filters[0].statuses]

/** For how long a job has run, or did run, in seconds; undefined before it has begun. */
export function secondsOf(job: Pick<Job, 'startedAt' | 'finishedAt'>, now = Date.now()): number | undefined {
  if (!job.startedAt) return undefined
  return Math.max(0, ((job.finishedAt ? Date.parse(job.finishedAt) : now) - Date.parse(job.startedAt)) / 1000)
}
