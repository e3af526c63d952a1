// Which of the best ligands touches which residue.

import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { DockingResult } from '@/api/client'
import { type HeatCell, Heatmap } from '@/charts'
import { Button } from '@/design'
import { contactKind, contactKinds } from '@/viewer/contacts'
import { interactionOf, residueOf } from './filter'

const mostLigands = 30,
  mostResidues = 40

/** Contacts from what says most to what says least; a cell has the colour of its first. */
const order = [
  'salt_bridge',
  'metal_complex',
  'hydrogen_bond',
  'halogen_bond',
  'water_bridge',
  'pi_cation',
  'pi_stacking',
  'hydrophobic',
]

export interface InteractionMapData {
  columns: { key: string; name: string }[]
  rows: { result: DockingResult; cells: (HeatCell | undefined)[] }[]
}

/** The best ligands against the residues that most of them touch, in the order of the chains. Pure. */
export function interactionMap(results: DockingResult[]): InteractionMapData {
  const best = results
    .filter((one) => one.rank !== null && one.interactions)
    .sort((a, b) => a.rank! - b.rank!)
    .slice(0, mostLigands)
  const touching = new Map<string, { name: string; chain: string; number: number; by: number }>()
  const byResidue = (one: DockingResult) => {
    const kinds = new Map<string, Set<string>>()
    for (const key of one.interactions!) {
      const { chain, residue, type } = interactionOf(key)
      const place = `${chain}:${residue}`
      kinds.set(place, (kinds.get(place) ?? new Set()).add(type))
      if (!touching.has(place))
        touching.set(place, { name: `${residueOf(key)} ${chain}`, chain, number: Number.parseInt(residue, 10), by: 0 })
    }
    for (const place of kinds.keys()) touching.get(place)!.by++
    return kinds
  }
  const found = best.map((result) => ({ result, kinds: byResidue(result) }))
  const columns = [...touching]
    .sort(([, a], [, b]) => b.by - a.by)
    .slice(0, mostResidues)
    .sort(([, a], [, b]) => a.chain.localeCompare(b.chain) || a.number - b.number)
    .map(([key, { name }]) => ({ key, name }))
  return { columns, rows: found.map(({ result, kinds }) => ({ result, cells: columns.map(({ key }) => cellOf(kinds.get(key))) })) }
}

function cellOf(types: Set<string> | undefined): HeatCell | undefined {
  if (!types) return undefined
  const sorted = [...types].sort((a, b) => order.indexOf(a) - order.indexOf(b)).map(contactKind)
  return {
    sign: sorted.map((kind) => kind.sign).join(''),
    words: sorted.map((kind) => kind.name).join(', '),
    color: sorted[0]!.color,
  }
}

export function InteractionMap({ results }: { results: DockingResult[] }) {
  const [shown, setShown] = useState(false)
  const map = useMemo(() => (shown ? interactionMap(results) : undefined), [shown, results])
  if (!map) {
    return (
      <>
        <p className="mb-2 text-sm text-soft">Which residues the best {mostLigands} ligands touch, and how.</p>
        <Button onClick={() => setShown(true)}>Show the map</Button>
      </>
    )
  }
  if (map.rows.length === 0)
    return <p className="text-soft">No best pose has been analysed yet. The map fills while the job runs.</p>
  return (
    <Heatmap
      caption={`Contacts of the best ${map.rows.length} ligands, by residue`}
      corner="Ligand"
      columns={map.columns}
      rows={map.rows.map(({ result, cells }) => ({
        key: result.resultId,
        cells,
        name: (
          <>
            {result.rank}.{' '}
            <Link to="/ligands/$resultId" params={{ resultId: result.resultId }}>
              {result.label}
            </Link>
          </>
        ),
      }))}
      legend={contactKinds.map(contactKind).map(({ sign, name, color }) => ({ sign, words: name, color }))}
    />
  )
}
