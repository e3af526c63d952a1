// A new project, empty or with the content of a file.

import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { answered, createProject, newKey } from '@/api/client'
import { Button, Dialog, Failure, TextArea, TextField } from '@/design'
import { useDraft } from '@/design/draft'
import { changed, tagsOf } from './queries'

async function contentOf(file: File | undefined): Promise<{ [member: string]: unknown }> {
  if (!file) return {}
  let content: unknown
  try {
    content = JSON.parse(await file.text())
  } catch {
    throw new Error(`${file.name} is not JSON.`)
  }
  if (typeof content !== 'object' || content === null ||
    Array.isArray(content)) throw new Error(`${file.name} has to hold one JSON object.`)
  return content as { [member: string]: unknown }
}

export function CreateProject({ done }: { done: () => void }) {
  const navigate = useNavigate()
  const { draft, change, forget } = useDraft('new-project', { name: '', description: '', tags: '' })
  const [file, setFile] = useState<File>()
  const [key] = useState(newKey)
  const create = useMutation({
    mutationFn: async () => {
      const body = { name: draft.name.trim(), description: draft.description, tags: tagsOf(draft.tags),
        content: await contentOf(file) }
      return await answered(createProject({ body, headers: { 'Idempotency-Key': key } }))
    },
    onSuccess: async (project) => {
      forget()
      changed()
      await navigate({ to: '/projects/$projectId', params: { projectId: project.projectId } })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <Dialog open onOpenChange={(open) => !open && done()} title="New project">
      <form className="grid gap-4" onSubmit={submit}>
        <TextField label="Name" required maxLength={200} value={draft.name}
          onChange={(event) => change({ name: event.target.value })} />
        <TextArea label="Description" maxLength={4000} rows={3} value={draft.description}
          onChange={(event) => change({ description: event.target.value })} />
        <TextField label="Tags" hint="Words to find it by, with commas between." value={draft.tags}
          onChange={(event) => change({ tags: event.target.value })} />
        <TextField label="Content (optional)" type="file" accept=".json,application/json"
          hint="A JSON object. Without one the project begins empty."
          onChange={(event) => setFile(event.target.files?.[0])} />
        <Failure error={create.error} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={done}>Cancel</Button>
          <Button kind="primary" type="submit" busy={create.isPending}>Make the project</Button>
        </div>
      </form>
    </Dialog>
  )
}
