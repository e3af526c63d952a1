// What the programs of a job have printed.

import { useState } from 'react'
import type { Job, TaskLog } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, State, TextField } from '@/design'
import { size } from '@/words'
import { useSettled } from '../new/price'
import { useLogs } from './queries'

export function Logs({ job }: { job: Job }) {
  const [task, setTask] = useState('')
  const list = useLogs(job, useSettled(task.trim(), 400))
  const logs = list.data?.pages.flatMap((page) => page.logs) ?? []
  if (job.filesDeletedAt) return <Empty title="The logs were deleted with the job’s files">What it did stands under Tasks.</Empty>
  return (
    <Card title="Logs">
      <div className="mb-4 max-w-60">
        <TextField
          label="Task" value={task} placeholder="all" inputMode="numeric" hint="Its number or id."
          onChange={(event) => setTask(event.target.value)}
        />
      </div>
      <Failure error={list.error} retry={() => void list.refetch()} />
      {list.isPending ? <Loading what="the logs" /> : null}
      {list.data && logs.length === 0 ? <Empty
        title="No log is there yet"
      >A task’s log is stored when the task ends.</Empty> : null}
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">{logs.map((log) => <Log key={`${log.taskId}.${log.attempt}`} log={log} />)}</div>
      {list.hasNextPage ? <div className="mt-3 text-center"><Button
        busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}
      >Load more</Button></div> : null}
    </Card>
  )
}

function Log({ log }: { log: TaskLog }) {
  const title = `${log.index}. ${log.name}`
  return (
    <section aria-label={title}>
      <div className="mb-1 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
        <h3 className="font-medium">{title}</h3><State
          status={log.status}
        /><span className="text-soft">{log.stage}, attempt {log.attempt}</span>
        {log.url ? <a href={log.url} className="ml-auto">Download, {size(log.byteSize)}</a> : null}
      </div>
      {log.text === null ? <p className="text-sm text-soft">{log.message || 'It runs; its log is stored when it ends.'}</p> : (
        <pre
          tabIndex={0} role="region" aria-label={`Log of ${title}`}
          className="max-h-96 overflow-auto rounded-md border border-line bg-page p-3 text-xs"
        >
          {log.truncated ? '… the end of the log\n' : ''}{log.text || 'It has printed nothing.'}
        </pre>
      )}
    </section>
  )
}
