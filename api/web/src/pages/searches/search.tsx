import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { answered, type BlastSearch, getBlastSearch } from '@/api/client'
import { Card, Facts, Failure, Loading, PageHead, Progress, State } from '@/design'
import { count, size, when } from '@/words'
import { Queries } from './queries'

export function SearchPage() {
  const { jobId } = useParams({ strict: false }) as { jobId: string }
  const search = useQuery({ queryKey: ['job', jobId, 'search'], queryFn: () => answered(getBlastSearch({ path: { jobId } })) })
  if (search.isPending) return <Loading what="the search" />
  if (!search.data) return <><PageHead title="Search" /><Failure error={search.error} retry={() => void search.refetch()} /></>
  const found = search.data
  const letters = found.database.type === 'nucl' ? 'base' : 'residue'
  return (
    <>
      <PageHead title={found.jobName || `${found.program} against ${found.database.name}`}
        lead={<><State
        status={found.status} /> {found.program} against {found.database.name} {found.database.version} · <Link to="/jobs/$jobId"
        params={{ jobId }}>
          the job
        </Link></>} />
      <div className="grid grid-cols-1 gap-4">
        <Counts search={found} />
        {found.artifacts?.length ? (
          <Card title="Files">
            <ul className="flex flex-wrap gap-x-4 gap-y-1">
              {found.artifacts.map((file) => (
                <li key={file.artifactId}>
                  <a href={file.url} download={file.name}>{file.name}</a>{' '}
                  <span className="text-sm text-soft">{size(file.byteSize)}</span>
                </li>
              ))}
            </ul>
          </Card>
        ) : null}
        <Queries search={found} />
        <div className="grid grid-cols-1 gap-4 md:grid-cols-2">
          <Card title="Database">
            <Facts facts={[
              ['Name', `${found.database.name} ${found.database.version}`], ['Released', found.database.releasedOn],
              ['Holds', `${count(found.database.sequences, 'sequence')}, ${count(found.database.residues, letters)}`],
              ['SHA-256', <code key="sum" className="text-xs">{found.database.checksum}</code>],
            ]} />
          </Card>
          <Card title="Search">
            <Facts facts={[
              ['Program', `${found.program}${found.version ? ` ${found.version}` : ''}`],
              ['Largest E-value', String(found.parameters.evalue)],
              ['Most hits', `${found.parameters.maxHits} a query`], ['Tasks', String(found.parameters.tasks)],
              ['Submitted', when(found.createdAt)],
              ['Ended', when(found.finishedAt)],
            ]} />
          </Card>
        </div>
      </div>
    </>
  )
}

function Counts({ search }: { search: BlastSearch }) {
  const { queries, completed, failed, hits } = search.counts
  const percent = queries ? (100 * (completed + failed)) / queries : 0
  return (
    <Card title="Progress">
      <Progress percent={percent} label="Queries with an outcome" />
      <p className="mt-2 text-sm">
        {queries === null ? 'The queries are not counted yet.' : `${completed} of ${count(queries, 'query', 'queries')} searched`}
        {failed ? <span className="text-bad">, {failed} failed</span> : null}. {count(hits, 'hit')} so far.
      </p>
    </Card>
  )
}
