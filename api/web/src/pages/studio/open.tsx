// Opening a session: with an entry of a databank, a file, or what a link names.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { answered, newKey, openStudioSession } from '@/api/client'
import { Button, Card, Failure, TextField } from '@/design'
import { upload } from '@/uploads'

function useOpen() {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [key, setKey] = useState(newKey)
  return useMutation({
    mutationFn: async (what: string | File) => {
      const source = typeof what === 'string' ? what : `upload:${(await upload(what, what.name)).storageKey}`
      return await answered(openStudioSession({ body: { source }, headers: { 'Idempotency-Key': key } }))
    },
    onSuccess: async (session) => {
      void queries.invalidateQueries({ queryKey: ['studio', 'sessions'] })
      await navigate({ to: '/studio/sessions/$sessionId', params: { sessionId: session.sessionId } })
    },
    onSettled: () => setKey(newKey()),
  })
}

const kinds: Record<string, string> = {
  pdb: 'the entry {} of the Protein Data Bank', alphafold: 'the AlphaFold model of {}', pose: 'the docked pose {}',
  run: 'the docking {}', frame: 'the frame {} of a simulation',
  artifact: 'the file {} of a job', upload: 'the uploaded file {}',
}

/** What a link names. It is opened after a click: a link alone makes nothing. */
export function OpenSource({ source }: { source: string }) {
  const open = useOpen()
  const [kind, ...name] = source.split(':')
  const words = (kinds[kind!] ?? 'the structure {}').replace('{}', name.join(':') || source)
  return (
    <Card title="From a link">
      <p className="mb-3 wrap-anywhere">Open {words} in the Studio?</p>
      <Button kind="primary" busy={open.isPending} onClick={() => open.mutate(source)}>Open it</Button>
      <div className="mt-2"><Failure error={open.error} /></div>
    </Card>
  )
}

/** An identifier as people type it: four characters are an entry of the Protein Data Bank. */
function sourceOf(text: string): string {
  const typed = text.trim()
  return typed.includes(':') ? typed : `pdb:${typed.toUpperCase()}`
}

export function OpenForm() {
  const open = useOpen()
  const [id, setId] = useState('')
  const [file, setFile] = useState<File>()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const what = file ?? (id.trim() ? sourceOf(id) : undefined)
    if (what) open.mutate(what)
  }
  return (
    <Card title="New session">
      <form className="grid gap-4 sm:grid-cols-2" onSubmit={submit}>
        <TextField label="PDB entry" placeholder="1CBS" maxLength={1100} value={id} disabled={file !== undefined}
          onChange={(event) => setId(event.target.value)}
          hint="Or alphafold:P00533, pose:…, run:…, frame:JOB/1 of what your jobs have made." />
        <TextField label="Or a file" type="file" accept=".pdb,.ent,.cif,.mmcif,.pdbqt,.gz,.mvsj,.mvsx"
          onChange={(event) => setFile(event.target.files?.[0])}
          hint="A structure (.cif, .pdb, .pdbqt), or a scene that the Studio has exported (.mvsx, .mvsj)." />
        <div className="grid gap-3 sm:col-span-2">
          <Failure error={open.error} />
          <div><Button kind="primary" type="submit" busy={open.isPending} disabled={!file && !id.trim()}>Open</Button></div>
        </div>
      </form>
    </Card>
  )
}
