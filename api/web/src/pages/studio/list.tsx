import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { answered, deleteStudioSession, listStudioSessions, type StudioSessionSummary } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, PageHead, Table } from '@/design'
import { Confirm } from '@/design/confirm'
import { MoreOf } from '@/design/more'
import { ago } from '@/words'
import { OpenForm, OpenSource } from './open'

export function Sessions() {
  const { source } = useSearch({ strict: false }) as { source?: string }
  const list = useInfiniteQuery({
    queryKey: ['studio', 'sessions'],
    queryFn: ({ pageParam }) => answered(listStudioSessions({ query: { limit: 30, cursor: pageParam } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const [deleting, setDeleting] = useState<StudioSessionSummary>()
  const sessions = list.data?.pages.flatMap((page) => page.sessions) ?? []
  return (
    <>
      <PageHead title="Studio" lead="Say what a molecule should look like, and take the picture along." />
      <div className="grid grid-cols-1 gap-4">
        {source ? <OpenSource source={source} /> : null}
        <OpenForm />
        <Card title="Your sessions">
          {list.isPending ? <Loading what="the sessions" /> : null}
          {list.isFetchNextPageError ? null : <Failure error={list.error} retry={() => void list.refetch()} />}
          {list.isSuccess && sessions.length === 0
            ? <Empty title="No session yet">Open a structure above, then talk about it.</Empty> : null}
          {sessions.length > 0 ? (
            <Table caption="Sessions" head={['Session', 'Messages', 'Changed', 'Actions']}>
              {sessions.map((session) => (
                <tr key={session.sessionId}>
                  <td className="min-w-48 wrap-anywhere">
                    <Link to="/studio/sessions/$sessionId" params={{ sessionId: session.sessionId }} className="line-clamp-2"
                      title={session.title}>
                      {session.title}
                    </Link>
                  </td>
                  <td>{session.messages}</td>
                  <td className="whitespace-nowrap">{ago(session.updatedAt)}</td>
                  <td>
                    <Button kind="danger" aria-label={`Delete ${session.title}`} onClick={() => setDeleting(session)}>
                      Delete
                    </Button>
                  </td>
                </tr>
              ))}
            </Table>
          ) : null}
          <MoreOf what="sessions" list={list} />
        </Card>
      </div>
      {deleting ? <Remove key={deleting.sessionId} session={deleting} done={() => setDeleting(undefined)} /> : null}
    </>
  )
}

function Remove({ session, done }: { session: StudioSessionSummary; done: () => void }) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => answered(deleteStudioSession({ path: { sessionId: session.sessionId } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['studio', 'sessions'] })
      done()
    },
  })
  return (
    <Confirm open onOpenChange={(open) => !open && done()} title={`Delete ${session.title}?`} action="Delete the session"
      busy={remove.isPending}
      error={remove.error} onConfirm={() => remove.mutate()}>
      <p>The scene and what was said are forgotten. Jobs, files and projects that came of it stay.</p>
    </Confirm>
  )
}
