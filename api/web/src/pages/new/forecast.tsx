// What a docking would be done into, in words: the box, and what of the structure stays and goes.

import type { ComponentFate, Forecast } from '@/api/client'
import { Button } from '@/design'

const sources: Record<Forecast['box']['source'], string> = {
  explicit: 'as you have given it', ligandFile: 'around the ligand of your file', pocketLigand: 'around a ligand of the structure',
  pocketResidues: 'around the residues that you have named',
  fpocket: 'around the best pocket, which is looked for when the job runs',
}

const triple = (numbers: readonly number[], between: string) => numbers.map((n) => n.toFixed(1)).join(between)

/** The edges of a box; one number is a cube. */
export const edges = (size: number | [number, number, number]): [number, number, number] =>
  typeof size === 'number' ? [size, size, size] : size

export function boxWords(box: Forecast['box']): string {
  const { ligand } = box
  const named = ligand && `${ligand.componentId} ${ligand.chain}:${ligand.residue}${ligand.insertionCode ?? ''}`
  const place = named ? `around ${named} of the structure` : sources[box.source]
  if (!box.centerAngstrom || !box.sizeAngstrom) return `The box lies ${place}.`
  return `The box is ${triple(edges(box.sizeAngstrom), ' × ')} Å, centred at ${triple(box.centerAngstrom, ', ')} Å, ${place}.`
}

function fateWords(fate: ComponentFate): string {
  const name = fate.name ? `${fate.component} (${fate.name})` : fate.component
  const where = fate.count > 1 ? `, ${fate.count} of them` : fate.residues?.[0] ? ` ${fate.residues[0]}` : ''
  return `${name}${where}: ${fate.why}`
}

interface Props {
  forecast: Forecast
  /** Turns the fate of a component round. */
  onChange: (fate: ComponentFate) => void
}

export function Fates({ forecast, onChange }: Props) {
  const groups = [
    { title: 'Stays in the receptor', fates: forecast.components.filter((fate) => fate.status === 'kept') },
    { title: 'Is taken out', fates: forecast.components.filter((fate) => fate.status === 'removed') },
  ]
  return (
    <div className="grid gap-3 text-sm">
      {forecast.notes.map((note) => <p key={note} className="first-letter:uppercase">{note}.</p>)}
      {forecast.components.length === 0 ? <p>The structure holds its chains and nothing else.</p> : null}
      {groups.filter((group) => group.fates.length > 0).map((group) => (
        <div key={group.title}>
          <h3 className="font-medium">{group.title}</h3>
          <ul className="mt-1 grid gap-1">
            {group.fates.map((fate) => (
              <li
                key={fate.component + fate.status + (fate.residues?.[0] ?? '')}
                className="flex flex-wrap items-baseline justify-between gap-x-3 border-t border-line pt-1"
              >
                <span className="min-w-0 flex-1 basis-60 wrap-anywhere">{fateWords(fate)}</span>
                {fate.option ? (
                  <Button
                    kind="quiet" onClick={() => onChange(fate)} aria-label={`${change(fate)}: ${fate.component}`}
                  >{change(fate)}</Button>
                ) : null}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  )
}

const change = (fate: ComponentFate) =>
  fate.option === 'waters' ? 'Keep those that hold the site together' : fate.option === 'retainComponents' ? 'Keep it' : 'Take it out'
