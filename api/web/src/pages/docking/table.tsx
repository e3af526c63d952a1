// The ligands of a run, ten thousand if need be: only the rows in sight are there. One row is the current one; the keyboard moves it.

import { type RowSelectionState, type SortingState, useTable, type Updater } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useId, useRef } from 'react'
import type { DockingResult } from '@/api/client'
import { columns, features, gridColumns } from './columns'

interface ResultTableProps {
  results: DockingResult[]
  sort: string | undefined
  onSort: (sort: string | undefined) => void
  current: string | undefined
  onCurrent: (resultId: string) => void
  onOpen: (resultId: string) => void
  selection: RowSelectionState
  onSelection: (selection: RowSelectionState) => void
}

const rowHeight = 76,
  headHeight = 68
const cellClass = 'min-w-0 px-1.5 py-1'

/** "-score" sorts by the score, largest first. */
const sortingOf = (sort: string | undefined): SortingState =>
  sort ? [{ id: sort.replace(/^-/, ''), desc: sort.startsWith('-') }] : []

export function ResultTable({ results, sort, onSort, current, onCurrent, onOpen, selection, onSelection }: ResultTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const id = useId()
  const table = useTable({
    features,
    columns,
    data: results,
    getRowId: (row: DockingResult) => row.resultId,
    state: { sorting: sortingOf(sort), rowSelection: selection },
    onSortingChange: (change: Updater<SortingState>) => {
      const [first] = typeof change === 'function' ? change(sortingOf(sort)) : change
      onSort(first ? (first.desc ? '-' : '') + first.id : undefined)
    },
    onRowSelectionChange: (change: Updater<RowSelectionState>) =>
      onSelection(typeof change === 'function' ? change(selection) : change),
  })
  const { rows } = table.getRowModel()
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    getItemKey: (index) => rows[index]!.id,
  })
  const at = current === undefined ? -1 : rows.findIndex((row) => row.id === current)

  // The current row comes into sight when it becomes another one, not when the list below it changes.
  const shown = useRef<string>(undefined)
  useEffect(() => {
    if (at >= 0 && shown.current !== current) virtual.scrollToIndex(at)
    shown.current = current
  }, [at, current, virtual])

  const go = (to: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, to))]
    if (row) onCurrent(row.id)
  }
  const steps: Record<string, () => void> = {
    ArrowDown: () => go(at + 1),
    j: () => go(at + 1),
    ArrowUp: () => go(at - 1),
    k: () => go(at - 1),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    PageDown: () => go(at + 8),
    PageUp: () => go(at - 8),
    Enter: () => rows[at] && onOpen(rows[at].id),
    ' ': () => rows[at]?.toggleSelected(),
  }
  const key = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return
    const step = steps[event.key.length === 1 ? event.key.toLowerCase() : event.key]
    if (!step) return
    event.preventDefault()
    step()
  }
  const grid = { gridTemplateColumns: gridColumns }
  const chosen = table.getSelectedRowModel().rows.length

  return (
    <div
      ref={scroller}
      role="grid"
      aria-label="Ligands. Arrow keys, or J and K, change the current one, Enter opens it, space chooses it."
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={at >= 0 ? `${id}-${rows[at]!.id}` : undefined}
      tabIndex={0}
      onKeyDown={key}
      style={{ height: headHeight + Math.max(1, rows.length) * rowHeight }}
      className="max-h-[min(40rem,75vh)] min-w-0 overflow-auto rounded-md border border-line text-sm tabular-nums"
    >
      <div className="min-w-[54rem]">
        <div role="row" aria-rowindex={1} className="sticky top-0 z-10 grid border-b border-line bg-card" style={grid}>
          <div role="columnheader" className={`${cellClass} grid place-items-center`}>
            <input
              type="checkbox"
              aria-label="Choose all that are listed"
              className="size-6 accent-accent"
              checked={rows.length > 0 && chosen === rows.length}
              ref={(box) => {
                if (box) box.indeterminate = chosen > 0 && chosen < rows.length
              }}
              onChange={table.getToggleAllRowsSelectedHandler()}
            />
          </div>
          {table.getHeaderGroups()[0]!.headers.map((header) => {
            const sorted = header.column.getIsSorted()
            return (
              <div
                key={header.id}
                role="columnheader"
                aria-sort={sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : undefined}
                className={`${cellClass} font-medium text-soft`}
              >
                {header.column.getCanSort() ? (
                  <button
                    type="button"
                    className="min-h-6 w-full text-left hover:text-accent"
                    onClick={header.column.getToggleSortingHandler()}
                  >
                    <table.FlexRender header={header} />
                    {sorted ? <span aria-hidden="true">{sorted === 'asc' ? ' ▲' : ' ▼'}</span> : null}
                  </button>
                ) : (
                  <table.FlexRender header={header} />
                )}
              </div>
            )
          })}
        </div>
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]!
            const isCurrent = item.index === at
            return (
              <div
                key={row.id}
                id={`${id}-${row.id}`}
                role="row"
                aria-rowindex={item.index + 2}
                aria-selected={row.getIsSelected()}
                aria-current={isCurrent || undefined}
                onClick={(event) => {
                  if (!(event.target as Element).closest('a')) onCurrent(row.id) // a link goes where it leads
                }}
                onDoubleClick={() => onOpen(row.id)}
                className={`absolute inset-x-0 top-0 grid cursor-pointer items-center border-b border-line ${isCurrent ? 'bg-line/50 shadow-[inset_4px_0_0_var(--accent)]' : 'hover:bg-line/25'}`}
                style={{ ...grid, height: rowHeight, transform: `translateY(${item.start}px)` }}
              >
                <div role="gridcell" className={`${cellClass} grid place-items-center`}>
                  <input
                    type="checkbox"
                    aria-label={`Choose ${row.original.label}`}
                    className="size-6 accent-accent"
                    checked={row.getIsSelected()}
                    onClick={(event) => event.stopPropagation()}
                    onChange={row.getToggleSelectedHandler()}
                  />
                </div>
                {row.getAllCells().map((cell) => (
                  <div key={cell.id} role="gridcell" className={cellClass}>
                    <table.FlexRender cell={cell} />
                  </div>
                ))}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}
