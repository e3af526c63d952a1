// The ligands of a run: filters, table, what is chosen, and the current one beside them.

import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { RowSelectionState } from '@tanstack/react-table'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { DockingRun } from '@/api/client'
import { Histogram } from '@/charts'
import { Button, Card, Failure, Loading, Select, TextField } from '@/design'
import { saveText } from '@/design/save'
import { count } from '@/words'
import { tableOf } from './export'
import { ExportButtons } from './export-buttons'
import { type Filter, filtered, noFilter } from './filter'
import { InteractionMap } from './interaction-map'
import { hasEnded, resultsQuery } from './queries'
import { Side } from './side'
import { ResultTable } from './table'
import { useWide } from './wide'

// A run of many ligands is read again seldom while it goes on: it comes a hundred at a time.
const refreshMs = (ligands: number) => Math.max(5_000, ligands * 10)

export function Results({ run }: { run: DockingRun }) {
  const { ligand, sort } = useSearch({ strict: false }) as { ligand?: string; sort?: string }
  const navigate = useNavigate()
  const list = useInfiniteQuery(resultsQuery(run.runId))
  const { hasNextPage, isFetching, isError, fetchNextPage, refetch } = list
  useEffect(() => {
    if (hasNextPage && !isFetching && !isError) void fetchNextPage()
  }, [hasNextPage, isFetching, isError, fetchNextPage, list.data])

  const outcomes = run.counts.completed + run.counts.failed
  const read = useRef({ outcomes, status: run.status, at: Date.now() })
  useEffect(() => {
    const { current: last } = read
    const changed = last.outcomes !== outcomes || last.status !== run.status
    if (!changed || hasNextPage || isFetching) return
    const wait = hasEnded(run.status) ? 0 : Math.max(0, last.at + refreshMs(run.ligandCount) - Date.now())
    const timer = setTimeout(() => {
      read.current = { outcomes, status: run.status, at: Date.now() }
      void refetch()
    }, wait)
    return () => clearTimeout(timer)
  }, [outcomes, run.status, run.ligandCount, hasNextPage, isFetching, refetch])

  const all = useMemo(() => list.data?.pages.flatMap((page) => page.results) ?? [], [list.data])
  const [filter, setFilter] = useState<Filter>(noFilter)
  const deferred = useDeferredValue(filter)
  const shown = useMemo(() => filtered(all, deferred), [all, deferred])
  const [selection, setSelection] = useState<RowSelectionState>({})
  const chosen = useMemo(() => all.filter((one) => selection[one.resultId]), [all, selection])
  const scores = useMemo(() => all.flatMap((one) => one.bestScoreKcalMol ?? []), [all])
  const current = all.find((one) => one.resultId === ligand) ?? shown[0]
  const wide = useWide()

  const search = (change: { ligand?: string; sort?: string | undefined }) =>
    void navigate({
      to: '/dockings/$runId',
      params: { runId: run.runId },
      search: { ligand, sort, ...change },
      replace: true,
      resetScroll: false,
    })
  const set = (change: Partial<Filter>) => setFilter((now) => ({ ...now, ...change }))

  if (list.isPending) return <Loading what="the ligands" />
  return (
    <>
      {isError ? (
        <div className="mb-4">
          <Failure error={list.error} retry={() => void (hasNextPage ? fetchNextPage() : refetch())} />
        </div>
      ) : null}
      <Card title="Ligands" actions={<ExportButtons runId={run.runId} />} className="mb-4">
        <div className="mb-3 grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
          <TextField
            label="Find"
            placeholder="name, residue, contact"
            value={filter.text}
            onChange={(event) => set({ text: event.target.value })}
          />
          <TextField
            label="Score at most, kcal/mol"
            inputMode="text"
            placeholder="−8"
            value={filter.maxScore}
            onChange={(event) => set({ maxScore: event.target.value })}
          />
          <Select label="State" value={filter.status} onChange={(event) => set({ status: event.target.value as Filter['status'] })}>
            <option value="">any</option>
            <option value="COMPLETED">completed</option>
            <option value="FAILED">failed</option>
            <option value="DOCKING">docking</option>
            <option value="PREPARING">preparing</option>
            <option value="PENDING">pending</option>
          </Select>
          <Select
            label="Checks"
            value={filter.checks}
            onChange={(event) => set({ checks: event.target.value as Filter['checks'] })}
          >
            <option value="">any</option>
            <option value="passed">passed</option>
            <option value="failed">failed</option>
          </Select>
        </div>
        <div className="mb-2 flex min-h-9 flex-wrap items-center gap-x-4 gap-y-2 text-sm">
          <p role="status">
            {shown.length === all.length
              ? count(all.length, 'ligand')
              : `${shown.length.toLocaleString('en-GB')} of ${count(all.length, 'ligand')}`}
            {hasNextPage ? ` read of ${run.ligandCount.toLocaleString('en-GB')}…` : ''}
          </p>
          {shown.length < all.length ? (
            <Button kind="quiet" onClick={() => setFilter(noFilter)}>
              Show all
            </Button>
          ) : null}
          {chosen.length > 0 ? (
            <>
              <span>{chosen.length} chosen</span>
              <Button onClick={() => saveText('chosen-ligands.csv', 'text/csv', tableOf(chosen))}>CSV of the chosen</Button>
              <Button kind="quiet" onClick={() => setSelection({})}>
                Choose none
              </Button>
            </>
          ) : null}
        </div>
        <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
          <ResultTable
            results={shown}
            sort={sort}
            onSort={(next) => search({ sort: next })}
            current={current?.resultId}
            onCurrent={(resultId) => search({ ligand: resultId })}
            onOpen={(resultId) => void navigate({ to: '/ligands/$resultId', params: { resultId } })}
            selection={selection}
            onSelection={setSelection}
          />
          {wide && current ? (
            <Side run={run} result={current} position={`${shown.indexOf(current) + 1} of ${shown.length}`} />
          ) : null}
        </div>
      </Card>
      {scores.length > 1 ? (
        <Card title="Scores" className="mb-4">
          <p className="mb-2 text-sm text-soft">A bar lists the ligands that score as well as it, or better.</p>
          <Histogram
            values={scores}
            what="best score, kcal/mol"
            one="ligand"
            mark={
              current?.bestScoreKcalMol != null ? { value: current.bestScoreKcalMol, label: current.label.slice(0, 24) } : undefined
            }
            onChoose={(_, to) => set({ maxScore: String(to) })}
          />
        </Card>
      ) : null}
      <Card title="Interaction map">
        <InteractionMap results={all} />
      </Card>
    </>
  )
}
