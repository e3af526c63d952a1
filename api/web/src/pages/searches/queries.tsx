// The queries of a search with their best hits.

import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { answered, type BlastQuery, type BlastSearch, listBlastSearchQueries, type ListBlastSearchQueriesData } from '@/api/client'
import { Card, Empty, Failure, Loading, Select, State, Table, TextField } from '@/design'
import { MoreOf } from '@/design/more'
import { bitsText, evalueText } from './alignment'

type Sort = NonNullable<NonNullable<ListBlastSearchQueriesData['query']>['sort']>

const sorts: Partial<Record<Sort, string>> = {
  index: 'as in the file', evalue: 'best E-value first', '-evalue': 'worst E-value first', hits: 'most hits first',
  '-hits': 'fewest hits first', length: 'longest first',
  '-length': 'shortest first',
}

/** What a query is called: by its id, else by its place. */
export const nameOf = (query: BlastQuery) => query.queryId ?? `Query ${query.index + 1}`

export function Queries({ search }: { search: BlastSearch }) {
  const { jobId } = search
  const given = useSearch({ strict: false }) as { sort?: string; q?: string }
  const navigate = useNavigate()
  const [sort, setSort] = useState<Sort>(given.sort && given.sort in sorts ? (given.sort as Sort) : 'index')
  const [text, setText] = useState(given.q ?? '')
  const q = useDeferredValue(text.trim())
  const list = useInfiniteQuery({
    queryKey: ['job', jobId, 'queries', sort, q],
    queryFn: ({ pageParam }) =>
    answered(listBlastSearchQueries({ path: { jobId }, query: { limit: 50, cursor: pageParam, sort, q: q || undefined } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: (before) => before,
  })
  const note = (next: { sort?: Sort; q?: string }) => {
    const order = next.sort ?? sort
    void navigate({ to: '.', search: { sort: order === 'index' ? undefined : order, q: (next.q ?? text) || undefined },
      replace: true, resetScroll: false })
  }
  const queries = list.data?.pages.flatMap((page) => page.queries) ?? []
  return (
    <Card title="Queries">
      <div className="mb-3 grid max-w-xl gap-3 sm:grid-cols-2">
        <Select label="Order" value={sort} onChange={(event) => {
          setSort(event.target.value as Sort)
          note({ sort: event.target.value as Sort })
        }}>
          {Object.entries(sorts).map(([name, words]) => <option key={name} value={name}>{words}</option>)}
        </Select>
        <TextField label="Id or title holds" type="search" value={text} maxLength={200} onChange={(event) => {
          setText(event.target.value)
          note({ q: event.target.value })
        }} />
      </div>
      {list.isPending ? <Loading what="the queries" /> : null}
      {list.isFetchNextPageError ? null : <Failure error={list.error} retry={() => void list.refetch()} />}
      {list.isSuccess && queries.length === 0
        ? <Empty title="No query">
          {q ? 'None holds this text. Look for another.' : 'They are listed as soon as the file was read.'}
        </Empty>
        : null}
      {queries.length > 0 ? (
        <Table caption="Queries" head={['No.', 'Query', 'Length', 'Hits', 'Best E-value', 'Bits', 'Best hit', 'State']}>
          {queries.map((query) => (
            <tr key={query.index}>
              <td>{query.index + 1}</td>
              <td className="min-w-32 wrap-anywhere">
                <Link to="/searches/$jobId/queries/$index" params={{ jobId, index: String(query.index) }}>{nameOf(query)}</Link>
              </td>
              <td>{query.length?.toLocaleString('en-GB') ?? '–'}</td>
              <td>{query.hits}</td>
              <td className="whitespace-nowrap">{evalueText(query.bestEvalue)}</td>
              <td>{bitsText(query.bestBitScore)}</td>
              <td className="min-w-48 wrap-anywhere">
                {query.bestSubjectTitle || query.bestSubjectId || '–'}
                {query.error ? <span className="block text-bad">{query.error}</span> : null}
              </td>
              <td><State status={query.status} /></td>
            </tr>
          ))}
        </Table>
      ) : null}
      <MoreOf what="queries" list={list} />
    </Card>
  )
}
