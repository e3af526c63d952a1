import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { answered, type BlastHit, getBlastSearchQuery, listBlastQueryHits } from '@/api/client'
import { Card, Empty, Failure, Loading, PageHead, State, Table } from '@/design'
import { MoreOf } from '@/design/more'
import { count } from '@/words'
import { bitsText, blocks, evalueText, said } from './alignment'
import { Coverage } from './coverage'
import { nameOf } from './queries'

export function QueryPage() {
  const { jobId, index: place } = useParams({ strict: false }) as { jobId: string; index: string }
  const index = Number(place)
  const query =
    useQuery({ queryKey: ['job', jobId, 'query', index], queryFn: () => answered(getBlastSearchQuery({ path: { jobId, index } })) })
  const list = useInfiniteQuery({
    queryKey: ['job', jobId, 'hits', index],
    queryFn: ({ pageParam }) => answered(listBlastQueryHits({ path: { jobId, index }, query: { limit: 25, cursor: pageParam } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    enabled: query.data?.status === 'COMPLETED',
  })
  const back = <Link to="/searches/$jobId" params={{ jobId }}>All queries of the search</Link>
  if (query.isPending) return <Loading what="the query" />
  if (!query.data) return <>
    <PageHead title="Query" lead={back} />
    <Failure error={query.error} retry={() => void query.refetch()} />
  </>
  const found = query.data
  const hits = list.data?.pages.flatMap((page) => page.hits) ?? []
  const facts =
    [found.title, found.length === null ? null : count(found.length, 'letter'),
    count(found.hits, 'hit')].filter(Boolean).join(' · ')
  return (
    <>
      <PageHead title={nameOf(found)} lead={<><State status={found.status} /> {facts} · {back}</>} />
      <div className="grid grid-cols-1 gap-4">
        {found.error
          ? <Card title={`What was wrong${found.failureStep ? ` (${found.failureStep})` : ''}`}>
            <p className="text-bad">{found.error}</p>
          </Card>
          : null}
        {list.isLoading ? <Loading what="the hits" /> : null}
        {list.isFetchNextPageError ? null : <Failure error={list.error} retry={() => void list.refetch()} />}
        {list.isSuccess && hits.length === 0
          ? <Empty title="Nothing was found">A larger E-value, or a larger database, finds more distant sequences.</Empty> : null}
        {hits.length > 0 ? <Hits hits={hits} length={found.length} /> : null}
        {hits.map((hit) => <Alignments key={hit.rank} hit={hit} />)}
        <MoreOf what="hits" list={list} />
      </div>
    </>
  )
}

function Hits({ hits, length }: { hits: BlastHit[]; length: number | null }) {
  return (
    <Card title="Hits">
      <Table caption="Hits" head={['Rank', 'Sequence', 'Where in the query', 'Bits', 'E-value', 'Identity', 'Covered']}>
        {hits.map((hit) => {
          const best = hit.hsps[0]
          return (
            <tr key={hit.rank}>
              <td>{hit.rank}</td>
              <td className="min-w-48 wrap-anywhere">
                <a href={`#hit-${hit.rank}`}>{hit.subjectId}</a> <span className="text-soft">{hit.subjectTitle}</span>
              </td>
              <td><Coverage hit={hit} length={length} /></td>
              <td>{bitsText(best?.bitScore ?? null)}</td>
              <td className="whitespace-nowrap">{evalueText(best?.evalue ?? null)}</td>
              <td className="whitespace-nowrap">{best ? `${best.identityPercent.toFixed(1)} %` : '–'}</td>
              <td className="whitespace-nowrap">{Math.round(hit.queryCoveragePercent)} %</td>
            </tr>
          )
        })}
      </Table>
    </Card>
  )
}

function Alignments({ hit }: { hit: BlastHit }) {
  return (
    <div id={`hit-${hit.rank}`} className="min-w-0 scroll-mt-4">
      <Card title={`${hit.rank}. ${hit.subjectId}`}>
        <p className="mb-2 text-sm text-soft">{hit.subjectTitle} · {count(hit.subjectLength, 'letter')}</p>
        {hit.alignmentsOmitted
          ? <p className="text-sm">The alignments are too long for a page; hits.jsonl among the files of the search has them.</p>
          : null}
        {hit.hsps.map((hsp) => (
          <div key={hsp.rank} className="mt-2 min-w-0">
            <p className="text-sm">{said(hsp)}</p>
            {hit.alignmentsOmitted ? null : (
              <pre tabIndex={0} role="region" aria-label={`Alignment ${hsp.rank} with ${hit.subjectId}`}
                className="mt-1 overflow-x-auto rounded-md border border-line bg-page p-2 text-xs leading-snug">
                {blocks(hsp)}
              </pre>
            )}
          </div>
        ))}
      </Card>
    </div>
  )
}
