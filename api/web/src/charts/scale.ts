// Scales of axes. Pure.

/** Round numbers from low to high, about so many. */
export function ticks(low: number, high: number, about: number): number[] {
  if (!(high > low)) return [low]
  const rough = (high - low) / Math.max(1, about)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough)!
  const first = Math.ceil(low / step - 1e-9),
    last = Math.floor(high / step + 1e-9)
  // Multiplied, not added up: 0.1 three times is not 0.3.
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

export const linear = (from: [number, number], to: [number, number]) => (x: number) =>
  to[0] + ((x - from[0]) / (from[1] - from[0] || 1)) * (to[1] - to[0])

export interface Bin {
  from: number
  to: number
  count: number
}

/** Counts of values in bins with round edges; the last bin holds its upper edge. */
export function bins(values: number[], about = 20): Bin[] {
  if (values.length === 0) return []
  const low = values.reduce((a, b) => Math.min(a, b)),
    high = values.reduce((a, b) => Math.max(a, b))
  const edges = ticks(low, high, about)
  const step = edges.length > 1 ? edges[1]! - edges[0]! : 1
  const first = Math.floor(low / step + 1e-9)
  const many = Math.max(1, Math.ceil(high / step - 1e-9) - first)
  const found = Array.from({ length: many }, (_, i) => ({
    from: Number(((first + i) * step).toPrecision(12)),
    to: Number(((first + i + 1) * step).toPrecision(12)),
    count: 0,
  }))
  for (const value of values) found[Math.min(many - 1, Math.max(0, Math.floor((value - found[0]!.from) / step + 1e-9)))]!.count++
  return found
}
