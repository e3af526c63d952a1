// The structures that a job has predicted: a table of all, and one of them in 3D with its confidence.

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Job, Output } from '@/api/client'
import { Button, Card, Failure, Loading, Table } from '@/design'
import { fetchFile, openReport } from '@/pages/jobs/files'
import { useOutputs } from '@/pages/jobs/queries'
import { count } from '@/words'
import { type FoldResults, type FoldRow } from './confidence'
import { Fold } from './fold'

const rowsAtOnce = 50

export function Folds({ job }: { job: Job }) {
  const list = useOutputs(job)
  const document = list.data?.outputs.find((one) => one.name === 'results.json')
  const results = useQuery({
    queryKey: ['file', 'folds', document?.artifactId],
    queryFn: async () => JSON.parse(await (await fetchFile(document!)).text()) as FoldResults,
    enabled: document !== undefined,
    staleTime: Infinity,
  })
  const error = list.error ?? results.error
  if (error) return <Failure error={error} retry={() => void (list.error ? list.refetch() : results.refetch())} />
  if (!list.data || (document && !results.data)) return <Loading what="the structures" />
  return results.data ? <Listed results={results.data} outputs={list.data.outputs} /> : null
}

function Listed({ results, outputs }: { results: FoldResults; outputs: Output[] }) {
  const [chosen, setChosen] = useState<string>()
  const [rows, setRows] = useState(rowsAtOnce)
  const { sequences, failures } = results
  const current = sequences.find((one) => one.file === chosen) ?? sequences[0]
  const report = outputs.find((one) => one.name === 'report.html')
  return (
    <>
      {results.untrained ? (
        <p role="note" className="rounded-md border border-bad p-3 text-sm text-bad">
          Predicted by random weights: these structures mean nothing. They show that folding works here.
        </p>
      ) : null}
      {current ? <Fold key={current.file} row={current} outputs={outputs} /> : null}
      <Card
        title={count(sequences.length, 'structure')}
        actions={report ? <Button onClick={() => void openReport(report)}>Read the report</Button> : null}
      >
        <Table
          caption="Structures of this job"
          head={['Protein', 'Residues', 'Mean pLDDT', 'pLDDT ≥ 70', 'pTM', 'ipTM', 'Mean PAE, Å', 'See it']}
        >
          {sequences.slice(0, rows).map((row) => (
            <Row key={row.file} row={row} current={row === current} show={() => setChosen(row.file)} />
          ))}
        </Table>
        {sequences.length > rows ? (
          <div className="mt-3 text-center"><Button onClick={() => setRows(rows + rowsAtOnce)}>Load more</Button></div>
        ) : null}
        {failures.length > 0 ? (
          <>
            <h3 className="mt-4 mb-1 text-sm font-medium">Not folded</h3>
            <ul className="text-sm">
              {failures.map((one, i) => <li key={i} className="wrap-anywhere"><strong>{one.item}</strong> {one.message}</li>)}
            </ul>
          </>
        ) : null}
      </Card>
    </>
  )
}

function Row({ row, current, show }: { row: FoldRow; current: boolean; show: () => void }) {
  return (
    <tr aria-current={current || undefined}>
      <td className="min-w-40 wrap-anywhere">{row.name}{row.chains > 1 ? ` (${count(row.chains, 'chain')})` : ''}</td>
      <td>{row.residues}</td>
      <td>{row.meanPlddt.toFixed(1)}</td>
      <td>{Math.round(100 * row.confidentFraction)} %</td>
      <td>{row.ptm.toFixed(2)}</td>
      <td>{row.iptm === null ? '–' : row.iptm.toFixed(2)}</td>
      <td>{row.meanPaeAngstrom.toFixed(1)}</td>
      <td>{current ? 'shown' : <Button onClick={show} aria-label={`Show ${row.name}`}>Show</Button>}</td>
    </tr>
  )
}
