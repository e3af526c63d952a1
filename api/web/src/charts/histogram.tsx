// How many of each: bars that a keyboard reaches, and the same as a table.

import { useState } from 'react'
import { Table } from '@/design'
import { count } from '@/words'
import { bins, linear, ticks } from './scale'

/** With a minus sign where the language has one. */
const figure = (value: number) => String(value).replace('-', '−')

interface HistogramProps {
  values: number[]
  /** What the values are, with their unit: "best score, kcal/mol". */
  what: string
  /** What is counted, one and many: ligand, ligands. */
  one: string
  many?: string
  /** A value to mark, as that of the chosen ligand. */
  mark?: { value: number; label: string }
  /** Called with the edges of a bar that was chosen. */
  onChoose?: (from: number, to: number) => void
}

const width = 640,
  height = 220,
  left = 44,
  right = 12,
  top = 14,
  bottom = 40

export function Histogram({ values, what, one, many, mark, onChoose }: HistogramProps) {
  const [at, setAt] = useState<number>()
  const found = bins(values)
  if (found.length === 0) return <p className="text-soft">There are no values yet.</p>
  const low = found[0]!.from,
    high = found.at(-1)!.to
  const most = Math.max(...found.map((bin) => bin.count))
  const x = linear([low, high], [left, width - right])
  const y = linear([0, most], [height - bottom, top])
  const words = (i: number) => `${figure(found[i]!.from)} to ${figure(found[i]!.to)}: ${count(found[i]!.count, one, many)}`
  const label = `Histogram of ${what}: ${count(values.length, one, many)} from ${figure(low)} to ${figure(high)}`
  const move = (by: number) => setAt((now) => Math.min(found.length - 1, Math.max(0, (now ?? (by > 0 ? -1 : found.length)) + by)))
  return (
    <figure className="min-w-0">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        className="w-full max-w-3xl"
        role="img"
        aria-label={label}
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
            event.preventDefault()
            move(event.key === 'ArrowRight' ? 1 : -1)
          } else if (event.key === 'Enter' && at !== undefined) onChoose?.(found[at]!.from, found[at]!.to)
        }}
        onBlur={() => setAt(undefined)}
        onMouseLeave={() => setAt(undefined)}
      >
        {ticks(0, most, 4)
          .filter(Number.isInteger)
          .map((tick) => (
            <g key={tick}>
              <line x1={left} x2={width - right} y1={y(tick)} y2={y(tick)} className="stroke-line" />
              <text x={left - 6} y={y(tick)} dy="0.32em" textAnchor="end" className="fill-soft text-[11px]">
                {tick}
              </text>
            </g>
          ))}
        {found.map((bin, i) => (
          <g
            key={bin.from}
            onMouseEnter={() => setAt(i)}
            onClick={() => onChoose?.(bin.from, bin.to)}
            className={onChoose ? 'cursor-pointer' : undefined}
          >
            <rect x={x(bin.from)} width={x(bin.to) - x(bin.from)} y={top} height={height - bottom - top} fill="transparent" />
            <rect
              x={x(bin.from) + 0.5}
              width={Math.max(1, x(bin.to) - x(bin.from) - 1)}
              y={y(bin.count)}
              height={y(0) - y(bin.count)}
              className={`fill-accent ${i === at ? 'stroke-ink stroke-2' : ''}`}
            />
          </g>
        ))}
        <line x1={left} x2={width - right} y1={y(0)} y2={y(0)} className="stroke-soft" />
        {ticks(low, high, 8).map((tick) => (
          <text key={tick} x={x(tick)} y={height - bottom + 15} textAnchor="middle" className="fill-soft text-[11px]">
            {figure(tick)}
          </text>
        ))}
        <text x={(left + width - right) / 2} y={height - 6} textAnchor="middle" className="fill-soft text-[12px]">
          {what}
        </text>
        {mark && mark.value >= low && mark.value <= high ? (
          <g>
            <line
              x1={x(mark.value)}
              x2={x(mark.value)}
              y1={top - 4}
              y2={y(0)}
              className="stroke-ink stroke-2"
              strokeDasharray="5 3"
            />
            <text
              x={x(mark.value)}
              y={top - 4}
              dx={x(mark.value) > width / 2 ? -5 : 5}
              textAnchor={x(mark.value) > width / 2 ? 'end' : 'start'}
              className="fill-ink text-[11px]"
            >
              {mark.label}
            </text>
          </g>
        ) : null}
      </svg>
      <p role="status" className="min-h-6 text-sm text-soft">
        {at === undefined ? '' : words(at)}
      </p>
      <details className="text-sm">
        <summary className="w-fit cursor-pointer py-1 text-accent">As a table</summary>
        <Table caption={label} head={['From', 'To', 'Count']}>
          {found.map((bin) => (
            <tr key={bin.from}>
              <td>{figure(bin.from)}</td>
              <td>{figure(bin.to)}</td>
              <td>{bin.count}</td>
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  )
}
