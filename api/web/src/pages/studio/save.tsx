// Keeps the scene in a project: a new one, or as the next version of one.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { answered, ApiError, getProject, listProjects, newKey, saveStudioSession, type StudioSession } from '@/api/client'
import { Button, Dialog, Failure, Select, TextField } from '@/design'
import { sessionKey } from './use-session'

export function SaveDialog({ session, done }: { session: StudioSession; done: () => void }) {
  const queries = useQueryClient()
  const { sessionId, project } = session
  const projects =
    useQuery({ queryKey: ['projects', 'list', 'to save to'], queryFn: () => answered(listProjects({ query: { limit: 100 } })) })
  const [projectId, setProjectId] = useState(project?.projectId ?? '')
  const [name, setName] = useState(session.title)
  const [head, setHead] = useState<number>()
  const save = useMutation({
    mutationFn: async (over: number | undefined) => {
      // The session's own project is saved over as the session knows it: what somebody saved meanwhile is told, not overwritten.
      const known =
        project?.projectId === projectId ? project.version
        : projects.data?.projects.find((one) => one.projectId === projectId)?.currentVersion
      const body = projectId ? { projectId, expectedVersion: over ?? known } : { name: name.trim() }
      return await answered(saveStudioSession({ path: { sessionId }, body, headers: { 'Idempotency-Key': newKey() } }))
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: sessionKey(sessionId) })
      void queries.invalidateQueries({ queryKey: ['projects'] })
    },
    onError: async (error) => {
      if (error instanceof ApiError &&
        error.code === 'VERSION_CONFLICT') setHead((await answered(getProject({ path: { projectId } }))).currentVersion)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setHead(undefined)
    save.mutate(undefined)
  }
  const choose = (id: string) => {
    setProjectId(id)
    setHead(undefined)
    save.reset()
  }
  if (save.data) {
    return (
      <Dialog open onOpenChange={(open) => !open && done()} title="Saved">
        <p role="status">
          The scene is version {save.data.version} of{' '}
          <Link to="/projects/$projectId" params={{ projectId: save.data.projectId }}>the project</Link>.
        </p>
      </Dialog>
    )
  }
  return (
    <Dialog open onOpenChange={(open) => !open && done()} title="Save to a project">
      <form className="grid gap-4" onSubmit={submit}>
        <Select label="Project" value={projectId} onChange={(event) => choose(event.target.value)}
          hint={projectId ? 'The scene becomes its next version. What else it holds stays.' : undefined}>
          <option value="">A new project</option>
          {project && !projects.data?.projects.some((one) => one.projectId === project.projectId)
            ? <option value={project.projectId}>The project of this session</option> : null}
          {projects.data?.projects.map((one) =>
            <option key={one.projectId} value={one.projectId}>{one.name} (version {one.currentVersion})</option>)}
        </Select>
        {projectId ? null
          : <TextField label="Name" required maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />}
        {head === undefined ? <Failure error={save.error ?? projects.error} /> : (
          <div role="alert" className="grid gap-2 rounded-md border border-warn p-3 text-sm">
            <p className="text-warn">The project was saved elsewhere as version {head}. Nothing of yours was written.</p>
            <div className="flex flex-wrap items-center gap-3">
              <Link to="/projects/$projectId" params={{ projectId }}>See version {head}</Link>
              <Button busy={save.isPending} onClick={() => save.mutate(head)}>Save this scene over it</Button>
            </div>
          </div>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={done}>Cancel</Button>
          <Button kind="primary" type="submit" busy={save.isPending} disabled={head !== undefined}>Save</Button>
        </div>
      </form>
    </Dialog>
  )
}
