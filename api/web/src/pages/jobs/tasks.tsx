// The tasks of a job: a strip of squares, and each with its attempts and what went wrong.

import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Job, Task } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, Select, State, Table } from '@/design'
import { count, duration, money, size, stateWords } from '@/words'
import { useTasks } from './queries'

const states: { status: Task['status']; letter: string; look: string }[] = [
  { status: 'PENDING', letter: 'P', look: 'border-line text-soft' },
  { status: 'QUEUED', letter: 'Q', look: 'border-soft text-ink' },
  { status: 'RUNNING', letter: 'R', look: 'border-accent bg-accent text-on-accent' },
  { status: 'SUCCEEDED', letter: 'S', look: 'border-good text-good' },
  { status: 'FAILED', letter: 'F', look: 'border-2 border-bad text-bad' },
  { status: 'CANCELLED', letter: 'C', look: 'border-dashed border-soft text-soft' },
]
/** What was known needs a sign of its own: it is done, and was not run. */
const knownLook = { letter: 'K', look: 'border-dashed border-good text-good' }
const lookOf = (task: Task) => (task.reused ? knownLook : states.find((state) => state.status === task.status)!)
const stateOf = (task: Task) => (task.reused ? `${stateWords(task.status)}, known` : stateWords(task.status))
const failuresShown = 5

export function Tasks({ job }: { job: Job }) {
  const [status, setStatus] = useState<Task['status'] | ''>('')
  const list = useTasks(job, status || undefined)
  const tasks = list.data?.pages.flatMap((page) => page.tasks) ?? []
  const known = tasks.filter((task) => task.reused).length
  const counts = job.progress.tasks
  const of = (state: Task['status']) => counts[state.toLowerCase() as keyof typeof counts]
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Card title="Tasks at a glance">
        <p className="text-sm">
          {count(counts.total, 'task')}: {states.map(({ status: one, letter }) => `${of(one)} ${stateWords(one)} (${letter})`).join(', ')}.
          {known > 0 ? ' Those with a K were known: their files were taken over from an earlier job, and they cost nothing.' : ''}
        </p>
        <ol aria-label="Tasks by state" className="mt-3 flex flex-wrap gap-1">
          {tasks.map((task) => (
            <li
              key={task.taskId} title={`${task.index}. ${task.name}: ${stateOf(task)}`}
              className={`grid size-6 place-items-center rounded border text-xs font-medium ${lookOf(task).look}`}
            >
              <span aria-hidden="true">{lookOf(task).letter}</span><span
                className="sr-only"
              >{task.name}: {stateOf(task)}</span>
            </li>
          ))}
        </ol>
        {list.hasNextPage ? <p
          className="mt-2 text-sm text-soft"
        >The first {tasks.length}; “Load more” below shows the next ones here too.</p> : null}
      </Card>
      <Card title="Each task" actions={
        <div className="w-40">
          <Select
            label="Tasks in state" quiet value={status} onChange={(event) => setStatus(event.target.value as Task['status'] | '')}
          >
            <option value="">All states</option>
            {states.map((state) => <option key={state.status} value={state.status}>{stateWords(state.status)}</option>)}
          </Select>
        </div>
      }>
        <Failure error={list.error} retry={() => void list.refetch()} />
        {list.isPending ? <Loading what="the tasks" /> : null}
        {list.data && tasks.length === 0 ? <Empty title="No task is in this state">Choose another state above.</Empty> : null}
        {tasks.length > 0 ? (
          <Table caption="Tasks" head={['Task', 'Stage', 'State', 'Items', 'Attempts', 'Processor time', 'Memory', 'What it says']}>
            {tasks.map((task) => <Row key={task.taskId} task={task} />)}
          </Table>
        ) : null}
        {list.hasNextPage ? <div className="mt-3 text-center"><Button
          busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}
        >Load more</Button></div> : null}
      </Card>
    </div>
  )
}

function Row({ task }: { task: Task }) {
  return (
    <tr>
      <td className="whitespace-nowrap">{task.index}. {task.name}</td>
      <td>{task.stage}</td>
      <td className="whitespace-nowrap">
        <State status={task.status} />{task.reused ? ' known' : ''}
        {task.status === 'RUNNING' ? ` ${task.progress.toFixed(0)} %` : ''}
      </td>
      <td>{task.items}{task.itemFailureCount > 0 ? `, ${task.itemFailureCount} failed` : ''}</td>
      <td><Attempts task={task} /></td>
      <td className="whitespace-nowrap">{task.usage.cpuSeconds > 0 ? duration(task.usage.cpuSeconds) : '–'}</td>
      <td className="whitespace-nowrap">{task.usage.peakMemoryBytes > 0 ? size(task.usage.peakMemoryBytes) : '–'}</td>
      <td className="min-w-56"><Said task={task} /></td>
    </tr>
  )
}

const attemptWords = (one: Task['attempts'][number]) => [
  `${one.attempt}. ${stateWords(one.outcome)}`, duration(one.usage.wallSeconds), one.reusedFrom ? 'taken over' : money(one.cost),
  one.workerId,
].filter(Boolean).join(', ')

function Attempts({ task }: { task: Task }) {
  if (task.attempts.length === 0) return <>{task.attempt}</>
  return (
    <details>
      <summary className="min-h-6 cursor-pointer text-accent">{task.attempt}</summary>
      <ul className="grid gap-1 whitespace-nowrap">
        {task.attempts.map((one) => (
          <li
            key={`${one.run}.${one.attempt}`}
          >{attemptWords(one)}</li>
        ))}
      </ul>
    </details>
  )
}

function Said({ task }: { task: Task }) {
  const from = task.reused ? task.attempts.findLast((one) => one.reusedFrom)?.reusedFrom : undefined
  return (
    <>
      {from ? <p>Not run again: its files are from <Link
        to="/jobs/$jobId" params={{ jobId: from.jobId }} search={{ tab: 'tasks' }} aria-label={`an earlier job, for ${task.name}`}
      >an earlier job</Link>.</p> : null}
      {task.error ? <p
        className="text-bad wrap-anywhere"
      >{task.error.message} <span className="text-soft">({task.error.code})</span></p> : <p
        className="text-soft wrap-anywhere"
      >{task.message}</p>}
      {task.itemFailures.length > 0 ? (
        <ul className="mt-1 grid gap-1">
          {task.itemFailures.slice(0, failuresShown).map((one) => <li
            key={one.item} className="wrap-anywhere"
          ><strong>{one.label ?? one.item}</strong> failed at {one.step}: {one.message}</li>)}
          {task.itemFailureCount > failuresShown ? <li>and {task.itemFailureCount - failuresShown} more</li> : null}
        </ul>
      ) : null}
    </>
  )
}
