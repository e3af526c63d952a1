// What the link of a share shows to anybody who has it, without an account: one version, to read.

import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { ApiError, type SharedProject } from '@/api/client'
import { buttonClass, Card, Empty, Facts, Failure, Loading, PageHead } from '@/design'
import { when } from '@/words'
import { ContentTree } from './content'
import { asJson, sharedQuery } from './queries'

export function SharedPage() {
  const { token } = useParams({ strict: false }) as { token: string }
  return (
    <div className="mx-auto w-full max-w-5xl p-4">
      <p className="mb-4 text-lg font-semibold text-accent">molfabric</p>
      <main className="min-w-0"><Share token={token} /></main>
    </div>
  )
}

function Share({ token }: { token: string }) {
  const shared = useQuery(sharedQuery(token))
  const status = shared.error instanceof ApiError ? shared.error.status : undefined
  // A page that is open ends with its share.
  if (status === 410) return <Empty title="This share has ended">Its owner has revoked it, or has shared the project anew.</Empty>
  if (status === 404 || status === 400) {
    return <Empty title="There is no such share">The link is not complete, was never given out, or is not good any more.</Empty>
  }
  if (shared.data) return <Shown token={token} shared={shared.data} />
  if (shared.isPending) return <Loading what="the share" />
  return <Failure error={shared.error} retry={() => void shared.refetch()} />
}

function Shown({ token, shared }: { token: string; shared: SharedProject }) {
  return (
    <>
      <PageHead title={shared.name} lead={`A molecular project, shared at version ${shared.version}. This version does not change.`} />
      {/* The download is the server's: byte for byte what the digest is of. */}
      <Card title="Content" actions={<a className={buttonClass()} href={`/shared/${encodeURIComponent(token)}/content.json`} download>
        Save as JSON
      </a>}>
        <Facts facts={[
          ['Saved', when(shared.createdAt)], ['SHA-256', <code key="sum" className="text-xs">{shared.contentSha256}</code>],
        ]} />
        <div className="mt-3"><ContentTree value={asJson(shared.content)} /></div>
      </Card>
    </>
  )
}
