// Step 2 of a docking: where the search happens.

import type { KeyboardEvent, ReactNode } from 'react'
import { Button, Card, Select, TextField } from '@/design'
import type { DockingDraft } from './docking-draft'
import type { StepProps } from './docking-receptor'
import { boxWords, edges } from './forecast'
import { moved, written } from './site'

const nudge = 0.5
const largeNudge = 5

const places: [DockingDraft['site'], string][] = [
  ['auto', 'Around the ligand that is bound, else the best pocket'], ['pocket', 'Around the best pocket that fpocket finds'],
  ['ligand', 'Around a ligand that I name'], ['residues', 'Around residues that I name'], ['numbers', 'A box in numbers'],
]

export function SiteStep({ draft, set, errors, forecast, view }: StepProps & { view?: ReactNode }) {
  const box = forecast?.box
  const boxError = errors.at('boxCenterAngstrom', 'boxSizeAngstrom', 'boxSource', 'box')
  return (
    <Card title="2. Site">
      <div className="grid gap-4">
        <Select
          label="Where to dock" value={draft.site} error={draft.site === 'numbers' ? undefined : boxError}
          onChange={(event) => set({ site: event.target.value as DockingDraft['site'] })}
        >
          {places.map(([site, label]) => <option key={site} value={site}>{label}</option>)}
        </Select>
        {draft.site === 'ligand' ? (
          <TextField
            label="Ligand of the structure" value={draft.siteLigand} placeholder="STI:A:201" autoComplete="off" spellCheck={false}
            hint="Component, chain and number. Leave the end out where there is only one."
            error={errors.at('pocketLigand', 'pocketLigandChain', 'pocketLigandResidue')}
            onChange={(event) => set({ siteLigand: event.target.value })}
          />
        ) : null}
        {draft.site === 'residues' ? (
          <TextField
            label="Residues" value={draft.residues} placeholder="A:315, A:381" autoComplete="off" spellCheck={false}
            hint="Chain and number as in the structure, an insertion code behind the number." error={errors.at('pocketResidues')}
            onChange={(event) => set({ residues: event.target.value })}
          />
        ) : null}
        {draft.site === 'numbers' ? <Numbers draft={draft} set={set} error={boxError} /> : null}
        {box ? (
          <div className="flex flex-wrap items-center gap-2 text-sm">
            <p>{boxWords(box)}</p>
            {draft.site !== 'numbers' && box.centerAngstrom && box.sizeAngstrom ? (
              <Button
                kind="quiet"
                onClick={() => set({ site: 'numbers', numbers: written([...box.centerAngstrom!, ...edges(box.sizeAngstrom!)]) })}
              >Change it in numbers</Button>
            ) : null}
          </div>
        ) : null}
        {view}
      </div>
    </Card>
  )
}

const axes = ['x', 'y', 'z']

function Numbers({ draft, set, error }: { draft: DockingDraft; set: StepProps['set']; error?: string }) {
  const change = (i: number, text: string) => set({ numbers: draft.numbers.map((before, at) => (at === i ? text : before)) })
  const keys = (i: number) => (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return
    event.preventDefault()
    change(i, moved(draft.numbers[i] ?? '', (event.key === 'ArrowUp' ? 1 : -1) * (event.shiftKey ? largeNudge : nudge)))
  }
  const rows: [string, number][] = [['Centre', 0], ['Edge', 3]]
  return (
    <div className="grid gap-2">
      {rows.map(([title, first]) => (
        <div key={title} className="grid grid-cols-3 gap-2">
          {axes.map((axis, i) => (
            <TextField
              key={axis} label={`${title} ${axis}, Å`} inputMode="decimal" autoComplete="off" value={draft.numbers[first + i] ?? ''}
              onChange={(event) => change(first + i, event.target.value)} onKeyDown={keys(first + i)}
              aria-invalid={error ? true : undefined}
            />
          ))}
        </div>
      ))}
      <p
        className="text-sm text-soft"
      >The arrow keys move a number by 0.5 Å, with Shift by 5 Å. An edge is 1 to 100 Å; 20 to 26 suits most ligands.</p>
      {error ? <p role="alert" className="text-sm text-bad">{error}</p> : null}
    </div>
  )
}
