// The files that a job has made: pictures and films to look at, and everything to download.

import { useMutation } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import type { Job, Output } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, Spinner, Table } from '@/design'
import { count, size } from '@/words'
import { isDynamics } from './engines'
import { isFilm, isPicture, isReport, openReport, useBlobUrl, useFile } from './files'
import { useOutputs } from './queries'

const Trajectory = lazy(() => import('./trajectory').then((module) => ({ default: module.Trajectory })))

/** Reports come first, and what only programs want comes last. */
const order: Output['role'][] = ['result', 'preview', 'frame', 'provenance', 'checkpoint', 'log']
const rank = (output: Output) => (isReport(output) ? -1 : order.indexOf(output.role))
const byUse = (a: Output, b: Output) => rank(a) - rank(b) || (a.frame ?? 0) - (b.frame ?? 0) || a.name.localeCompare(b.name)

const picturesAtOnce = 12
const rowsAtOnce = 100

export function OutputsTab({ job }: { job: Job }) {
  const query = useOutputs(job)
  const [rows, setRows] = useState(rowsAtOnce)
  if (job.filesDeletedAt) return <Empty
    title="The files of this job were deleted"
  >Submit the job again to have them made anew.</Empty>
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading what="the files" />
  const { outputs, whole } = query.data
  if (outputs.length === 0) return <Empty
    title="No file is there yet"
  >{job.terminal ? 'The job has ended without one; its error says why.' : 'They appear here as tasks end.'}</Empty>
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {isDynamics(job) ? <Suspense fallback={<Loading what="the plots" />}><Trajectory outputs={outputs} /></Suspense> : null}
      <Pictures outputs={outputs} />
      <Card
        title="Files"
        actions={<span className="text-sm text-soft">{count(outputs.length, 'file')}{job.terminal ? '' : ' so far'}</span>}
      >
        <Table caption="Files of the job" head={['Name', 'What it is', 'Size', 'Task', 'Get it']}>
          {outputs.toSorted(byUse).slice(0, rows).map((output) => <Row key={output.artifactId} output={output} />)}
        </Table>
        {outputs.length > rows ? <div className="mt-3 text-center"><Button
          onClick={() => setRows(rows + rowsAtOnce)}
        >Load more</Button></div> : null}
        {whole ? null : <p
          className="mt-2 text-sm text-soft"
        >These are the newest {outputs.length}. <code>molfabric outputs {job.jobId} -o folder</code> downloads all.</p>}
      </Card>
    </div>
  )
}

function Row({ output }: { output: Output }) {
  const open = useMutation({ mutationFn: () => openReport(output) })
  return (
    <tr>
      <td className="min-w-40 wrap-anywhere">{output.name}</td>
      <td>{output.role === 'frame' && output.frame !== undefined ? `frame ${output.frame}` : output.role}</td>
      <td className="whitespace-nowrap">{size(output.byteSize)}</td>
      <td>{output.taskIndex}</td>
      <td>
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <a href={output.url} download className="inline-block min-h-6" aria-label={`Download ${output.name}`}>Download</a>
          {isReport(output) ? <Button
            kind="quiet" busy={open.isPending} onClick={() => open.mutate()} aria-label={`Open ${output.name} in a new tab`}
          >Open</Button> : null}
        </span>
        <Failure error={open.error} />
      </td>
    </tr>
  )
}

/** What can be looked at: films first, then pictures, frames in their order. */
export function Pictures({ outputs }: { outputs: Output[] }) {
  const [shown, setShown] = useState(picturesAtOnce)
  const all = outputs.filter(isPicture)
  // A small copy is for while the frames are not there.
  const framed = all.some((output) => output.role === 'frame')
  const pictures = all.filter((output) => !framed || output.role !== 'preview').sort((a, b) => (a.frame ?? -1) - (b.frame ?? -1) || a.name.localeCompare(b.name))
  const films = outputs.filter(isFilm)
  if (pictures.length + films.length === 0) return null
  return (
    <Card title="Pictures">
      <ul className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
        {films.map((output) => <li key={output.artifactId} className="min-w-0"><Film output={output} /></li>)}
        {pictures.slice(0, shown).map((output) => <li key={output.artifactId} className="min-w-0"><Picture output={output} /></li>)}
      </ul>
      {pictures.length > shown ? <div className="mt-3 text-center"><Button
        onClick={() => setShown(shown + picturesAtOnce)}
      >Show {Math.min(picturesAtOnce, pictures.length - shown)} more</Button></div> : null}
    </Card>
  )
}

function Picture({ output }: { output: Output }) {
  const file = useFile(output)
  const url = useBlobUrl(file.data)
  return (
    <figure>
      {file.error ? <Failure error={file.error} retry={() => void file.refetch()} /> : null}
      {url ? (
        <a href={url} target="_blank" rel="noreferrer" aria-label={`Open ${output.name} in a new tab`} className="block">
          <img src={url} alt={output.name} className="max-h-72 w-full rounded-md border border-line bg-white object-contain" />
        </a>
      ) : file.error ? null : <div className="grid h-40 place-items-center rounded-md border border-line"><Spinner /></div>}
      <figcaption className="mt-1 text-sm text-soft wrap-anywhere">{output.name}</figcaption>
    </figure>
  )
}

function Film({ output }: { output: Output }) {
  const [wanted, setWanted] = useState(false)
  const file = useFile(output, wanted)
  const url = useBlobUrl(file.data)
  return (
    <figure>
      <Failure error={file.error} retry={() => void file.refetch()} />
      {url ? <video
        src={url} controls autoPlay muted loop playsInline aria-label={output.name}
        className="max-h-72 w-full rounded-md border border-line"
      /> : (
        <div className="grid h-40 place-items-center rounded-md border border-line">
          <Button busy={file.isFetching} onClick={() => setWanted(true)}>Play {output.name}, {size(output.byteSize)}</Button>
        </div>
      )}
      <figcaption className="mt-1 text-sm text-soft wrap-anywhere">{output.name}</figcaption>
    </figure>
  )
}
