// A structure for a job: a file, or an entry of the Protein Data Bank that the Studio fetches.

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, deleteStudioSession, getStudioFile, openStudioSession } from '@/api/client'
import { Button, Failure, TextField } from '@/design'
import { upload } from '@/uploads'
import { pdbIdForm } from './docking-draft'
import { endsIn, FileField, type StoredFile, storing } from './file-field'

interface Props {
  label: string
  hint: string
  /** Extensions without dots. */
  formats: string[]
  chosen?: StoredFile
  error?: string
  onChange: (file: StoredFile | undefined) => void
}

/** An entry of the Protein Data Bank as a file of the account. */
async function fetchEntry(id: string): Promise<StoredFile> {
  const session = await answered(openStudioSession({ body: { source: `pdb:${id.toUpperCase()}` } }))
  try {
    const structure = session.structures[0]
    if (!structure) throw new Error(`${id} has no structure that can be read here.`)
    const content = await answered(getStudioFile({ path: { sessionId: session.sessionId, name: structure.file }, parseAs: 'blob' }))
    const name = `${id.toUpperCase()}.${structure.format === 'mmcif' ? 'cif' : structure.format}`
    return { name, ...(await upload(content as Blob, name)) }
  } finally {
    await answered(deleteStudioSession({ path: { sessionId: session.sessionId } })).catch(() => undefined)
  }
}

export function StructureField({ label, hint, formats, chosen, error, onChange }: Props) {
  const [id, setId] = useState('')
  const entry = useMutation({ mutationFn: fetchEntry, onSuccess: onChange })
  const wanted = pdbIdForm.test(id)
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <FileField
        label={label} accept={[...formats, 'gz'].map((one) => '.' + one).join(',')} hint={hint} chosen={chosen} error={error}
        onRemove={() => onChange(undefined)}
        take={storing(onChange, endsIn(formats))}
      />
      <div className="grid content-start gap-2">
        <TextField
          label="Or an entry of the Protein Data Bank" value={id} maxLength={4} placeholder="1UYD" autoComplete="off"
          spellCheck={false}
          onChange={(event) => setId(event.target.value.trim())}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault() // it would submit the job
            if (wanted) entry.mutate(id)
          }}
        />
        <div><Button busy={entry.isPending} disabled={!wanted} onClick={() => entry.mutate(id)}>Fetch it</Button></div>
        <Failure error={entry.error} />
      </div>
    </div>
  )
}
