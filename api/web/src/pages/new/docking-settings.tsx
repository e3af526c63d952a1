// Step 4 of a docking: how it is done.

import { Card, Select, TextField } from '@/design'
import type { DockingDraft } from './docking-draft'
import type { StepProps } from './docking-receptor'

export function SettingsStep({ draft, set, errors }: StepProps) {
  return (
    <Card title="4. Settings">
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label="Search effort (exhaustiveness)" value={draft.exhaustiveness} error={errors.at('exhaustiveness')}
          hint="Automatic goes on until two independent searches agree, and says whether they did."
          onChange={(event) => set({ exhaustiveness: event.target.value })}
        >
          <option value="auto">Automatic</option>
          <option value="8">8, quick</option>
          <option value="16">16</option>
          <option value="32">32, thorough</option>
        </Select>
        <Select
          label="Rank by" value={draft.rankBy} error={errors.at('rankBy')}
          onChange={(event) => set({ rankBy: event.target.value as DockingDraft['rankBy'] })}
          hint="The network finds the crystal’s pose more often; which of several ligands binds best it was not shown to tell."
        >
          <option value="">The network for one ligand, Vina’s score for several</option>
          <option value="vina">Vina’s score</option>
          <option value="cnn">GNINA’s network</option>
        </Select>
        <TextField
          label="Poses kept a ligand" inputMode="numeric" value={draft.numModes} hint="1 to 100." error={errors.at('numModes')}
          onChange={(event) => set({ numModes: event.target.value })}
        />
        <TextField
          label="Seed" inputMode="numeric" value={draft.seed} placeholder="1"
          hint="One seed and the same inputs give the same poses."
          error={errors.at('seed')} onChange={(event) => set({ seed: event.target.value })}
        />
        <Select
          label="Picture of the report" value={draft.picture} error={errors.at('dockingReport')}
          onChange={(event) => set({ picture: event.target.value as DockingDraft['picture'] })}
        >
          <option value="molstar">Mol*</option>
          <option value="cycles">Cycles, ray-traced: six times the work</option>
          <option value="none">None</option>
        </Select>
        <TextField
          label="Name of the job" value={draft.name} maxLength={512} placeholder="made from receptor and ligands"
          error={errors.at('jobName')} onChange={(event) => set({ name: event.target.value })}
        />
      </div>
    </Card>
  )
}
