// How the results of a job came to be.

import { Link } from '@tanstack/react-router'
import type { Job, Provenance } from '@/api/client'
import { Button, Card, Empty, Facts, Failure, Loading, Table } from '@/design'
import { count, duration, size, stateWords, when } from '@/words'
import { saveAs } from './files'
import { useProvenance } from './queries'

const rowsShown = 50

export function ProvenanceTab({ job }: { job: Job }) {
  const query = useProvenance(job)
  if (job.filesDeletedAt) return <Empty
    title="The provenance went with the job’s files"
  >Its bill and history stay under Overview.</Empty>
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading what="the provenance" />
  return <Shown provenance={query.data} />
}

function Shown({ provenance: p }: { provenance: Provenance }) {
  const programs = Object.entries(p.engine.programs).map(([name, versions]) => `${name} ${versions.join(' and ')}`)
  const save = () => saveAs(new Blob([JSON.stringify(p, null, 2)], { type: 'application/json' }), `${p.jobId}-provenance.json`)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Card title="Summary" actions={<Button onClick={save}>Download as JSON</Button>}>
        <Facts facts={[
          ['Engine', p.engine.title || p.engine.id], ['Programs', programs.join(', ') || 'none has reported yet'],
          ['Seeds', p.seeds.join(', ') || 'none'],
          ['Request', <code
            key="r" className="text-xs"
          >{p.request.sha256}</code>], ['Service', `${p.fabric.name} ${p.fabric.version}`.trim()],
          ['Submitted', when(p.createdAt)], ['Ended', when(p.finishedAt)], ['Runs', count(p.attempts, 'run')],
          ['Holds', `${count(p.counts.inputs, 'input')}, ${count(p.counts.executions, 'execution')}, ${count(p.counts.outputs, 'output')}`],
        ]} />
        {p.complete ? null : <p className="mt-2 text-sm text-soft">The job may still add to it.</p>}
        {p.documents.length > 0 ? <p className="mt-2 text-sm">The engine’s own: {p.documents.map((one) => <a
          key={one.url} href={one.url} className="mr-3"
        >{one.name}</a>)}</p> : null}
      </Card>
      {p.citations.length > 0 ? (
        <Card title="What to cite">
          <ul className="grid list-disc gap-1 pl-5 text-sm">
            {p.citations.map((one) => <li key={one.text}>{one.text}{one.doi ? <> <a
              href={`https://doi.org/${one.doi}`} rel="noreferrer" target="_blank"
            >doi:{one.doi}</a></> : null}</li>)}
          </ul>
        </Card>
      ) : null}
      <Card title="Inputs">
        {p.inputs.length === 0 ? <p className="text-sm text-soft">None.</p> : (
          <Table caption="Inputs" head={['File', 'Size', 'SHA-256']}>
            {p.inputs.slice(0, rowsShown).map((one) => (
              <tr key={one.storageKey}>
                <td className="min-w-40 wrap-anywhere">{one.storageKey.split('/').pop()}{one.sceneFile ? ' (the scene)' : ''}</td>
                <td
                  className="whitespace-nowrap"
                >{one.byteSize === null ? 'not read' : size(one.byteSize)}</td><td><code
                  className="text-xs"
                >{one.sha256 ?? 'not stated'}</code></td>
              </tr>
            ))}
          </Table>
        )}
      </Card>
      <Card title="Executions">
        <Table caption="Executions" head={['Task', 'Stage', 'Outcome', 'Took', 'Processor time', 'Worker', 'Ended']}>
          {p.executions.slice(0, rowsShown).map((one) => (
            <tr key={`${one.taskId}.${one.run}.${one.attempt}`}>
              <td
                className="whitespace-nowrap"
              >{one.taskIndex}. {one.name}, attempt {one.attempt}</td><td>{one.stage}</td>
              <td>{stateWords(one.outcome)}{one.reusedFrom ? <>, from <Link
                to="/jobs/$jobId" params={{ jobId: one.reusedFrom.jobId }} search={{ tab: 'provenance' }}
              >an earlier job</Link></> : null}</td>
              <td
                className="whitespace-nowrap"
              >{duration(one.usage.wallSeconds)}</td><td
                className="whitespace-nowrap"
              >{duration(one.usage.cpuSeconds)}</td><td>{one.workerId}</td><td
                className="whitespace-nowrap"
              >{when(one.finishedAt)}</td>
            </tr>
          ))}
        </Table>
        {p.executions.length > rowsShown ? <p
          className="mt-2 text-sm text-soft"
        >The first {rowsShown} of {p.counts.executions}; the download has all.</p> : null}
      </Card>
    </div>
  )
}
