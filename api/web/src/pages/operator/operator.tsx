// How the deployment does, for those who run it: what is wrong, what waits and runs, and who works. It is read again every few seconds.

import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type Alert, answered, ApiError, type FleetWorker, getAlerts, getFleet, getWorkQueues, type WorkQueue } from '@/api/client'
import { Card, Empty, Failure, Loading, PageHead, Table } from '@/design'
import { ago, count } from '@/words'

const everyMs = 5000

const alertWords: Record<Alert['name'], string> = {
  NoSchedulerLeads: 'No scheduler leads', NoWorkers: 'No worker', WorkWaits: 'Work waits', JobsFail: 'Jobs fail',
}

export function Operator() {
  const alerts = useQuery({ queryKey: ['operator', 'alerts'], queryFn: () => answered(getAlerts()), refetchInterval: everyMs })
  const queues = useQuery({ queryKey: ['operator', 'queues'], queryFn: () => answered(getWorkQueues()), refetchInterval: everyMs })
  const fleet = useQuery({ queryKey: ['operator', 'fleet'], queryFn: () => answered(getFleet()), refetchInterval: everyMs })
  if (alerts.error instanceof ApiError && alerts.error.status === 404) {
    return (
      <>
        <PageHead title="Operator" />
        <Empty title="This page is for those who run the service">
          Their addresses are in MOLFABRIC_OPERATORS, and must be proved. <a href="/">Go to your jobs</a>
        </Empty>
      </>
    )
  }
  return (
    <>
      <PageHead title="Operator" lead="What is wrong, what waits and runs, and who works. It is read again every five seconds." />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <Part title="Alerts" what="the alerts" query={alerts} none="Nothing is wrong that can be told from here."
          rows={alerts.data?.alerts} show={(rows) => <Alerts alerts={rows} />} />
        <Part title="Queues" what="the queues" query={queues} none="No worker is alive, and nothing waits."
          rows={queues.data?.queues} show={(rows) => <Queues queues={rows} />} />
        <Part title="Workers" what="the workers" query={fleet} none="No worker is alive."
          rows={fleet.data?.workers} show={(rows) => <Workers workers={rows} />} />
      </div>
    </>
  )
}

interface PartProps<Row> {
  title: string
  what: string
  none: string
  query: UseQueryResult<unknown>
  rows?: Row[]
  show: (rows: Row[]) => ReactNode
}

/** A part keeps what it showed last while the service cannot be asked. */
function Part<Row>({ title, what, none, query, rows, show }: PartProps<Row>) {
  return (
    <Card title={title}>
      <Failure error={query.error} retry={() => void query.refetch()} />
      {query.isPending ? <Loading what={what} /> : null}
      {rows?.length === 0 ? <p className="text-soft">{none}</p> : null}
      {rows?.length ? show(rows) : null}
    </Card>
  )
}

function Alerts({ alerts }: { alerts: Alert[] }) {
  return (
    <Table caption="Alerts" head={['What', 'Of', 'How many', 'What to do']}>
      {alerts.map((alert) => (
        <tr key={`${alert.name} ${alert.subject}`}>
          <td className="font-medium whitespace-nowrap text-bad">{alertWords[alert.name]}</td>
          <td className="font-mono whitespace-nowrap">{alert.subject || 'the service'}</td>
          <td>{alert.count || '–'}</td>
          <td className="min-w-64">{alert.message}</td>
        </tr>
      ))}
    </Table>
  )
}

function Queues({ queues }: { queues: WorkQueue[] }) {
  return (
    <Table caption="Queues" head={['Class', 'Waiting', 'Oldest', 'Running', 'Workers']}>
      {queues.map((queue) => (
        <tr key={queue.class}>
          <td className="font-mono whitespace-nowrap">{queue.class}</td>
          <td>{queue.waiting.toLocaleString('en-GB')}</td>
          <td className="whitespace-nowrap">{queue.oldestWaitsSince ? `submitted ${ago(queue.oldestWaitsSince)}` : '–'}</td>
          <td>{queue.running.toLocaleString('en-GB')}</td>
          <td>{queue.workers}</td>
        </tr>
      ))}
    </Table>
  )
}

function Workers({ workers }: { workers: FleetWorker[] }) {
  return (
    <Table caption="Workers" head={['Machine', 'State', 'Runs', 'GPUs', 'Takes', 'Version', 'Sandbox', 'Started']}>
      {workers.map((worker) => (
        <tr key={worker.workerId}>
          <td className="whitespace-nowrap" title={worker.workerId}>{worker.host}</td>
          <td className="whitespace-nowrap">{worker.draining ? 'draining' : worker.running > 0 ? 'working' : 'idle'}</td>
          <td className="whitespace-nowrap">{count(worker.running, 'task')} on {count(worker.slots, 'core')}</td>
          <td className="whitespace-nowrap">{worker.devices ? `${worker.devicesFree} of ${worker.devices} free` : 'none'}</td>
          <td className="min-w-48">{worker.classes.join(', ')}</td>
          <td className="whitespace-nowrap">{worker.version}</td>
          <td className="min-w-32">{worker.sandbox}</td>
          <td className="whitespace-nowrap">{ago(worker.startedAt)}</td>
        </tr>
      ))}
    </Table>
  )
}
