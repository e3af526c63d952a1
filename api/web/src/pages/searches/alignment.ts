// Alignments as BLAST's own report has them, and its figures as it writes them.

import type { BlastHsp } from '@/api/client'

const blockColumns = 60

export function evalueText(value: number | null): string {
  if (value === null) return '–'
  if (value < 1e-180) return '0.0'
  // Exponents have two digits at least, as in BLAST's report.
  if (value < 0.0009) return value.toExponential(2).replace(/e-(\d)$/, 'e-0$1')
  if (value < 0.1) return value.toFixed(3)
  if (value < 1) return value.toFixed(2)
  return value < 10 ? value.toFixed(1) : value.toFixed(0)
}

export function bitsText(value: number | null): string {
  if (value === null) return '–'
  if (value > 99_999) return value.toExponential(3)
  return value > 99.9 ? String(Math.trunc(value)) : value.toFixed(1)
}

/** An alignment's figures in a line. */
export function said(hsp: BlastHsp): string {
  const percent = Math.round(hsp.identityPercent)
  const parts = [
    `${bitsText(hsp.bitScore)} bits (${hsp.rawScore})`, `E ${evalueText(hsp.evalue)}`,
    `identities ${hsp.identities}/${hsp.alignmentLength} (${percent} %)`,
  ]
  if (!hsp.queryStrand) parts.push(`positives ${hsp.positives}`)
  parts.push(`gaps ${hsp.gaps}`)
  if (hsp.queryStrand && hsp.subjectStrand) parts.push(`strand ${hsp.queryStrand}/${hsp.subjectStrand}`)
  return parts.join(', ')
}

/** Counts the positions of a sequence along an alignment, down on the minus strand. */
function ruler(from: number, to: number) {
  const step = to < from ? -1 : 1
  let next = from
  return (columns: string): [first: number, last: number] => {
    const letters = columns.replaceAll('-', '').length
    const first = next
    next += letters * step
    const last = next - step
    return letters === 0 ? [last, last] : [first, last]
  }
}

/** The alignment in blocks of columns, each with the positions of its first and its last letter. */
export function blocks(hsp: BlastHsp): string {
  const query = ruler(hsp.queryFrom, hsp.queryTo)
  const subject = ruler(hsp.subjectFrom, hsp.subjectTo)
  const digits =
    Math.max(...[hsp.queryFrom, hsp.queryTo, hsp.subjectFrom, hsp.subjectTo].map((position) => String(position).length))
  const line = (name: string, columns: string,
    [first, last]: [number, number]) => `${name}  ${String(first).padEnd(digits)}  ${columns}  ${last}`
  const parts: string[] = []
  for (let from = 0; from < hsp.queryAlignment.length; from += blockColumns) {
    const to = from + blockColumns
    const above = hsp.queryAlignment.slice(from, to)
    const below = hsp.subjectAlignment.slice(from, to)
    const between = ' '.repeat('Query  '.length + digits + 2) + hsp.midline.slice(from, to)
    parts.push([line('Query', above, query(above)), between.trimEnd(), line('Sbjct', below, subject(below))].join('\n'))
  }
  return parts.join('\n\n')
}
