// Name, description and tags. Somebody may have saved meanwhile: then nothing is written before one has chosen.

import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answered, ApiError, getProject, newKey, type Project, saveProject } from '@/api/client'
import { Button, Card, Failure, TextArea, TextField } from '@/design'
import { useDraft } from '@/design/draft'
import { changed, tagsOf } from './queries'

export function Edit({ project, done }: { project: Project; done: () => void }) {
  const { projectId } = project
  const { draft, change, forget } = useDraft(`project.${projectId}`, {
    name: project.name, description: project.description, tags: project.tags.join(', '), version: project.currentVersion,
  })
  const [theirs, setTheirs] = useState<Project>()
  const save = useMutation({
    mutationFn: async (over: Project | undefined) => {
      // Of a project that moved on the content stays theirs: this form has changed none of it.
      const head = over ?? (await answered(getProject({ path: { projectId } })))
      const body = { name: draft.name.trim(), description: draft.description, tags: tagsOf(draft.tags), content: head.content }
      return await answered(saveProject({
        path: { projectId }, body: { ...body, expectedVersion: over ? over.currentVersion : draft.version },
        headers: { 'Idempotency-Key': newKey() },
      }))
    },
    onSuccess: () => {
      forget()
      changed()
      done()
    },
    onError: async (error) => {
      if (error instanceof ApiError &&
        error.code === 'VERSION_CONFLICT') setTheirs(await answered(getProject({ path: { projectId } })))
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate(undefined)
  }
  const leave = () => {
    forget()
    changed()
    done()
  }
  return (
    <Card title="Name and description">
      <form className="grid gap-4" onSubmit={submit}>
        <TextField label="Name" required maxLength={200} value={draft.name}
          onChange={(event) => change({ name: event.target.value })} />
        <TextArea label="Description" maxLength={4000} rows={4} value={draft.description}
          onChange={(event) => change({ description: event.target.value })} />
        <TextField label="Tags" hint="Words to find it by, with commas between." value={draft.tags}
          onChange={(event) => change({ tags: event.target.value })} />
        {theirs ? <Conflict theirs={theirs} busy={save.isPending} see={leave} over={() => save.mutate(theirs)} />
          : <Failure error={save.error} />}
        <div className="flex flex-wrap gap-2">
          <Button kind="primary" type="submit" busy={save.isPending} disabled={theirs !== undefined}>Save as a new version</Button>
          <Button onClick={leave}>Discard</Button>
        </div>
      </form>
    </Card>
  )
}

function Conflict({ theirs, busy, see, over }: { theirs: Project; busy: boolean; see: () => void; over: () => void }) {
  return (
    <div role="alert" className="grid gap-2 rounded-md border border-warn p-3 text-sm">
      <p className="text-warn">This project was saved elsewhere as version {theirs.currentVersion}. Nothing of yours was written.</p>
      <p>There it is called “{theirs.name}”{theirs.tags.length ? `, with the tags ${theirs.tags.join(', ')}`
        : ''}{theirs.description ? `: ${theirs.description.slice(0, 300)}` : '.'}</p>
      <div className="flex flex-wrap gap-2">
        <Button onClick={see}>See version {theirs.currentVersion}, drop mine</Button>
        <Button busy={busy} onClick={over}>Save mine over it</Button>
      </div>
    </div>
  )
}
