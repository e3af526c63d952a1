// Columns of the table of results.

import { Link } from '@tanstack/react-router'
import {
  createColumnHelper,
  createSortedRowModel,
  rowSelectionFeature,
  rowSortingFeature,
  sortFn_alphanumeric,
  tableFeatures,
} from '@tanstack/react-table'
import type { DockingResult } from '@/api/client'
import { Depiction } from '@/depict'
import { State } from '@/design'
import { keyContacts, keyWords } from './filter'

export const features = tableFeatures({
  rowSortingFeature,
  rowSelectionFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric },
})

const helper = createColumnHelper<typeof features, DockingResult>()

export const figure = (value: number | null | undefined, places: number) =>
  value == null ? '–' : value.toFixed(places).replace('-', '−')

const checkWords = (passed: boolean | null) => (passed === null ? '–' : passed ? '✓ passed' : '✗ failed')

// Numbers that are not there yet go last, whichever way a column is sorted.
const numeric = { sortUndefined: 'last' as const }

export const columns = helper.columns([
  helper.display({
    id: 'structure',
    header: 'Structure',
    cell: ({ row }) => <Depiction smiles={row.original.canonicalSmiles} name={row.original.label} width={104} height={68} />,
  }),
  helper.accessor((one) => one.rank ?? undefined, {
    id: 'rank',
    header: 'Rank',
    cell: ({ row }) => row.original.rank ?? '–',
    ...numeric,
  }),
  helper.accessor('label', {
    id: 'name',
    header: 'Name',
    sortFn: 'alphanumeric',
    cell: ({ row }) => (
      <Link
        to="/ligands/$resultId"
        params={{ resultId: row.original.resultId }}
        tabIndex={-1}
        className="line-clamp-2 wrap-anywhere"
      >
        {row.original.label}
      </Link>
    ),
  }),
  helper.accessor((one) => one.bestScoreKcalMol ?? undefined, {
    id: 'score',
    header: 'Best score, kcal/mol',
    cell: ({ row }) => figure(row.original.bestScoreKcalMol, 2),
    ...numeric,
  }),
  helper.accessor((one) => one.ligandEfficiency ?? undefined, {
    id: 'efficiency',
    header: 'Efficiency, a heavy atom',
    cell: ({ row }) => figure(row.original.ligandEfficiency, 3),
    sortDescFirst: true,
    ...numeric,
  }),
  helper.accessor((one) => one.cnnScore ?? undefined, {
    id: 'cnn',
    header: 'CNN score',
    cell: ({ row }) => figure(row.original.cnnScore, 2),
    sortDescFirst: true,
    ...numeric,
  }),
  helper.accessor((one) => (one.passedChecks === null ? undefined : Number(one.passedChecks)), {
    id: 'checks',
    header: 'Checks',
    sortDescFirst: true,
    ...numeric,
    cell: ({ row }) => (
      <span className={row.original.passedChecks === false ? 'text-bad' : row.original.passedChecks ? 'text-good' : ''}>
        {checkWords(row.original.passedChecks)}
      </span>
    ),
  }),
  helper.display({ id: 'contacts', header: 'Key contacts', cell: ({ row }) => <Contacts keys={row.original.interactions} /> }),
  helper.accessor('status', { id: 'state', header: 'State', cell: ({ row }) => <ResultState result={row.original} /> }),
])

/** Widths of the columns, the box to choose with first. */
export const gridColumns = '2.25rem 7.25rem 3rem minmax(7rem, 2fr) 5.25rem 5.25rem 3.75rem 5.25rem minmax(8rem, 3fr) 6.75rem'

function Contacts({ keys }: { keys: string[] | null }) {
  if (!keys) return '–'
  const { words, more } = keyContacts(keys, 4)
  const all = keys.map(keyWords).join('; ')
  return (
    <span className="line-clamp-2 text-xs" title={all}>
      {words.join(', ') || 'hydrophobic ones alone'}
      {more ? ` and ${more} more` : ''}
    </span>
  )
}

export function ResultState({ result }: { result: Pick<DockingResult, 'status' | 'failureStage' | 'error'> }) {
  return (
    <span title={result.error ?? undefined}>
      <State status={result.status} />
      {result.failureStage ? <span className="block text-xs text-soft">at {result.failureStage.replaceAll('_', ' ')}</span> : null}
    </span>
  )
}
