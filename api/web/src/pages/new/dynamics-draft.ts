// What the form of a simulation holds, and the request that it makes: the one that `molfabric md` makes of the same choices.

import { type DynamicsArtifact, type DynamicsRequest, type EstimateRequest, newKey, type SubmitRequest } from '@/api/client'
import { extensionOf } from '@/uploads'
import type { StoredFile } from './file-field'
import type { Plan } from './frame'
import { commandLine } from './shell-word'

export interface DynamicsDraft {
  /** Of request and run. */
  id: string
  kind: 'protein' | 'amber'
  structure?: StoredFile
  prmtop?: StoredFile
  timeNs: string
  temperatureK: string
  pressureBar: string
  ph: string
  ionicStrength: string
  forceField: 'amber14' | 'amber19'
  water: 'tip3p' | 'tip3pfb'
  timestepFs: string
  frictionPerPs: string
  nvtPs: string
  nptPs: string
  /** How often a frame is saved; '' for at most a hundredth of the run. */
  saveEveryPs: string
  platform: 'CPU' | 'CUDA' | 'OpenCL'
  seed: string
  resumable: boolean
  name: string
}

export const emptyDynamics = (): DynamicsDraft => ({
  id: newKey(), kind: 'protein', timeNs: '1', temperatureK: '300', pressureBar: '1', ph: '7', ionicStrength: '0.15',
  forceField: 'amber14',
  water: 'tip3pfb', timestepFs: '2', frictionPerPs: '1', nvtPs: '50', nptPs: '100', saveEveryPs: '', platform: 'CPU',
  seed: String(1 + Math.floor(Math.random() * 2 ** 31 - 2)), resumable: true, name: '',
})

export const coordinateFormats = { protein: ['pdb', 'ent', 'cif', 'mmcif'], amber: ['inpcrd', 'rst7', 'crd', 'restrt'] }
export const topologyFormats = ['prmtop', 'parm7', 'top']

/** No image: nobody has asked for one, and the run's provenance says which it was. */
const anyWorkerImage = 'sha256:' + '0'.repeat(64)
const usualSavePs = 10
const [fewestFrames, rowsPerFrame, framesPerCheckpoint, maxStateRows] = [100, 10, 10, 1_000_000]

const numbers = {
  timeNs: 'Length', temperatureK: 'Temperature', pressureBar: 'Pressure', ph: 'pH', ionicStrength: 'Ionic strength',
  timestepFs: 'Time step',
  frictionPerPs: 'Friction', nvtPs: 'Settling at constant volume', nptPs: 'Settling at constant pressure', seed: 'Seed',
} as const

/** How often a run of so many steps writes, as the command line decides it. */
export function intervals(total: number, stepFs: number, savePs?: number): DynamicsRequest['outputs'] {
  const steps = (ps: number) => Math.round((ps * 1000) / stepFs)
  const usual = Math.min(steps(usualSavePs), Math.max(Math.floor(total / fewestFrames), 1))
  const frame = savePs === undefined ? usual : Math.max(steps(savePs), 1)
  const state = frame % rowsPerFrame === 0 && total / (frame / rowsPerFrame) <= maxStateRows ? frame / rowsPerFrame : frame
  return {
    trajectoryIntervalSteps: frame, stateIntervalSteps: state,
    checkpointIntervalSteps: Math.min(frame * framesPerCheckpoint, total),
    analysisIntervalSteps: frame, trajectoryFormat: 'dcd',
  }
}

function artifact(artifactId: string, { name: _, ...file }: StoredFile, format: DynamicsArtifact['format']): DynamicsArtifact {
  return { schema: 'molecule.openmm.artifact/v1', artifactId, ...file, format }
}

function inputOf(draft: DynamicsDraft): DynamicsRequest['input'] | undefined {
  if (!draft.structure) return undefined
  if (draft.kind === 'protein') {
    const format = extensionOf(draft.structure.name).endsWith('cif') ? 'mmcif' : 'pdb'
    return { kind: 'protein', coordinates: artifact('coordinates', draft.structure, format) }
  }
  if (!draft.prmtop) return undefined
  const coordinates = artifact('coordinates', draft.structure, 'inpcrd')
  return { kind: 'amber', prmtop: artifact('prmtop', draft.prmtop, 'prmtop'), coordinates }
}

