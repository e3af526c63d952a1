// The history of a project, newest first.

import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { answered, listProjectRevisions, type Project } from '@/api/client'
import { Card, Failure, Loading, Table } from '@/design'
import { MoreOf } from '@/design/more'
import { when } from '@/words'

export function Revisions({ project }: { project: Project }) {
  const { projectId, currentVersion } = project
  const list = useInfiniteQuery({
    queryKey: ['projects', projectId, 'revisions'],
    queryFn: ({ pageParam }) => answered(listProjectRevisions({ path: { projectId }, query: { limit: 20, cursor: pageParam } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const revisions = list.data?.pages.flatMap((page) => page.revisions) ?? []
  return (
    <Card title="Versions">
      {list.isPending ? <Loading what="the versions" /> : null}
      {list.isFetchNextPageError ? null : <Failure error={list.error} retry={() => void list.refetch()} />}
      {revisions.length > 0 ? (
        <Table caption="Versions" head={['Version', 'Saved', 'From', 'SHA-256', 'Compare']}>
          {revisions.map((one) => (
            <tr key={one.version}>
              <td className="whitespace-nowrap">
                {one.version === currentVersion ? `${one.version} (now)`
                  : <Link to="/projects/$projectId" params={{ projectId }} search={{ revision: String(one.version) }}>
                    {one.version}
                  </Link>}
              </td>
              <td className="whitespace-nowrap">{when(one.createdAt)}</td>
              <td className="whitespace-nowrap">{one.sourceVersion === null ? 'saved' : `restored from ${one.sourceVersion}`}</td>
              <td><code title={one.contentSha256}>{one.contentSha256.slice(0, 12)}…</code></td>
              <td className="whitespace-nowrap">
                {one.version === currentVersion ? '–'
                  : <Link to="/projects/$projectId" params={{ projectId }} search={{ compare: String(one.version) }}
                  aria-label={`Compare version ${one.version} with now`}>
                    with now
                  </Link>}
              </td>
            </tr>
          ))}
        </Table>
      ) : null}
      <MoreOf what="versions" list={list} />
    </Card>
  )
}
