// A version from before: to look at, not to change.

import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { answered, newKey, type Project, restoreProjectRevision } from '@/api/client'
import { Button, Card, Facts, Failure, Loading } from '@/design'
import { when } from '@/words'
import { ContentTree } from './content'
import { OpenInStudio } from './open'
import { asJson, changed, revisionQuery } from './queries'

export function Revision({ project, version }: { project: Project; version: number }) {
  const { projectId, currentVersion } = project
  const navigate = useNavigate()
  const revision = useQuery(revisionQuery(projectId, version))
  const restore = useMutation({
    mutationFn: () => answered(restoreProjectRevision({
      path: { projectId, version }, body: { expectedVersion: currentVersion }, headers: { 'Idempotency-Key': newKey() },
    })),
    onSuccess: async () => {
      changed()
      await navigate({ to: '/projects/$projectId', params: { projectId } })
    },
    onError: changed,
  })
  return (
    <div className="grid grid-cols-1 gap-4">
      <div role="note" className="grid gap-2 rounded-md border border-warn p-3">
        <p>This is version {version}, which cannot be changed. <Link to="/projects/$projectId"
          params={{ projectId }}>Version {currentVersion}</Link> is the one of now.</p>
        <div className="flex flex-wrap items-center gap-3">
          <Button busy={restore.isPending} onClick={() => restore.mutate()}>Restore as version {currentVersion + 1}</Button>
          <Link to="/projects/$projectId" params={{ projectId }} search={{ compare: String(version) }}>Compare with now</Link>
        </div>
        <Failure error={restore.error} />
      </div>
      {revision.isPending ? <Loading what="the version" /> : null}
      <Failure error={revision.error} retry={() => void revision.refetch()} />
      {revision.data ? (
        <>
          <OpenInStudio projectId={projectId} revision={version} content={revision.data.content} />
          <Card title="Content">
            <Facts facts={[
              ['Saved', when(revision.data.createdAt)],
              ['From', revision.data.sourceVersion === null ? 'saved' : `restored from version ${revision.data.sourceVersion}`],
              ['SHA-256', <code key="sum" className="text-xs">{revision.data.contentSha256}</code>],
            ]} />
            <div className="mt-3"><ContentTree value={asJson(revision.data.content)} /></div>
          </Card>
        </>
      ) : null}
    </div>
  )
}
