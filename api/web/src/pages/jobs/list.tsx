// All jobs of the account, newest first.

import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { answered, type Job, listJobs } from '@/api/client'
import { Button, Empty, Failure, Loading, State, Table } from '@/design'
import { count, duration, money, when } from '@/words'
import { engineOf, filters, secondsOf, titleOf } from './engines'

const page = 50

export function useJobs(status: string | undefined, q: string | undefined) {
  return useInfiniteQuery({
    queryKey: ['jobs', 'list', status ?? '', q ?? ''],
    queryFn: ({ pageParam }) => answered(listJobs({
      query: { limit: page, cursor: pageParam, q: q || undefined, status: filters.find((one) => one.value === status)?.statuses.slice() },
    })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}

export function JobList({ list, filtered }: { list: ReturnType<typeof useJobs>; filtered: boolean }) {
  if (list.error) return <Failure error={list.error} retry={() => void list.refetch()} />
  if (!list.data) return <Loading what="your jobs" />
  const jobs = list.data.pages.flatMap((one) => one.jobs)
  if (jobs.length === 0 && filtered) {
    return <Empty title="No job is like that"><Link to="/" search={{}}>See all jobs</Link></Empty>
  }
  return (
    <>
      <p role="status" className="sr-only">{count(jobs.length, 'job')} shown</p>
      <Table caption="Jobs" head={['Name', 'Engine', 'State', 'Submitted', 'Took', 'Cost']}>
        {jobs.map((job) => <Row key={job.jobId} job={job} />)}
      </Table>
      {list.hasNextPage ? <div className="mt-3 text-center"><Button
        busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}
      >Load more</Button></div> : null}
    </>
  )
}

function Row({ job }: { job: Job }) {
  const seconds = secondsOf(job)
  return (
    <tr>
      <td className="min-w-40"><Link
        to="/jobs/$jobId" params={{ jobId: job.jobId }} className="wrap-anywhere"
      >{titleOf(job)}</Link></td>
      <td className="whitespace-nowrap">{engineOf(job)}</td>
      <td
        className="whitespace-nowrap"
      ><State status={job.status} />{job.terminal ? '' : ` ${job.progress.percent.toFixed(0)} %`}</td>
      <td className="whitespace-nowrap">{when(job.createdAt)}</td>
      <td className="whitespace-nowrap">{seconds === undefined ? '–' : duration(seconds)}</td>
      <td>{job.cost.final === null ? `${money(job.cost.accrued)} so far` : money(job.cost.final)}</td>
    </tr>
  )
}
