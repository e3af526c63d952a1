// The account's dockings, newest first.

import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { answered, type DockingRun, getDockingBatch } from '@/api/client'
import { Button, buttonClass, Card, Empty, Facts, Failure, Loading, PageHead, State, Table, TextField } from '@/design'
import { MoreOf } from '@/design/more'
import { count, money, when } from '@/words'
import { figure } from './columns'
import { runsQuery } from './queries'

export function Dockings() {
  const { batch } = useSearch({ strict: false }) as { batch?: string }
  const list = useInfiniteQuery(runsQuery(batch))
  const runs = list.data?.pages.flatMap((page) => page.runs)
  return (
    <>
      <PageHead
        title="Dockings"
        lead="Ligands docked into a receptor, newest first."
        actions={
          <Link to="/new/docking" className={buttonClass('primary')}>
            New docking
          </Link>
        }
      />
      <BatchFilter key={batch ?? ''} batch={batch} />
      {batch ? <Batch batchId={batch} /> : null}
      {list.error && !runs ? <Failure error={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Loading what="your dockings" /> : null}
      {runs?.length === 0 ? (
        batch ? (
          <Empty title="No run belongs to this batch">
            <Link to="/dockings" search={{}}>
              See all dockings
            </Link>
          </Empty>
        ) : (
          <Empty title="You have not docked anything yet">
            <Link to="/new/docking">Dock a ligand</Link>: you need a structure and a SMILES, and see the price before it begins.
          </Empty>
        )
      ) : null}
      {runs?.length ? (
        <Card>
          <Table caption="Dockings" head={['Name', 'State', 'Receptor', 'Ligands', 'Redocked at', 'Cost', 'Submitted']}>
            {runs.map((run) => (
              <Row key={run.runId} run={run} />
            ))}
          </Table>
          <MoreOf what="dockings" list={list} />
        </Card>
      ) : null}
    </>
  )
}

function Row({ run }: { run: DockingRun }) {
  const { completed, failed, total } = run.counts
  return (
    <tr>
      <td className="min-w-40">
        <Link to="/dockings/$runId" params={{ runId: run.runId }} className="wrap-anywhere">
          {run.jobName || run.receptor.name}
        </Link>
      </td>
      <td>
        <State status={run.status} />
      </td>
      <td>{run.receptor.name}</td>
      <td className="whitespace-nowrap">
        {completed + failed === total ? total : `${completed + failed} of ${total}`}
        {failed ? <span className="text-warn">, {failed} failed</span> : null}
      </td>
      <td className="whitespace-nowrap">
        {run.validation?.redockRmsdAngstrom == null ? '–' : `${figure(run.validation.redockRmsdAngstrom, 2)} Å`}
      </td>
      <td>{run.cost.final === null ? `${money(run.cost.accrued)} so far` : money(run.cost.final)}</td>
      <td className="whitespace-nowrap">{when(run.createdAt)}</td>
    </tr>
  )
}

function BatchFilter({ batch }: { batch: string | undefined }) {
  const navigate = useNavigate()
  const [typed, setTyped] = useState(batch ?? '')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void navigate({ to: '/dockings', search: typed.trim() ? { batch: typed.trim() } : {} })
  }
  return (
    <form onSubmit={submit} className="mb-4 flex max-w-xl flex-wrap items-end gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          label="Batch"
          hint="The id of a library, batch_…, shows its run alone."
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </div>
      <div className="mb-7 flex gap-2">
        <Button type="submit">Show</Button>
        {batch ? (
          <Link to="/dockings" search={{}} className={buttonClass('quiet')}>
            All
          </Link>
        ) : null}
      </div>
    </form>
  )
}

function Batch({ batchId }: { batchId: string }) {
  const batch = useQuery({
    queryKey: ['docking', 'batch', batchId],
    queryFn: () => answered(getDockingBatch({ path: { id: batchId } })),
  })
  if (batch.error)
    return (
      <div className="mb-4">
        <Failure error={batch.error} />
      </div>
    )
  if (!batch.data) return null
  const { ligandCount, counts, progress, topResults, createdAt } = batch.data
  return (
    <Card title="Batch" className="mb-4">
      <Facts
        facts={[
          ['Ligands', `${count(ligandCount, 'ligand')}, ${progress.percent} % with an outcome`],
          ['Docked, failed', `${counts.completed}, ${counts.failed}`],
          ['Submitted', when(createdAt)],
          [
            'Best so far',
            topResults.length === 0
              ? 'none yet'
              : topResults.slice(0, 3).map((one, i) => (
                  <span key={one.resultId}>
                    {i ? ', ' : ''}
                    <Link to="/ligands/$resultId" params={{ resultId: one.resultId }}>
                      {one.label}
                    </Link>{' '}
                    {figure(one.bestScoreKcalMol, 2)}
                  </span>
                )),
          ],
        ]}
      />
    </Card>
  )
}
