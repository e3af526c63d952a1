// Results as files: all of them as the service writes them, or a table of the chosen ones.

import { ApiError, type DockingResult } from '@/api/client'

type Format = 'csv' | 'sdf'

const media: Record<Format, string> = { csv: 'text/csv', sdf: 'chemical/x-mdl-sdfile' }

/** All results of a run as one file. The generated client asks for JSON alone, so this asks by itself. */
export async function exported(runId: string, format: Format): Promise<{ file: Blob; truncated: boolean }> {
  let answer: Response
  try {
    answer = await fetch(`/api/v1/molecular/docking/runs/${encodeURIComponent(runId)}/results`, {
      headers: { Accept: media[format] },
    })
  } catch {
    throw new ApiError(0, { error: 'The service cannot be reached. Try again in a moment.' })
  }
  if (!answer.ok)
    throw new ApiError(
      answer.status,
      (await answer.json().catch(() => ({}))) as { error?: string },
      Number(answer.headers.get('Retry-After')) || undefined,
    )
  return { file: await answer.blob(), truncated: answer.headers.get('X-Truncated') === 'true' }
}

const cells: [string, (one: DockingResult) => string | number | boolean | null][] = [
  ['rank', (one) => one.rank],
  ['ligandId', (one) => one.ligandId],
  ['label', (one) => one.label],
  ['status', (one) => one.status],
  ['bestScoreKcalMol', (one) => one.bestScoreKcalMol],
  ['ligandEfficiency', (one) => one.ligandEfficiency],
  ['cnnScore', (one) => one.cnnScore],
  ['poseCount', (one) => one.poseCount],
  ['passedChecks', (one) => one.passedChecks],
  ['interactions', (one) => (one.interactions ?? []).join('; ')],
  ['canonicalSmiles', (one) => one.canonicalSmiles],
  ['inchiKey', (one) => one.inchiKey],
  ['error', (one) => one.error],
  ['resultId', (one) => one.resultId],
]

/** A table of some results, with the names of columns that the service uses. */
export const tableOf = (results: DockingResult[]): string =>
  [cells.map(([name]) => name), ...results.map((one) => cells.map(([, cell]) => cellText(cell(one))))]
    .map((row) => row.join(',') + '\r\n')
    .join('')

/** Text that a spreadsheet would take for a formula gets an apostrophe before it. */
function cellText(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
