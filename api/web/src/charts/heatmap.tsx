// A table whose cells have colours: kinds of things in rows and columns, few enough to have names. It is a table, so that it reads
// as one; what a colour says a sign in the cell says too.

import type { ReactNode } from 'react'

export interface HeatCell {
  /** A few letters. */
  sign: string
  /** The whole of it, in words. */
  words: string
  color: string
}

interface HeatmapProps {
  caption: string
  corner: string
  columns: { key: string; name: string }[]
  rows: { key: string; name: ReactNode; cells: (HeatCell | undefined)[] }[]
  legend: HeatCell[]
}

export function Heatmap({ caption, corner, columns, rows, legend }: HeatmapProps) {
  return (
    <figure className="min-w-0">
      <div role="region" aria-label={caption} tabIndex={0} className="relative overflow-auto">
        <table className="border-separate border-spacing-px text-xs">
          <caption className="sr-only">{caption}</caption>
          <thead>
            <tr>
              <th scope="col" className="sticky left-0 bg-card pr-2 text-left align-bottom font-medium text-soft">
                {corner}
              </th>
              {columns.map((column) => (
                <th key={column.key} scope="col" className="h-24 min-w-7 align-bottom font-normal">
                  <span className="inline-block rotate-180 whitespace-nowrap [writing-mode:vertical-rl]">{column.name}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row" className="sticky left-0 max-w-48 truncate bg-card pr-2 text-left font-normal">
                  {row.name}
                </th>
                {row.cells.map((cell, i) => (
                  <td
                    key={columns[i]!.key}
                    title={cell?.words}
                    className={`h-7 min-w-7 text-center ${cell ? '' : 'bg-page'}`}
                    style={cell ? { background: cell.color, color: letters(cell.color) } : undefined}
                  >
                    {cell ? (
                      <>
                        <span aria-hidden="true">{cell.sign}</span>
                        <span className="sr-only">{cell.words}</span>
                      </>
                    ) : (
                      <span className="sr-only">none</span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <figcaption>
        <ul aria-label="What the signs mean" className="mt-2 flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {legend.map((one) => (
            <li key={one.words} className="flex items-center gap-1.5">
              <span
                aria-hidden="true"
                className="grid h-6 min-w-6 place-items-center px-1 text-xs"
                style={{ background: one.color, color: letters(one.color) }}
              >
                {one.sign}
              </span>
              <span className="sr-only">{one.sign}: </span>
              {one.words}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  )
}

/** Black or white, whichever is read better on a colour "#rrggbb" (the contrast of WCAG 2.2). */
export function letters(color: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue
  return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? '#000000' : '#ffffff'
}
