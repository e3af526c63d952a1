// What can be done with a job, each with a question before: some of it costs, some cannot be undone.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { answered, cancelJob, deleteJobFiles, type Job, newKey, retryJob } from '@/api/client'
import { Button, Dialog, Failure } from '@/design'
import { count, money } from '@/words'
import { titleOf } from './engines'

interface Props {
  button: string
  /** What the button reads out, where its words alone do not tell. */
  label?: string
  title: string
  action: string
  kind?: 'plain' | 'primary' | 'danger'
  job: Job
  run: () => Promise<unknown>
  children: ReactNode
}

/** A button that asks before it acts. */
function Confirmed({ button, label, title, action, kind = 'plain', job, run, children }: Props) {
  const [open, setOpen] = useState(false)
  const queries = useQueryClient()
  const doing = useMutation({
    mutationFn: run,
    onSuccess: () => {
      setOpen(false)
      void queries.invalidateQueries({ queryKey: ['job', job.jobId] })
      void queries.invalidateQueries({ queryKey: ['jobs'] })
      void queries.invalidateQueries({ queryKey: ['balance'] })
    },
  })
  const change = (next: boolean) => {
    setOpen(next)
    doing.reset()
  }
  return (
    <>
      <Button kind={kind === 'primary' ? 'plain' : kind} aria-label={label} onClick={() => change(true)}>{button}</Button>
      <Dialog open={open} onOpenChange={change} title={title}>
        <div className="grid gap-3 text-sm">{children}<Failure error={doing.error} /></div>
        <div className="mt-4 flex flex-wrap justify-end gap-2">
          <Button onClick={() => change(false)}>Leave it</Button>
          <Button
            kind={kind === 'danger' ? 'danger' : 'primary'} busy={doing.isPending} onClick={() => doing.mutate()}
          >{action}</Button>
        </div>
      </Dialog>
    </>
  )
}

export function CancelButton({ job }: { job: Job }) {
  return (
    <Confirmed
      button="Cancel" label={`Cancel ${titleOf(job)}`} title="Cancel this job?" action="Cancel the job" kind="danger" job={job}
      run={() => answered(cancelJob({ path: { id: job.jobId } }))}
    >
      <p>Its tasks are stopped. What it has finished is kept.</p>
      <p>{money(job.cost.accrued)} has been used so far and is charged.</p>
      <p>The rest of the {money(job.cost.held)} that were set aside comes back.</p>
    </Confirmed>
  )
}

export function RetryButtons({ job }: { job: Job }) {
  const { failed, cancelled, total } = job.progress.tasks
  const left = failed + cancelled
  // The same key as long as the same run is asked for: a second press does not begin a second run.
  const keys = useRef({ attempts: job.attempts, failed: newKey(), all: newKey() })
  if (keys.current.attempts !== job.attempts) keys.current = { attempts: job.attempts, failed: newKey(), all: newKey() }
  const run = (scope: 'failed' | 'all') => () => answered(retryJob({
    path: { id: job.jobId }, body: { scope }, headers: { 'Idempotency-Key': keys.current[scope] },
  }))
  const price = 'The price of these tasks is set aside anew, and what they use is charged.'
  return (
    <>
      {left > 0 ? (
        <Confirmed
          button="Retry failed" title="Run again what did not succeed?" action="Run them again" kind="primary" job={job}
          run={run('failed')}
        >
          <p>{count(left, 'task')} of {total} did not succeed and run again, with what reads their files.</p>
          <p>What has finished is kept and not charged again.</p>
          <p>{price} All tasks together were estimated at {money(job.cost.estimated)}; these are a part of them.</p>
          <p>Tasks that failed for their input are not run again: submit a corrected job.</p>
        </Confirmed>
      ) : null}
      <Confirmed
        button="Retry all" title="Run the whole job again?" action="Run all again" kind="primary" job={job} run={run('all')}
      >
        <p>{count(total, 'task')} run again. What they have made before is withdrawn at once: download first what is worth keeping.</p>
        <p>{price} All of it was estimated at {money(job.cost.estimated)}.</p>
      </Confirmed>
    </>
  )
}

export function DeleteFilesButton({ job }: { job: Job }) {
  return (
    <Confirmed
      button="Delete files" title="Delete this job’s files?" action="Delete the files" kind="danger" job={job}
      run={() => answered(deleteJobFiles({ path: { id: job.jobId } }))}
    >
      <p>Its results, and the uploads that only it refers to, are deleted for good. The job itself, its bill and its history stay.</p>
      <p>This costs nothing and cannot be undone.</p>
    </Confirmed>
  )
}
