// The form of a simulation.

import { Card, Check, Select, TextField } from '@/design'
import { Choice } from './docking-receptor'
import { useDraft } from './draft'
import { coordinateFormats, dynamicsCommand, type DynamicsDraft, dynamicsPlan, emptyDynamics, topologyFormats } from './dynamics-draft'
import { fieldErrors } from './fields'
import { endsIn, FileField, storing } from './file-field'
import { NewJob, useSubmission } from './frame'
import { usePrice } from './price'
import { StructureField } from './structure-field'

const draftName = 'dynamics'

/** The numbers of the form: what they are called, what is allowed, and which member of the request they make. */
const numbers: [keyof DynamicsDraft & string, string, string, string][] = [
  ['timeNs', 'Length of the run, ns', 'protocol.productionSteps', 'At most 50 million steps.'],
  ['temperatureK', 'Temperature, K', 'protocol.temperatureK', '250 to 350.'],
  ['pressureBar', 'Pressure, bar', 'protocol.pressureBar', '0.5 to 2.'],
  ['timestepFs', 'Time step, fs', 'protocol.timestepFs', '0.5 to 4; 2 is usual.'],
  ['nvtPs', 'Settle at constant volume, ps', 'protocol.equilibration.nvtSteps', 'Before the run.'],
  ['nptPs', 'Settle at constant pressure, ps', 'protocol.equilibration.nptSteps', 'Before the run.'],
  ['frictionPerPs', 'Friction of the thermostat, 1/ps', 'protocol.frictionPerPs', '0.1 to 10.'],
  ['seed', 'Seed', 'protocol.seed', 'Of every random choice, 1 to 2147483647.'],
]
const ofProtein: typeof numbers = [
  ['ph', 'pH', 'protocol.pH', 'At which residues are protonated.'],
  ['ionicStrength', 'Ionic strength, mol/l', 'protocol.ionicStrengthM', '0 to 0.5.'],
]

const within = (path: string) => `openmmRequest.${path}`
const known = [...numbers, ...ofProtein].map(([, , path]) => within(path))
  .concat(['protocol.forceField', 'protocol.waterModel', 'outputs', 'execution.platform', 'input.coordinates', 'input.prmtop'].map(within))
  .concat('sceneFile', 'jobName')

export function NewDynamics() {
  const { draft, set, clear } = useDraft(draftName, emptyDynamics)
  const { plan, estimate } = dynamicsPlan(draft)
  const price = usePrice(estimate)
  const submission = useSubmission(draftName, plan, clear)
  const errors = fieldErrors(submission.error ?? price.error, known)
  const own = draft.kind === 'protein'
  const number = ([name, label, path, hint]: (typeof numbers)[number]) => (
    <TextField
      key={name} label={label} hint={hint} inputMode="decimal" autoComplete="off" value={String(draft[name])}
      error={errors.at(within(path))}
      onChange={(event) => set({ [name]: event.target.value } as Partial<DynamicsDraft>)}
    />
  )
  return (
    <NewJob
      title="New simulation" lead="Simulates a molecule in water with OpenMM, and says whether its averages have settled."
      plan={plan} price={price} submission={submission} error={errors.rest} command={dynamicsCommand(draft)} onClear={clear}
    >
      <Card title="1. Molecule">
        <div className="grid gap-4">
          <Choice
            legend="What is simulated" value={draft.kind}
            onChange={(kind) => set({ kind, structure: undefined, prmtop: undefined })}
            options={[['protein', 'A protein, which gets water and ions'], ['amber', 'An Amber system, as it is']]}
          />
          {own ? (
            <StructureField
              label="Structure" formats={coordinateFormats.protein} hint="PDB or mmCIF, also as .gz." chosen={draft.structure}
              error={errors.at('sceneFile', within('input.coordinates'))} onChange={(structure) => set({ structure })}
            />
          ) : (
            <div className="grid gap-4 sm:grid-cols-2">
              <FileField
                label="Topology" accept={topologyFormats.map((one) => '.' + one).join(',')} hint="prmtop, parm7 or top."
                chosen={draft.prmtop}
                error={errors.at(within('input.prmtop'))} onRemove={() => set({ prmtop: undefined })}
                take={storing((prmtop) => set({ prmtop }), endsIn(topologyFormats))}
              />
              <FileField
                label="Coordinates" accept={coordinateFormats.amber.map((one) => '.' + one).join(',')} hint="inpcrd, rst7 or crd."
                chosen={draft.structure}
                error={errors.at('sceneFile', within('input.coordinates'))} onRemove={() => set({ structure: undefined })}
                take={storing((structure) => set({ structure }), endsIn(coordinateFormats.amber))}
              />
            </div>
          )}
        </div>
      </Card>
      <Card title="2. Protocol">
        <div className="grid gap-4 sm:grid-cols-2">
          {numbers.slice(0, 1).map(number)}
          <TextField
            label="Save a frame every, ps" inputMode="decimal" value={draft.saveEveryPs}
            placeholder="10, or a hundredth of the run" error={errors.at(within('outputs'))}
            onChange={(event) => set({ saveEveryPs: event.target.value })}
          />
          {own ? (
            <>
              <Select
                label="Force field" value={draft.forceField} error={errors.at(within('protocol.forceField'))}
                onChange={(event) => set({ forceField: event.target.value as DynamicsDraft['forceField'] })}
              >
                <option value="amber14">Amber 14</option>
                <option value="amber19">Amber 19</option>
              </Select>
              <Select
                label="Water" value={draft.water} error={errors.at(within('protocol.waterModel'))}
                onChange={(event) => set({ water: event.target.value as DynamicsDraft['water'] })}
              >
                <option value="tip3pfb">TIP3P-FB</option>
                <option value="tip3p">TIP3P</option>
              </Select>
              {ofProtein.map(number)}
            </>
          ) : null}
          {numbers.slice(1).map(number)}
        </div>
      </Card>
      <Card title="3. Machine">
        <div className="grid gap-4 sm:grid-cols-2">
          <Select
            label="Runs on" value={draft.platform} error={errors.at(within('execution.platform'))}
            hint="CUDA and OpenCL need a worker with a GPU."
            onChange={(event) => set({ platform: event.target.value as DynamicsDraft['platform'] })}
          >
            <option value="CPU">CPU</option>
            <option value="CUDA">CUDA</option>
            <option value="OpenCL">OpenCL</option>
          </Select>
          <TextField
            label="Name of the job" value={draft.name} maxLength={512} placeholder="made from the file" error={errors.at('jobName')}
            onChange={(event) => set({ name: event.target.value })}
          />
          <Check
            label="Go on from the last checkpoint when a machine fails" checked={draft.resumable}
            onChange={(event) => set({ resumable: event.target.checked })}
          />
        </div>
      </Card>
    </NewJob>
  )
}
