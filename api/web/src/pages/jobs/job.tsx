// A job: what it is doing, what it has made, what it costs.

import { Link, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { Job } from '@/api/client'
import { buttonClass, Failure, Loading, PageHead, Progress, State } from '@/design'
import { ago, count } from '@/words'
import { CancelButton, DeleteFilesButton, RetryButtons } from './confirm'
import { engineOf, isDocking, isDynamics, isFolding, isSearch, titleOf } from './engines'
import { Logs } from './logs'
import { OutputsTab, Pictures } from './outputs'
import { Overview } from './overview'
import { Player } from './player'
import { ProvenanceTab } from './provenance'
import { useDockingRuns, useJob, useOutputs } from './queries'
import { Tasks } from './tasks'

const tabs = [
  { value: 'overview', label: 'Overview', Part: OverviewTab }, { value: 'tasks', label: 'Tasks', Part: Tasks },
  { value: 'logs', label: 'Logs', Part: Logs },
  { value: 'outputs', label: 'Outputs', Part: OutputsTab }, { value: 'provenance', label: 'Provenance', Part: ProvenanceTab },
]

const tabLook = 'min-h-9 px-3 py-1.5 text-sm whitespace-nowrap no-underline'

export function JobPage() {
  const { jobId } = useParams({ strict: false }) as { jobId: string }
  const { tab } = useSearch({ strict: false }) as { tab?: string }
  const query = useJob(jobId)
  if (query.error && !query.data) return <Failure error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading what="the job" />
  const job = query.data
  const chosen = tabs.find((one) => one.value === tab) ?? tabs[0]!
  return (
    <>
      <Head job={job} />
      <nav aria-label="Parts of the job" className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((one) => (
          <Link
            key={one.value} to="/jobs/$jobId" params={{ jobId }} search={{ tab: one.value === 'overview' ? undefined : one.value }}
            aria-current={one === chosen ? 'page' : undefined}
            className={`${tabLook} ${one === chosen ? 'border-b-2 border-accent font-medium text-ink' : 'text-soft hover:text-ink'}`}
          >{one.label}</Link>
        ))}
      </nav>
      <chosen.Part job={job} />
    </>
  )
}

function Head({ job }: { job: Job }) {
  const { percent, stage, message, tasks, framesDone, framesTotal } = job.progress
  return (
    <>
      <PageHead
        title={titleOf(job)}
        lead={<>{engineOf(job)}, submitted {ago(job.createdAt)} <State status={job.status} /></>}
        actions={<>
          <Results job={job} />
          {!job.terminal && job.status !== 'CANCELLING' ? <CancelButton job={job} /> : null}
          {job.terminal && !job.filesDeletedAt ? <><RetryButtons job={job} /><DeleteFilesButton job={job} /></> : null}
        </>}
      />
      <div className="mb-4 grid gap-2 empty:hidden">
        {job.terminal ? null : (
          <>
            <Progress percent={percent} label={`Progress of ${titleOf(job)}`} />
            <p className="text-sm tabular-nums">
              {percent.toFixed(1)} %, {stage}. {tasks.succeeded} of {count(tasks.total, 'task')} done
              {framesTotal ? `, ${framesDone ?? 0} of ${count(framesTotal, 'frame')}` : ''}.
              {message ? <span className="text-soft"> {message}</span> : null}
            </p>
          </>
        )}
        {job.error ? <JobFailure job={job} /> : null}
        {!job.error && job.statusReason ? <p className="text-sm first-letter:uppercase">{job.statusReason}</p> : null}
      </div>
    </>
  )
}

const blame: Record<NonNullable<Job['error']>['failureClass'], string> = {
  USER_INPUT: 'Something of the request cannot be used. Submit a corrected job; running this one again would end the same way.',
  EXECUTOR: 'The program failed. Look at its log, then retry what failed.',
  SYSTEM: 'The service failed, not your job, which is not charged for it. Retry what failed.',
  TIMEOUT: 'It took longer than a task may. Retry with less work a task.',
  LICENSE: 'A licence was missing. Look at your licence servers in the settings, then retry.',
  COST_LIMIT: 'It would have cost more than was set aside. Retry it, which sets more aside.',
}

function JobFailure({ job }: { job: Job }) {
  const error = job.error!
  return (
    <div role="alert" className="rounded-md border border-bad p-3 text-sm">
      <p className="text-bad wrap-anywhere">{error.message} <span className="text-soft">({error.code})</span></p>
      <p className="mt-1">{blame[error.failureClass]} <Link
        to="/jobs/$jobId" params={{ jobId: job.jobId }} search={{ tab: 'tasks' }}
      >See its tasks</Link></p>
    </div>
  )
}

/** Where the results of a job are to be looked at. */
function Results({ job }: { job: Job }) {
  const runs = useDockingRuns(job, isDocking(job))
  const look = buttonClass('primary')
  if (isDocking(job)) {
    return <>{runs.data?.runs.map((run, i) => <Link
      key={run.runId} to="/dockings/$runId" params={{ runId: run.runId }} className={look}
    >{i === 0 ? 'See the docking' : `See docking ${i + 1}`}</Link>)}</>
  }
  if (isSearch(job)) return <Link to="/searches/$jobId" params={{ jobId: job.jobId }} className={look}>See the hits</Link>
  return isDynamics(job) && !job.filesDeletedAt ? <Frame job={job} /> : null
}

/** A structure of a simulation in the Studio: a frame that was kept for looking at, else the structure after settling. */
function Frame({ job }: { job: Job }) {
  const outputs = useOutputs(job).data?.outputs ?? []
  const has = (name: string) => outputs.some((output) => output.name === name)
  const file = has('snapshots.pdb') ? '1' : ['equilibrated.pdb', 'topology.pdb', 'minimised.pdb'].find(has)
  return file ? <Link
    to="/studio/sessions" search={{ source: `frame:${job.jobId}/${file}` }} className={buttonClass('primary')}
  >Open in the Studio</Link> : null
}

function OverviewTab({ job }: { job: Job }) {
  const rendering = job.jobType === 'render' || job.jobType === 'molecular'
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {rendering && !job.filesDeletedAt ? <Rendered job={job} /> : null}
      {isDynamics(job) && job.terminal && !job.filesDeletedAt ? <Suspense
        fallback={<Loading what="the plots" />}
      ><Plots job={job} /></Suspense> : null}
      {isFolding(job) && job.terminal && !job.filesDeletedAt ? <Suspense
        fallback={<Loading what="the structures" />}
      ><Folds job={job} /></Suspense> : null}
      <Overview job={job} />
    </div>
  )
}

const Folds = lazy(() => import('@/pages/folds/folds').then((module) => ({ default: module.Folds })))
const Trajectory = lazy(() => import('./trajectory').then((module) => ({ default: module.Trajectory })))

function Plots({ job }: { job: Job }) {
  const { data } = useOutputs(job)
  return data ? <><Player outputs={data.outputs} /><Trajectory outputs={data.outputs} /></> : null
}

function Rendered({ job }: { job: Job }) {
  const { data } = useOutputs(job)
  return data ? <Pictures outputs={data.outputs} /> : null
}
