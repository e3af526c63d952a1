// The form of a prediction of structures.

import { Card, Check, Select, TextArea, TextField } from '@/design'
import { upload } from '@/uploads'
import { Choice } from './docking-receptor'
import { useDraft } from './draft'
import { type FieldErrors, fieldErrors } from './fields'
import { FileField } from './file-field'
import { emptyFolding, type FoldingDraft, foldingCommand, foldingPlan, lengthsOf } from './folding-draft'
import { NewJob, useSubmission } from './frame'
import { usePrice } from './price'

const draftName = 'folding'
const known = [
  'sceneFile', 'foldModel', 'foldModels', 'foldRecycles', 'foldSeeds', 'foldMsa', 'parameters.foldDevice', 'jobName',
]

export function NewFolding() {
  const { draft, set, clear } = useDraft(draftName, emptyFolding)
  const { plan, estimate } = foldingPlan(draft)
  const price = usePrice(estimate)
  const submission = useSubmission(draftName, plan, clear)
  const errors = fieldErrors(submission.error ?? price.error, known)
  return (
    <NewJob
      title="Predict structures"
      lead="Predicts how proteins fold with ESMFold or AlphaFold 2, and says how sure the model is of each residue."
      plan={plan} price={price} submission={submission} error={errors.rest} command={foldingCommand(draft)} onClear={clear}
      again={draft.model === 'alphafold' ? { noReuse: draft.noReuse, set } : undefined}
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
              error={errors.at('sceneFile')}
              placeholder={'>trp-cage\nNLYIQWLKDGGPSSGRPPPS'}
              hint="Each protein begins with a line “>name”. “:” joins the chains of a complex."
              onChange={(event) => set({ text: event.target.value })}
            />
          ) : (
            <FileField
              label="FASTA file" accept=".fasta,.fa,.faa,.txt,.gz" chosen={draft.file}
              hint="Also as .gz, up to 4 MiB and 1,000 proteins."
              error={errors.at('sceneFile')} onRemove={() => set({ file: undefined, fileLengths: undefined })}
              take={async ({ name, content }, signal, onProgress) => {
                const fileLengths = lengthsOf(await content.text())
                set({ file: { name, ...(await upload(content, name, { signal, onProgress })) }, fileLengths })
              }}
            />
          )}
        </div>
      </Card>
      <Card title="2. Settings">
        <div className="grid gap-4 sm:grid-cols-2">
          <Select
            label="Model" value={draft.model} error={errors.at('foldModel')}
            hint="ESMFold needs no alignment and is quick; AlphaFold 2 is surer where the service aligns to a database."
            onChange={(event) => set({ model: event.target.value as FoldingDraft['model'] })}
          >
            <option value="esmfold">ESMFold</option>
            <option value="alphafold">AlphaFold 2</option>
          </Select>
          <Select
            label="What computes" value={draft.device} error={errors.at('parameters.foldDevice')}
            hint="A processor takes proteins of up to 400 residues, a GPU those of up to 1,024."
            onChange={(event) => set({ device: event.target.value as FoldingDraft['device'] })}
          >
            <option value="cpu">A processor</option>
            <option value="cuda">A GPU</option>
          </Select>
          {draft.model === 'alphafold' ? <AlphaFold draft={draft} set={set} errors={errors} /> : null}
          <TextField
            label="Name of the job" value={draft.name} maxLength={512} placeholder="made from the sequences"
            error={errors.at('jobName')} onChange={(event) => set({ name: event.target.value })}
          />
        </div>
      </Card>
    </NewJob>
  )
}

interface AlphaFoldProps {
  draft: FoldingDraft
  set: (change: Partial<FoldingDraft>) => void
  errors: FieldErrors
}

/** What AlphaFold 2 alone can be told. */
function AlphaFold({ draft, set, errors }: AlphaFoldProps) {
  return (
    <>
      <TextField
        label="Models" inputMode="numeric" value={draft.models} error={errors.at('foldModels')}
        hint="1 to 5 predict each protein; the best is ranked first." onChange={(event) => set({ models: event.target.value })}
      />
      <TextField
        label="Recycles" inputMode="numeric" value={draft.recycles} error={errors.at('foldRecycles')}
        hint="Passes after the first, 0 to 20." onChange={(event) => set({ recycles: event.target.value })}
      />
      <TextField
        label="Seeds" inputMode="numeric" value={draft.seeds} error={errors.at('foldSeeds')}
        hint="Each model predicts once with each of 1 to 8." onChange={(event) => set({ seeds: event.target.value })}
      />
      <Select
        label="Alignment" value={draft.msa} error={errors.at('foldMsa')}
        onChange={(event) => set({ msa: event.target.value as FoldingDraft['msa'] })}
      >
        <option value="">To the database of this service, if it has one</option>
        <option value="database">To the database of this service</option>
        <option value="single_sequence">None: single sequences</option>
      </Select>
      <TextField
        label="Templates" value={draft.templates} error={errors.at('foldTemplates')} placeholder="none"
        hint="Entries of the Protein Data Bank that models may look at: 1CBS, 2CBS."
        onChange={(event) => set({ templates: event.target.value })}
      />
      <Check
        label="Relax the best model with OpenMM" hint="Pulls bonds and clashes right." checked={draft.relax}
        onChange={(event) => set({ relax: event.target.checked })}
      />
    </>
  )
}
