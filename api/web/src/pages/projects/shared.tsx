// A version of a project that somebody has shared, for people without an account: to read, and to take along.

import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { answered, ApiError, getSharedProject } from '@/api/client'
import { Button, Card, Empty, Facts, Failure, Loading, PageHead } from '@/design'
import { saveText } from '@/design/save'
import { when } from '@/words'
import { ContentTree } from './content'
import { asJson } from './queries'

export function SharedPage() {
  const { token } = useParams({ strict: false }) as { token: string }
  const shared = useQuery({
    queryKey: ['shared', token], queryFn: () => answered(getSharedProject({ path: { token } })), retry: false,
  })
  const gone = shared.error instanceof ApiError && [404, 410].includes(shared.error.status)
  return (
    <main className="mx-auto grid w-full max-w-4xl grid-cols-[minmax(0,1fr)] gap-4 p-4">
      <p className="font-semibold text-accent">molfabric</p>
      {shared.data ? (
        <>
          <PageHead title={shared.data.name} lead={`Version ${shared.data.version}, shared to be read`} />
          <Card title="Content" actions={
            <Button onClick={() => saveText(`version-${shared.data.version}.json`, 'application/json',
              JSON.stringify(shared.data.content, null, 2))}>Save as JSON</Button>
          }>
            <Facts facts={[
              ['Saved', when(shared.data.createdAt)],
              ['SHA-256', <code key="sum" className="text-xs wrap-anywhere">{shared.data.contentSha256}</code>],
            ]} />
            <div className="mt-3"><ContentTree value={asJson(shared.data.content)} /></div>
          </Card>
        </>
      ) : (
        <>
          <PageHead title="Shared project" />
          {shared.isPending ? <Loading what="what was shared" /> : null}
          {gone ? <Empty title="There is nothing here">
            The link is wrong, or whoever shared it has revoked it. Ask them for a new one.
          </Empty> : <Failure error={shared.error} retry={() => void shared.refetch()} />}
        </>
      )}
    </main>
  )
}
