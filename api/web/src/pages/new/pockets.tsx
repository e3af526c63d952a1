// The form of a search for pockets.

import type { EstimateRequest, SubmitRequest } from '@/api/client'
import { Card, TextField } from '@/design'
import { useDraft } from './draft'
import { fieldErrors } from './fields'
import type { StoredFile } from './file-field'
import { NewJob, type Plan, useSubmission } from './frame'
import { priced, usePrice } from './price'
import { commandLine } from './shell-word'
import { StructureField } from './structure-field'

const draftName = 'pockets'

interface Draft {
  file?: StoredFile
  maxPockets: string
  noReuse: boolean
  name: string
}

const empty = (): Draft => ({ maxPockets: '10', noReuse: false, name: '' })

function planOf(draft: Draft): { plan: Plan; estimate: EstimateRequest } {
  const missing = draft.file ? [] : ['Choose the protein.']
  const maxPockets = Number(draft.maxPockets)
  if (!Number.isInteger(maxPockets) || maxPockets < 1) missing.push('Pockets: write a whole number from 1 to 20.')
  const job = { jobType: 'simulation', simulator: 'fpocket', simulationParams: { maxPockets: maxPockets || 10 } } as const
  const jobName = draft.name.trim() || `pockets of ${(draft.file?.name ?? '').replace(/\.[^.]+$/, '')}`
  const request: SubmitRequest = { ...job, jobName, ...(draft.noReuse ? { noReuse: true } : {}) }
  const scene = draft.file?.storageKey
  const plan: Plan = { ...(missing.length === 0 ? { request } : {}), scene, missing }
  return { plan, estimate: { ...job, ...priced(scene, draft.noReuse) } }
}

export function NewPockets() {
  const { draft, set, clear } = useDraft(draftName, empty)
  const { plan, estimate } = planOf(draft)
  const price = usePrice(estimate)
  const submission = useSubmission(draftName, plan, clear)
  const again = draft.noReuse ? ['--no-reuse'] : []
  const command = draft.file && commandLine(['molfabric', 'pockets', draft.file.name, ...again], [['--max', draft.maxPockets]])
  const errors = fieldErrors(submission.error ?? price.error, ['sceneFile', 'maxPockets', 'jobName'])
  return (
    <NewJob
      title="Find pockets" lead="Finds the pockets of a protein with fpocket, with a box to dock into for each."
      plan={plan} price={price} submission={submission} error={errors.rest} onClear={clear}
      command={command} again={{ noReuse: draft.noReuse, set }}
    >
      <Card title="1. Protein">
        <StructureField
          label="Structure" formats={['pdb', 'ent', 'cif', 'mmcif', 'pdbqt']} chosen={draft.file} error={errors.at('sceneFile')}
          onChange={(file) => set({ file })}
          hint="PDB or mmCIF, also as .gz. What is bound covers surface: leave it out of the file to judge the empty protein."
        />
      </Card>
      <Card title="2. Settings">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Most pockets" inputMode="numeric" value={draft.maxPockets} hint="1 to 20, the best first."
            error={errors.at('maxPockets')} onChange={(event) => set({ maxPockets: event.target.value })}
          />
          <TextField
            label="Name of the job" value={draft.name} maxLength={512} placeholder="made from the file" error={errors.at('jobName')}
            onChange={(event) => set({ name: event.target.value })}
          />
        </div>
      </Card>
    </NewJob>
  )
}
