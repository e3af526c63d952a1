// A job at a glance: how far it is, what happened to it, what it costs.

import { Link } from '@tanstack/react-router'
import type { Job } from '@/api/client'
import { Card, Facts, Failure, Progress, State } from '@/design'
import { count, duration, money, when } from '@/words'
import { secondsOf } from './engines'
import { useStages } from './queries'
import { ReceiptCard } from './receipt'
import { queueWords, useNow } from './running'

export function Overview({ job }: { job: Job }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 lg:grid-cols-2">
      <Stages job={job} />
      <Bill job={job} />
      <Card title="History">
        <ol className="grid gap-2 text-sm">
          {job.statusHistory.map((change, i) => (
            <li key={i} className="flex flex-wrap items-baseline gap-x-3 gap-y-1">
              <State status={change.status} /><span className="tabular-nums">{when(change.at)}</span>
              {change.reason ? <span className="text-soft wrap-anywhere">{change.reason}</span> : null}
            </li>
          ))}
        </ol>
      </Card>
      <About job={job} />
      {job.terminal ? <ReceiptCard job={job} /> : null}
    </div>
  )
}

function Stages({ job }: { job: Job }) {
  const stages = useStages(job)
  const list = stages.data?.stages ?? []
  return (
    <Card title="Progress by stage">
      <Failure error={stages.error} retry={() => void stages.refetch()} />
      {list.length === 0 && !stages.error ? <p className="text-sm text-soft">The stages appear once the job is planned.</p> : null}
      <ol className="grid gap-3">
        {list.map((stage) => (
          <li key={stage.name}>
            <div className="flex flex-wrap justify-between gap-2 text-sm">
              <span className="font-medium">{stage.name}</span>
              <span className="tabular-nums">
                {stage.done} of {count(stage.total, 'task')} done{stage.failed > 0 ? `, ${stage.failed} failed` : ''}
                {stage.known > 0 ? `, ${stage.known} known` : ''}
              </span>
            </div>
            <Progress percent={stage.percent} label={`Stage ${stage.name}`} />
          </li>
        ))}
      </ol>
      {stages.data && !stages.data.whole ? <p
        className="mt-2 text-sm text-soft"
      >Of the first tasks of the plan; the job has {job.progress.tasks.total}.</p> : null}
    </Card>
  )
}

function Bill({ job }: { job: Job }) {
  const { estimated, held, accrued, final } = job.cost
  return (
    <Card title="Bill">
      <Facts facts={[
        ['Estimated', money(estimated)], ['Set aside', job.terminal ? 'given back' : money(held)], ['Used so far', money(accrued)],
        ['Charged', final === null ? 'when it ends' : <strong key="final">{money(final)}</strong>],
      ]} />
      <Known job={job} />
      <p className="mt-3 text-sm text-soft">A job is never charged more than was set aside for it.</p>
    </Card>
  )
}

/** How much of a job its account had run before. */
function Known({ job }: { job: Job }) {
  const { data } = useStages(job)
  const sum = (of: 'known' | 'total') => (data?.stages ?? []).reduce((all, stage) => all + stage[of], 0)
  if (!data || sum('known') === 0) return null
  const [known, read] = [sum('known').toLocaleString('en-GB'), count(sum('total'), 'task')]
  return (
    <p className="mt-3 text-sm">
      {data.whole ? `${known} of ${read}` : `Of the first ${read}, ${known}`} {sum('known') === 1 ? 'was' : 'were'} known and cost
      nothing. <Link to="/jobs/$jobId" params={{ jobId: job.jobId }} search={{ tab: 'tasks' }}>See which</Link>
    </p>
  )
}

function About({ job }: { job: Job }) {
  const now = useNow(!job.terminal)
  const seconds = secondsOf(job, now)
  return (
    <Card title="About">
      <Facts facts={[
        ['Job', <code key="id" className="text-xs">{job.jobId}</code>],
        ['Submitted', when(job.createdAt)],
        ['Begun', job.startedAt ? when(job.startedAt) : job.queue ? queueWords(job.queue) : 'not yet'],
        ['Ended', job.finishedAt ? when(job.finishedAt) : 'not yet'], ['Took', seconds === undefined ? '–' : duration(seconds)],
        ['Runs', count(job.attempts, 'run')],
        ['A lost task', job.recovery.mode === 'resumable' ? 'goes on from its last checkpoint' : 'begins again'],
        ['Run by', job.provider],
        ...(job.filesDeletedAt ? [['Files', `deleted ${when(job.filesDeletedAt)}`] as [string, string]] : []),
      ]} />
    </Card>
  )
}
