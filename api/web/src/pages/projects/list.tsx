import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { answered, ApiError, deleteProject, listProjects, type ProjectSummary } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, PageHead, Table } from '@/design'
import { Confirm } from '@/design/confirm'
import { MoreOf } from '@/design/more'
import { when } from '@/words'
import { CreateProject } from './create'
import { changed } from './queries'

export function Projects() {
  const list = useInfiniteQuery({
    queryKey: ['projects', 'list'],
    queryFn: ({ pageParam }) => answered(listProjects({ query: { limit: 50, cursor: pageParam } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const [creating, setCreating] = useState(false)
  const [deleting, setDeleting] = useState<ProjectSummary>()
  const projects = list.data?.pages.flatMap((page) => page.projects) ?? []
  return (
    <>
      <PageHead title="Projects" lead="What is saved here keeps every version, and can be shared by a link."
        actions={<Button kind="primary" onClick={() => setCreating(true)}>New project</Button>} />
      {list.isPending ? <Loading what="the projects" /> : null}
      {list.isFetchNextPageError ? null : <Failure error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && projects.length === 0 ? (
        <Empty title="No project yet">Save a scene from the <Link to="/studio/sessions">
          Studio
        </Link>, or make an empty project.</Empty>
      ) : null}
      {projects.length > 0 ? (
        <Card>
          <Table caption="Projects" head={['Project', 'Tags', 'Version', 'Shared', 'Saved', 'Actions']}>
            {projects.map((project) => (
              <tr key={project.projectId}>
                <td className="min-w-48 wrap-anywhere">
                  <Link to="/projects/$projectId" params={{ projectId: project.projectId }}>{project.name}</Link>
                  {project.description ? <span className="block max-w-prose truncate text-soft">{project.description}</span> : null}
                </td>
                <td className="min-w-24">{project.tags.join(', ') || '–'}</td>
                <td>{project.currentVersion}</td>
                <td className="whitespace-nowrap">{project.share ? `version ${project.share.version}` : 'no'}</td>
                <td className="whitespace-nowrap">{when(project.updatedAt)}</td>
                <td>
                  <Button kind="danger" aria-label={`Delete ${project.name}`} onClick={() => setDeleting(project)}>Delete</Button>
                </td>
              </tr>
            ))}
          </Table>
          <MoreOf what="projects" list={list} />
        </Card>
      ) : null}
      {creating ? <CreateProject done={() => setCreating(false)} /> : null}
      {deleting ? <Remove key={deleting.projectId} project={deleting} done={() => setDeleting(undefined)} /> : null}
    </>
  )
}

function Remove({ project, done }: { project: ProjectSummary; done: () => void }) {
  const remove = useMutation({
    mutationFn: () =>
    answered(deleteProject({ path: { projectId: project.projectId }, query: { expectedVersion: project.currentVersion } })),
    onSuccess: () => {
      changed()
      done()
    },
    onError: (error) => { if (error instanceof ApiError && error.status === 409) changed() },
  })
  return (
    <Confirm open onOpenChange={(open) => !open && done()} title={`Delete ${project.name}?`} action="Delete the project"
      busy={remove.isPending} error={remove.error}
      onConfirm={() => remove.mutate()}>
      <p>All {project.currentVersion} versions go, for good.{project.share ? ' Its shared link stops working.' : ''}</p>
    </Confirm>
  )
}