export function dynamicsPlan(draft: DynamicsDraft): { plan: Plan; estimate?: EstimateRequest } {
  const missing: string[] = []
  const input = inputOf(draft)
  if (!draft.structure) missing.push(draft.kind === 'protein' ? 'Choose the structure.' : 'Choose the coordinates.')
  if (draft.kind === 'amber' && !draft.prmtop) missing.push('Choose the topology.')
  const wrong = Object.entries(numbers).filter(([name]) => {
    const text = draft[name as keyof typeof numbers].trim()
    return text === '' || !Number.isFinite(Number(text))
  })
  missing.push(...wrong.map(([, title]) => `${title}: write a number.`))
  const stepFs = Number(draft.timestepFs)
  const stepsOf = (fs: number) => (stepFs > 0 ? Math.round(fs / stepFs) : 0)
  const total = stepsOf(Number(draft.timeNs) * 1e6)
  if (wrong.length === 0 && total < 1) missing.push('Length: the run has no step.')
  if (!input || wrong.length > 0 || total < 1) return { plan: { missing } }
  const own = draft.kind === 'protein'
  const openmmRequest: DynamicsRequest = {
    schema: 'molecule.openmm.request/v1', requestId: `request-${draft.id}`, runId: `run-${draft.id}`, confirmed: true, input,
    protocol: {
      forceField: own ? draft.forceField : 'amber-prmtop', waterModel: own ? draft.water : 'input-parameters', pH: Number(draft.ph),
      ionicStrengthM: Number(draft.ionicStrength), temperatureK: Number(draft.temperatureK), pressureBar: Number(draft.pressureBar),
      timestepFs: stepFs, frictionPerPs: Number(draft.frictionPerPs), constraints: 'HBonds', nonbondedMethod: 'PME',
      minimization: { enabled: true, maxIterations: 0, toleranceKjMolNm: 10 },
      equilibration: { nvtSteps: stepsOf(Number(draft.nvtPs) * 1000), nptSteps: stepsOf(Number(draft.nptPs) * 1000) },
      productionSteps: total, seed: Number(draft.seed), removeCenterOfMassMotion: true,
    },
    outputs: intervals(total, stepFs, draft.saveEveryPs.trim() === '' ? undefined : Number(draft.saveEveryPs)),
    execution: {
      platform: { name: draft.platform, precision: 'mixed', deviceIndex: draft.platform === 'CPU' ? 'cpu' : '0' },
      workerImageDigest: anyWorkerImage,
    },
  }
  const job = {
    jobType: 'simulation', simulator: 'openmm', simulationParams: { openmmRequest },
    recovery: { mode: draft.resumable ? 'resumable' : 'standard' },
  } satisfies EstimateRequest
  const jobName = draft.name.trim() || `dynamics of ${draft.structure!.name.replace(/\.[^.]+$/, '')}`
  const request: SubmitRequest = { ...job, jobName }
  return { plan: { request, scene: draft.structure!.storageKey, missing }, estimate: job }
}

export function dynamicsCommand(draft: DynamicsDraft): string | undefined {
  if (!draft.structure) return undefined
  const own = draft.kind === 'protein'
  const flags: [string, string][] = [
    ['--prmtop', own ? '' : draft.prmtop?.name ?? ''], ['--time', `${draft.timeNs}ns`], ['--temperature', `${draft.temperatureK}K`],
    ['--pressure', `${draft.pressureBar}bar`], ['--ph', own ? draft.ph : ''], ['--ionic-strength', own ? draft.ionicStrength : ''],
    ['--forcefield', own ? draft.forceField : ''], ['--water', own ? draft.water : ''], ['--timestep', `${draft.timestepFs}fs`],
    ['--friction', draft.frictionPerPs], ['--nvt', `${draft.nvtPs}ps`], ['--npt', `${draft.nptPs}ps`],
    ['--save-every', draft.saveEveryPs.trim() === '' ? '' : `${draft.saveEveryPs}ps`], ['--platform', draft.platform],
    ['--seed', draft.seed], ['--name', draft.name],
  ]
  const given = flags.filter(([, value]) => value !== '')
  return commandLine(['molfabric', 'md', draft.structure.name], draft.resumable ? given : [...given, ['--resumable=false']])
}
