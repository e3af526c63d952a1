import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { answered, listBlastSearches } from '@/api/client'
import { buttonClass, Card, Empty, Failure, Loading, PageHead, State, Table } from '@/design'
import { MoreOf } from '@/design/more'
import { when } from '@/words'

export function Searches() {
  const list = useInfiniteQuery({
    queryKey: ['jobs', 'searches'],
    queryFn: ({ pageParam }) => answered(listBlastSearches({ query: { limit: 30, cursor: pageParam } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const searches = list.data?.pages.flatMap((page) => page.searches) ?? []
  return (
    <>
      <PageHead title="Sequence searches" actions={<Link to="/new/search" className={buttonClass('primary')}>New search</Link>} />
      {list.isPending ? <Loading what="the searches" /> : null}
      {list.isFetchNextPageError ? null : <Failure error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && searches.length === 0 ? (
        <Empty title="No search yet">Look for sequences like yours in a database: <Link to="/new/search">
          start a search
        </Link> with a FASTA file.</Empty>
      ) : null}
      {searches.length > 0 ? (
        <Card>
          <Table caption="Sequence searches" head={['Search', 'Program', 'Database', 'Queries', 'Hits', 'State', 'Submitted']}>
            {searches.map((search) => (
              <tr key={search.jobId}>
                <td className="min-w-36 wrap-anywhere">
                  <Link to="/searches/$jobId" params={{ jobId: search.jobId }}>{search.jobName || search.jobId}</Link>
                </td>
                <td>{search.program}</td>
                <td className="whitespace-nowrap">{search.database.name} {search.database.version}</td>
                <td className="whitespace-nowrap">{search.counts.completed} of {search.counts.queries ?? '–'}</td>
                <td>{search.counts.hits.toLocaleString('en-GB')}</td>
                <td><State status={search.status} /></td>
                <td className="whitespace-nowrap">{when(search.createdAt)}</td>
              </tr>
            ))}
          </Table>
          <MoreOf what="searches" list={list} />
        </Card>
      ) : null}
    </>
  )
}
