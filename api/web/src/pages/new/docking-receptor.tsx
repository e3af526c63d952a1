// Step 1 of a docking: what is docked into.

import type { ComponentFate, Forecast } from '@/api/client'
import { Card, Select, TextField } from '@/design'
import { type DockingDraft, receptorFormat, words } from './docking-draft'
import type { Changes } from './draft'
import type { FieldErrors } from './fields'
import { FileField, storing } from './file-field'
import { Fates } from './forecast'

export interface StepProps {
  draft: DockingDraft
  set: (changes: Changes<DockingDraft>) => void
  errors: FieldErrors
  forecast?: Forecast
}

interface ChoiceProps<T extends string> {
  legend: string
  value: T
  options: [T, string][]
  onChange: (value: T) => void
}

export function Choice<T extends string>({ legend, value, options, onChange }: ChoiceProps<T>) {
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{legend}</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {options.map(([option, label]) => (
          <label key={option} className="flex min-h-8 items-center gap-2 text-sm">
            <input
              type="radio" name={legend} value={option} checked={value === option} onChange={() => onChange(option)}
              className="size-4 accent-accent"
            />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  )
}

/** Names with one more, or without it. */
function turned(list: string, name: string, put: boolean): string {
  const others = words(list.toUpperCase()).filter((one) => one !== name)
  return (put ? [...others, name] : others).join(', ')
}

export function changeOf(draft: DockingDraft, fate: ComponentFate): Partial<DockingDraft> {
  if (fate.option === 'waters') return { waters: 'structural' }
  const keep = fate.option === 'retainComponents'
  return { keep: turned(draft.keep, fate.component, keep), remove: turned(draft.remove, fate.component, !keep) }
}

export function ReceptorStep({ draft, set, errors, forecast }: StepProps) {
  return (
    <Card title="1. Receptor">
      <div className="grid gap-4">
        <Choice
          legend="Where the structure comes from" value={draft.receptor} onChange={(receptor) => set({ receptor })}
          options={[['pdb', 'Protein Data Bank'], ['file', 'A file of mine']]}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          {draft.receptor === 'pdb' ? (
            <TextField
              label="PDB id" value={draft.pdbId} maxLength={4} autoComplete="off" spellCheck={false} placeholder="1IEP"
              hint="Four characters. 1IEP is the kinase ABL with imatinib bound." error={errors.at('receptorPdbId')}
              onChange={(event) => set({ pdbId: event.target.value.trim() })}
            />
          ) : (
            <FileField
              label="Structure" accept=".pdb,.ent,.cif,.mmcif,.pdbqt,.gz" chosen={draft.file}
              onRemove={() => set({ file: undefined })}
              hint="PDB, mmCIF or PDBQT, also as .gz. PDB and mmCIF are protonated and prepared, PDBQT is taken as it is."
              error={errors.at('sceneFile', 'receptorArtifact')}
              take={storing((file) => set({ file }), (name) => {
                if (!receptorFormat(name)) throw new Error(`${name}: a receptor is a .pdb, .cif or .pdbqt file. Choose one of these.`)
              })}
            />
          )}
          <TextField
            label="Chains" value={draft.chains} placeholder="all" autoComplete="off" spellCheck={false}
            hint="Such as A, B. Empty: all of them." error={errors.at('receptorChains')}
            onChange={(event) => set({ chains: event.target.value })}
          />
        </div>
        {forecast ? <Fates forecast={forecast} onChange={(fate) => set(changeOf(draft, fate))} /> : (
          <p
            className="text-sm text-soft"
          >Once the structure is known here, you see what of it stays in the receptor and what is taken out.</p>
        )}
        <details open={draft.keep + draft.remove !== '' || draft.waters !== 'none'}>
          <summary className="min-h-6 cursor-pointer text-sm text-accent">Say yourself what stays and goes</summary>
          <div className="mt-2 grid gap-4 sm:grid-cols-3">
            <TextField
              label="Keep" value={draft.keep} placeholder="ZN" autoComplete="off" spellCheck={false} hint="Components that stay."
              error={errors.at('receptorPreparation.retainComponents')} onChange={(event) => set({ keep: event.target.value })}
            />
            <TextField
              label="Take out" value={draft.remove} placeholder="SO4" autoComplete="off" spellCheck={false}
              hint="Components that go."
              error={errors.at('receptorPreparation.removeComponents')} onChange={(event) => set({ remove: event.target.value })}
            />
            <Select
              label="Waters" value={draft.waters} error={errors.at('receptorPreparation.waters')}
              onChange={(event) => set({ waters: event.target.value as DockingDraft['waters'] })}
            >
              <option value="none">All go</option>
              <option value="structural">Keep those that hold the site together</option>
            </Select>
          </div>
        </details>
      </div>
    </Card>
  )
}
