// A square of numbers, too many for cells with names, such as the predicted aligned errors of a fold. Drawn on a canvas; a pointer or
// the arrow keys read single values.

import { useEffect, useRef, useState } from 'react'
import { linear } from './scale'

interface MatrixProps {
  /** Rows of equal length. */
  values: number[][]
  /** The range of the colours; what lies beyond has the colour of its end. */
  low: number
  high: number
  /** What a value is, with its unit. */
  what: string
  /** Words of a place and its value, "residue 3 against residue 40: 2.1 Å". */
  words: (row: number, column: number, value: number) => string
  onChoose?: (row: number, column: number) => void
}

// From dark to light, told apart in grey too: points of the colour map viridis.
const stops = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
] as const

export function colorAt(share: number): [number, number, number] {
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1)
  const i = Math.min(stops.length - 2, Math.floor(place))
  return [0, 1, 2].map((k) => Math.round(linear([i, i + 1], [stops[i]![k]!, stops[i + 1]![k]!])(place))) as [number, number, number]
}

export function Matrix({ values, low, high, what, words, onChoose }: MatrixProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [at, setAt] = useState<[number, number]>()
  const rows = values.length,
    columns = values[0]?.length ?? 0
  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (!context || rows === 0 || columns === 0) return
    const image = context.createImageData(columns, rows)
    values.forEach((row, i) =>
      row.forEach((value, j) => {
        const [red, green, blue] = colorAt((value - low) / (high - low || 1))
        image.data.set([red, green, blue, 255], (i * columns + j) * 4)
      }),
    )
    context.putImageData(image, 0, 0)
  }, [values, low, high, rows, columns])
  if (rows === 0 || columns === 0) return <p className="text-soft">There are no values.</p>
  const label = `${what}: ${rows} by ${columns} values. Arrow keys read them one by one.`
  const placeOf = (event: React.MouseEvent<HTMLCanvasElement>): [number, number] => {
    const box = event.currentTarget.getBoundingClientRect()
    const within = (share: number, size: number) => Math.min(size - 1, Math.max(0, Math.floor(share * size)))
    return [within((event.clientY - box.top) / box.height, rows), within((event.clientX - box.left) / box.width, columns)]
  }
  const move = (down: number, across: number) =>
    setAt(([row, column] = [0, 0]) => [
      Math.min(rows - 1, Math.max(0, row + down)),
      Math.min(columns - 1, Math.max(0, column + across)),
    ])
  const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }
  return (
    <figure className="min-w-0 max-w-xl">
      <canvas
        ref={canvas}
        width={columns}
        height={rows}
        role="img"
        aria-label={label}
        tabIndex={0}
        className="w-full border border-line [image-rendering:pixelated]"
        onMouseMove={(event) => setAt(placeOf(event))}
        onMouseLeave={() => setAt(undefined)}
        onClick={(event) => onChoose?.(...placeOf(event))}
        onKeyDown={(event) => {
          const step = steps[event.key]
          if (step) {
            event.preventDefault()
            move(step[0] * (event.shiftKey ? 10 : 1), step[1] * (event.shiftKey ? 10 : 1))
          } else if (event.key === 'Enter' && at) onChoose?.(...at)
        }}
      />
      <p role="status" className="min-h-6 text-sm text-soft">
        {at ? words(at[0], at[1], values[at[0]]![at[1]]!) : ''}
      </p>
      <figcaption className="flex items-center gap-2 text-sm">
        <span>{low}</span>
        <span
          aria-hidden="true"
          className="h-3 w-40"
          style={{ background: `linear-gradient(to right, ${stops.map((stop) => `rgb(${stop.join(' ')})`).join(', ')})` }}
        />
        <span>{high}</span>
        <span className="text-soft">{what}</span>
      </figcaption>
    </figure>
  )
}
