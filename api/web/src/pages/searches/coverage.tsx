// Where in a query the alignments of a hit lie, as a bar and in words.

import type { BlastHit } from '@/api/client'

/** By bits, in the steps of BLAST's own graphic: below 40, 50, 80, 200, and above. The higher, the fuller the bar. */
const steps = [40, 50, 80, 200]
const fullness = [0.3, 0.45, 0.6, 0.8, 1]

export function Coverage({ hit, length }: { hit: BlastHit; length: number | null }) {
  const stretches = hit.hsps.map((hsp) => ({
    rank: hsp.rank, from: Math.min(hsp.queryFrom, hsp.queryTo), to: Math.max(hsp.queryFrom, hsp.queryTo),
    level: steps.filter((step) => hsp.bitScore >= step).length,
  }))
  const words =
    stretches.slice(0, 3).map((one) => `${one.from}–${one.to}`).join(', ') +
    (stretches.length > 3 ? ` and ${stretches.length - 3} more` : '')
  return (
    <div className="min-w-40">
      {length ? (
        <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" className="h-2.5 w-full">
          <rect y="2.5" width="100" height="1" className="fill-line" />
          {stretches.toReversed().map((one) => (
            <rect key={one.rank} x={(100 * (one.from - 1)) / length}
              width={Math.max((100 * (one.to - one.from + 1)) / length, 0.4)} height="6" className="fill-accent"
              fillOpacity={fullness[one.level]} />
          ))}
        </svg>
      ) : null}
      <span className="text-xs text-soft">{words}</span>
    </div>
  )
}
