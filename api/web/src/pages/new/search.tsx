// The form of a sequence search.

import { useQuery } from '@tanstack/react-query'
import { answered, listBlastDatabases } from '@/api/client'
import { Card, Failure, Loading, Select, TextArea, TextField } from '@/design'
import { upload } from '@/uploads'
import { Choice } from './docking-receptor'
import { useDraft } from './draft'
import { fieldErrors } from './fields'
import { FileField } from './file-field'
import { NewJob, useSubmission } from './frame'
import { usePrice } from './price'
import { chosenProgram, emptySearch, programOf, searchCommand, type SearchDraft, searchPlan } from './search-draft'

const draftName = 'search'
/** How much of a file is looked at to tell proteins from nucleotides. */
const sampleBytes = 1 << 20
const known = ['sceneFile', 'simulator', 'blastDatabaseName', 'blastDatabaseVersion', 'blastEvalue', 'blastMaxHits', 'jobName']

export function NewSearch() {
  const { draft, set, clear } = useDraft(draftName, emptySearch)
  const { plan, estimate } = searchPlan(draft)
  const price = usePrice(estimate)
  const submission = useSubmission(draftName, plan, clear)
  const errors = fieldErrors(submission.error ?? price.error, known)
  const program = chosenProgram(draft)
  return (
    <NewJob
      title="New sequence search"
      lead="Searches a database of sequences with NCBI BLAST+, in tasks side by side."
      plan={plan} price={price} submission={submission} error={errors.rest} command={searchCommand(draft)} onClear={clear}
      again={{ noReuse: draft.noReuse, set }}
    >
      <Card title="1. Sequences">
        <div className="grid gap-4">
          <Choice
            legend="What to search with" value={draft.source} onChange={(source) => set({ source })}
            options={[['text', 'Sequences that I paste'], ['file', 'A file']]}
          />
          {draft.source === 'text' ? (
            <TextArea
              label="FASTA" rows={8} value={draft.text} spellCheck={false} autoComplete="off" error={errors.at('sceneFile')}
              placeholder={'>name title\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHF'}
              hint="Each sequence begins with a line “>name title”."
              onChange={(event) => set({ text: event.target.value })}
            />
          ) : (
            <FileField
              label="FASTA file" accept=".fasta,.fa,.faa,.fna,.ffn,.txt,.gz" hint="Also as .gz, up to 64 MB." chosen={draft.file}
              error={errors.at('sceneFile')}
              onRemove={() => set({ file: undefined })}
              take={async ({ name, content }, signal, onProgress) => {
                const fileProgram = programOf(await content.slice(0, sampleBytes).text())
                set({ file: { name, ...(await upload(content, name, { signal, onProgress })) }, fileProgram })
              }}
            />
          )}
        </div>
      </Card>
      <Card title="2. Database and settings">
        <div className="grid gap-4 sm:grid-cols-2">
          <Select
            label="Program" value={draft.program} error={errors.at('simulator')}
            onChange={(event) => set({ program: event.target.value as SearchDraft['program'], database: '' })}
            hint={draft.program || !program ? undefined : `The letters say ${program === 'blastp' ? 'proteins' : 'nucleotides'}: ${program}.`}
          >
            <option value="">By the letters of the sequences</option>
            <option value="blastp">blastp: proteins in proteins</option>
            <option value="blastn">blastn: nucleotides in nucleotides</option>
          </Select>
          <Databases
            type={program === 'blastn' ? 'nucl' : 'prot'} value={draft.database}
            error={errors.at('blastDatabaseName', 'blastDatabaseVersion')} onChange={(database) => set({ database })}
          />
          <TextField
            label="Largest E-value" inputMode="decimal" value={draft.evalue} error={errors.at('blastEvalue')}
            onChange={(event) => set({ evalue: event.target.value })}
            hint="How many alignments this good are expected by chance. 0.001 is usual."
          />
          <TextField
            label="Most hits a sequence" inputMode="numeric" value={draft.maxHits} hint="1 to 1000."
            error={errors.at('blastMaxHits')} onChange={(event) => set({ maxHits: event.target.value })}
          />
          <TextField
            label="Name of the job" value={draft.name} maxLength={512} placeholder="made from sequences and database"
            error={errors.at('jobName')} onChange={(event) => set({ name: event.target.value })}
          />
        </div>
      </Card>
    </NewJob>
  )
}

interface DatabasesProps {
  type: 'prot' | 'nucl'
  value: string
  error?: string
  onChange: (database: string) => void
}

function Databases({ type, value, error, onChange }: DatabasesProps) {
  const list = useQuery({
    queryKey: ['databases', type], queryFn: () => answered(listBlastDatabases({ query: { type } })), staleTime: 60_000,
  })
  if (list.error) return <Failure error={list.error} retry={() => void list.refetch()} />
  if (!list.data) return <Loading what="the databases" />
  const { databases } = list.data
  if (databases.length === 0) {
    return (
      <div className="text-sm">
        <p className="mb-1 font-medium">Database</p>
        <p className="text-soft">This service has no database of {type === 'prot' ? 'proteins' : 'nucleotides'} yet. Its operator installs them.</p>
        {error ? <p className="mt-1 text-bad">{error}</p> : null}
      </div>
    )
  }
  return (
    <Select label="Database" value={value} error={error} onChange={(event) => onChange(event.target.value)}>
      <option value="">{databases.length === 1 ? `${databases[0]!.title}, the only one` : 'Choose a database'}</option>
      {databases.map((one) => (
        <option
          key={one.name + one.version} value={`${one.name}/${one.version}`}
        >{one.title}, {one.version} ({one.sequences.toLocaleString('en-GB')} sequences)</option>
      ))}
    </Select>
  )
}
