// The jobs that run or wait, as cards.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { answered, type Job, listJobs } from '@/api/client'
import { Failure, Progress, State } from '@/design'
import { ago, duration, money } from '@/words'
import { CancelButton } from './confirm'
import { active, engineOf, secondsOf, titleOf } from './engines'

/** What runs is read again by itself, should the live stream be away. */
export const refetchMs = 10_000
const cards = 12

export const runningQuery = {
  queryKey: ['jobs', 'running'],
  queryFn: () => answered(listJobs({ query: { status: active, limit: cards } })),
  refetchInterval: refetchMs,
}

/** The time, anew every second while something runs. */
export function useNow(running: boolean): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!running) return
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [running])
  return now
}

export function Running() {
  const list = useQuery(runningQuery)
  const jobs = list.data?.jobs ?? []
  const now = useNow(jobs.length > 0)
  if (list.error) return <Failure error={list.error} retry={() => void list.refetch()} />
  if (jobs.length === 0) return null
  return (
    <section aria-labelledby="running" className="mb-6">
      <h2 id="running" className="mb-2">Running and waiting</h2>
      <ul className="grid gap-3 md:grid-cols-2 xl:grid-cols-3">
        {jobs.map((job) => <li key={job.jobId} className="min-w-0"><RunningCard job={job} now={now} /></li>)}
      </ul>
      {list.data?.nextCursor ? <p className="mt-2 text-sm"><Link
        to="/" search={{ status: 'active' }}
      >See all that run or wait</Link></p> : null}
    </section>
  )
}

function RunningCard({ job, now }: { job: Job; now: number }) {
  const seconds = secondsOf(job, now)
  const { stage, percent, message, tasks } = job.progress
  return (
    <article className="flex h-full flex-col gap-2 rounded-xl border border-line bg-card p-4">
      <div className="flex items-start justify-between gap-2">
        <h3 className="min-w-0 font-medium wrap-anywhere"><Link
          to="/jobs/$jobId" params={{ jobId: job.jobId }}
        >{titleOf(job)}</Link></h3>
        <State status={job.status} />
      </div>
      <p className="text-sm text-soft">{engineOf(job)}, submitted {ago(job.createdAt)}</p>
      <Progress percent={percent} label={`Progress of ${titleOf(job)}`} />
      <p className="text-sm tabular-nums">
        {percent.toFixed(0)} %, {stage}; {tasks.succeeded} of {tasks.total} tasks done{tasks.failed > 0 ? `, ${tasks.failed} failed` : ''}
      </p>
      {message ? <p className="line-clamp-2 text-sm text-soft">{message}</p> : null}
      {seconds === undefined && job.queue ? <p className="text-sm text-soft">{queueWords(job.queue)}</p> : null}
      <div className="mt-auto flex flex-wrap items-end justify-between gap-2 text-sm">
        <p className="tabular-nums">
          {seconds === undefined ? 'Not begun' : `Running for ${duration(seconds)}`}
          <br />
          {money(job.cost.accrued)} of {money(job.cost.held)} set aside
        </p>
        {job.status === 'CANCELLING' ? null : <CancelButton job={job} />}
      </div>
    </article>
  )
}

export function queueWords(queue: NonNullable<Job['queue']>): string {
  const place = queue.position === 0 ? 'First in the queue' : `${queue.position} tasks wait before it`
  if (!queue.estimatedStartAt) return `${place}.`
  const seconds = (Date.parse(queue.estimatedStartAt) - Date.now()) / 1000
  return `${place}; begins ${seconds < 5 ? 'any moment' : `in about ${duration(seconds)}`}.`
}
