// The form of a prediction of structures.

import { Card, Select, TextArea, TextField } from '@/design'
import { upload } from '@/uploads'
import { Choice } from './docking-receptor'
import { useDraft } from './draft'
import { fieldErrors } from './fields'
import { FileField } from './file-field'
import { emptyFolding, type FoldingDraft, foldingCommand, foldingPlan } from './folding-draft'
import { NewJob, useSubmission } from './frame'
import { usePrice } from './price'

const draftName = 'folding'
const known = ['sceneFile', 'foldModel', 'parameters.foldDevice', 'jobName']

export function NewFolding() {
  const { draft, set, clear } = useDraft(draftName, emptyFolding)
  const { plan, estimate } = foldingPlan(draft)
  const price = usePrice(estimate)
  const submission = useSubmission(draftName, plan, clear)
  const errors = fieldErrors(submission.error ?? price.error, known)
  return (
    <NewJob
      title="Predict structures"
      lead="Predicts how proteins fold with ESMFold, from their sequences alone, and says how sure it is of each residue."
      plan={plan} price={price} submission={submission} error={errors.rest} command={foldingCommand(draft)} onClear={clear}
    >
      <Card title="1. Sequences">
        <div className="grid gap-4">
          <Choice
            legend="What to fold" value={draft.source} onChange={(source) => set({ source })}
            options={[['text', 'Sequences that I paste'], ['file', 'A file']]}
          />
          {draft.source === 'text' ? (
            <TextArea
              label="FASTA" rows={8} value={draft.text} spellCheck={false} autoComplete="off"
              error={errors.at('sceneFile', 'foldModel')}
              placeholder={'>trp-cage\nNLYIQWLKDGGPSSGRPPPS'}
              hint="Each protein begins with a line “>name”. “:” joins the chains of a complex."
              onChange={(event) => set({ text: event.target.value })}
            />
          ) : (
            <FileField
              label="FASTA file" accept=".fasta,.fa,.faa,.txt,.gz" chosen={draft.file}
              hint="Also as .gz, up to 4 MiB and 1,000 proteins."
              error={errors.at('sceneFile', 'foldModel')} onRemove={() => set({ file: undefined })}
              take={async ({ name, content }, signal, onProgress) =>
                set({ file: { name, ...(await upload(content, name, { signal, onProgress })) } })}
            />
          )}
        </div>
      </Card>
      <Card title="2. Settings">
        <div className="grid gap-4 sm:grid-cols-2">
          <Select
            label="What computes" value={draft.device} error={errors.at('parameters.foldDevice')}
            hint="A processor takes proteins of up to 400 residues, a GPU those of up to 1,024."
            onChange={(event) => set({ device: event.target.value as FoldingDraft['device'] })}
          >
            <option value="cpu">A processor</option>
            <option value="cuda">A GPU</option>
          </Select>
          <TextField
            label="Name of the job" value={draft.name} maxLength={512} placeholder="made from the sequences"
            error={errors.at('jobName')} onChange={(event) => set({ name: event.target.value })}
          />
        </div>
      </Card>
    </NewJob>
  )
}
