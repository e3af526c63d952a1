// Values over time, as many as there are: lines in the colours of the page, and what they come to as a table.

import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { Table } from '@/design'
import { useDark } from '@/theme'

export interface Series {
  name: string
  unit: string
  /** Where nothing was measured stands null. */
  values: (number | null)[]
}

interface TimeSeriesProps {
  /** What is seen, in words. */
  caption: string
  /** The horizontal axis: its name with its unit, and its values. */
  time: { name: string; values: number[] }
  series: Series[]
  height?: number
  /** Marks a time, as that of the frame that is shown. */
  at?: number
  /** Called with the index of the point that was clicked. */
  onChoose?: (index: number) => void
}

// Told apart by every kind of colour vision, on light and on dark grounds; the patterns of the lines say the same.
const colors = { light: ['#0f6b5c', '#b3530a', '#4a59b5', '#8f3a78'], dark: ['#5fd0b4', '#f0a860', '#9fb0ff', '#eaa0d4'] }
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]]

export function TimeSeries({ caption, time, series, height = 260, at, onChoose }: TimeSeriesProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const choose = useRef(onChoose)
  choose.current = onChoose
  const marked = useRef(at)
  marked.current = at
  const dark = useDark()
  useEffect(() => {
    const holder = place.current!
    const style = getComputedStyle(document.documentElement)
    const ink = style.getPropertyValue('--soft'),
      grid = style.getPropertyValue('--line')
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } }
    const units = [...new Set(series.map((one) => one.unit))]
    const made = new uPlot(
      {
        width: Math.max(280, holder.clientWidth),
        height,
        scales: { x: { time: false } },
        legend: { live: true },
        cursor: { drag: { x: true, y: false } },
        series: [
          { label: time.name },
          ...series.map((one, i) => ({
            label: one.unit ? `${one.name}, ${one.unit}` : one.name,
            scale: one.unit || 'value',
            stroke: colors[dark ? 'dark' : 'light'][i % 4]!,
            width: 1.5,
            dash: dashes[i % 4]!,
            points: { show: false },
          })),
        ],
        axes: [
          { ...axis, label: time.name },
          ...units.map((unit, i) => ({
            ...axis,
            scale: unit || 'value',
            label: unit || undefined,
            side: i === 0 ? (3 as const) : (1 as const),
            size: 70, // values such as −50,000 beside the name of the axis
            grid: { ...axis.grid, show: i === 0 },
          })),
        ],
        hooks: { draw: [(drawn) => mark(drawn, marked.current, ink)] },
      },
      [time.values, ...series.map((one) => one.values)] as uPlot.AlignedData,
      holder,
    )
    plot.current = made
    const click = () => {
      if (made.cursor.idx != null) choose.current?.(made.cursor.idx)
    }
    made.over.addEventListener('click', click)
    const resized = new ResizeObserver(() => made.setSize({ width: Math.max(280, holder.clientWidth), height }))
    resized.observe(holder)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [time, series, height, dark])
  useEffect(() => plot.current?.redraw(false, false), [at])
  return (
    <figure className="min-w-0">
      <div ref={place} role="img" aria-label={caption} className="min-w-0 overflow-x-auto text-sm" />
      <details className="text-sm">
        <summary className="w-fit cursor-pointer py-1 text-accent">In numbers</summary>
        <Table caption={`${caption}, in numbers`} head={['', 'First', 'Last', 'Least', 'Most', 'Mean', 'Unit']}>
          {series.map((one) => (
            <Numbers key={one.name} series={one} />
          ))}
        </Table>
      </details>
    </figure>
  )
}

function mark(plot: uPlot, at: number | undefined, color: string) {
  if (at === undefined) return
  const x = plot.valToPos(at, 'x', true)
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = color
  ctx.setLineDash([4, 3])
  ctx.beginPath()
  ctx.moveTo(x, bbox.top)
  ctx.lineTo(x, bbox.top + bbox.height)
  ctx.stroke()
  ctx.restore()
}

function Numbers({ series }: { series: Series }) {
  const values = series.values.filter((value) => value !== null)
  const shown = (value: number | undefined) =>
    value === undefined ? '–' : Number(value.toPrecision(6)).toLocaleString('en-GB', { maximumFractionDigits: 4 })
  const least = values.reduce((a, b) => Math.min(a, b), Infinity),
    most = values.reduce((a, b) => Math.max(a, b), -Infinity)
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const some = values.length > 0
  return (
    <tr>
      <th scope="row">{series.name}</th>
      <td>{shown(values[0])}</td>
      <td>{shown(values.at(-1))}</td>
      <td>{some ? shown(least) : '–'}</td>
      <td>{some ? shown(most) : '–'}</td>
      <td>{some ? shown(mean) : '–'}</td>
      <td>{series.unit}</td>
    </tr>
  )
}
