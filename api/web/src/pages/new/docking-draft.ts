// What the form of a docking holds, and the request that it makes: the one that `molfabric dock` makes of the same choices.

import type { EstimateRequest, SimulationParams, SubmitRequest } from '@/api/client'
import { extensionOf } from '@/uploads'
import type { StoredFile } from './file-field'
import type { Plan } from './frame'
import { priced } from './price'
import { entriesOf, type Ligand, maxLigands, readLines } from './ligands'
import { readLigandPlace, readNumbers, readResidues } from './site'

export interface DockingDraft {
  receptor: 'pdb' | 'file'
  pdbId: string
  file?: StoredFile
  chains: string
  waters: 'none' | 'structural'
  keep: string
  remove: string
  site: 'auto' | 'pocket' | 'ligand' | 'residues' | 'numbers'
  siteLigand: string
  residues: string
  /** The centre and the edges of the box in Å, as they are written. */
  numbers: string[]
  lines: string
  components: { componentId: string; label: string }[]
  files: Extract<Ligand, { kind: 'artifact' }>[]
  redock: boolean
  gate: string
  exhaustiveness: string
  numModes: string
  seed: string
  rankBy: '' | 'vina' | 'cnn'
  picture: 'molstar' | 'cycles' | 'none'
  noReuse: boolean
  name: string
}

export const emptyDocking = (): DockingDraft => ({
  receptor: 'pdb', pdbId: '', chains: '', waters: 'none', keep: '', remove: '', site: 'auto', siteLigand: '', residues: '',
  numbers: ['', '', '', '22', '22', '22'], lines: '', components: [], files: [], redock: false, gate: '', exhaustiveness: 'auto',
  numModes: '9', seed: '', rankBy: '', picture: 'molstar', noReuse: false, name: '',
})

export const pdbIdForm = /^[0-9][A-Za-z0-9]{3}$/

export const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== '')

export const receptorFormat = (filename: string) =>
  (({ pdb: 'pdb', ent: 'pdb', cif: 'mmcif', mmcif: 'mmcif', pdbqt: 'pdbqt' } as const)[extensionOf(filename) as 'pdb'])

/** Every ligand of a draft, in the order of the form. */
export function ligandsOf(draft: DockingDraft): { ligands: Ligand[]; problems: { line: number; words: string }[] } {
  const { ligands, problems } = readLines(draft.lines)
  const components: Ligand[] = draft.components.map((one) => ({ kind: 'ccd', ...one }))
  return { ligands: [...ligands, ...components, ...draft.files], problems }
}

/** What a job is called when its user does not say. */
function nameOf(draft: DockingDraft, ligands: Ligand[]): string {
  const what = ligands.length === 0 ? 'its own ligand' : ligands.length === 1 ? ligands[0]!.label : `${ligands.length} ligands`
  return `${what} into ${receptorTitle(draft)}`.slice(0, 512)
}

export const receptorTitle = (draft: DockingDraft) =>
  draft.receptor === 'pdb' ? draft.pdbId.toUpperCase() : (draft.file?.name ?? '').replace(/\.[^.]+$/, '')

const given = <T>(condition: unknown, members: T): T | Record<string, never> => (condition ? members : {})

function receptorParams(draft: DockingDraft): SimulationParams {
  const chains = words(draft.chains)
  const [keep, remove] = [words(draft.keep.toUpperCase()), words(draft.remove.toUpperCase())]
  return {
    ...given(draft.receptor === 'pdb', { receptorPdbId: draft.pdbId.toUpperCase() }),
    ...given(chains.length, { receptorChains: chains }),
    ...given(draft.waters !== 'none' || keep.length || remove.length, {
      receptorPreparation: {
        ...given(remove.length, { removeComponents: remove }), ...given(keep.length, { retainComponents: keep }),
        ...given(draft.waters !== 'none', { waters: draft.waters }),
      },
    }),
  }
}

function siteParams(draft: DockingDraft, missing: string[]): SimulationParams {
  switch (draft.site) {
    case 'auto':
      return {}
    case 'pocket':
      return { boxSource: 'fpocket' }
    case 'ligand': {
      const place = readLigandPlace(draft.siteLigand)
      if (place) return place
      missing.push('Say which ligand the box lies around, such as STI:A:201.')
      return {}
    }
    case 'residues': {
      const residues = readResidues(draft.residues)
      if (residues) return { pocketResidues: residues }
      missing.push('Say which residues the box lies around, such as A:315, A:381.')
      return {}
    }
    case 'numbers': {
      const numbers = readNumbers(draft.numbers)
      if (numbers) return { boxCenterAngstrom: numbers.center, boxSizeAngstrom: numbers.size }
      missing.push('Write all six numbers of the box.')
      return {}
    }
  }
}

function number(text: string, what: string, missing: string[]): number | undefined {
  if (text.trim() === '') return undefined
  const value = Number(text)
  if (Number.isFinite(value)) return value
  missing.push(`${what}: “${text}” is no number.`)
  return undefined
}

/** What a draft asks for, and what can be priced of it. */
export function dockingPlan(draft: DockingDraft): { plan: Plan; estimate?: EstimateRequest } {
  const missing: string[] = []
  const { ligands, problems } = ligandsOf(draft)
  const known = draft.receptor === 'pdb' ? pdbIdForm.test(draft.pdbId) : draft.file !== undefined
  if (!known) missing.push(draft.receptor === 'pdb' ? 'Name a receptor: four characters such as 1IEP.' : 'Choose the receptor’s file.')
  const site = siteParams(draft, missing)
  if (ligands.length === 0 && !draft.redock) missing.push('Give at least one ligand, or dock the bound one again.')
  if (ligands.length > maxLigands) {
    missing.push(`There are ${ligands.length} ligands; a job takes at most ${maxLigands}. Make several jobs of them.`)
  }
  if (problems.length > 0) missing.push(`Look at the ligands’ line ${problems[0]!.line}: ${problems[0]!.words}`)
  const gate = draft.redock ? number(draft.gate, 'Gate', missing) : undefined
  const [numModes, seed] = [number(draft.numModes, 'Poses kept', missing), number(draft.seed, 'Seed', missing)]
  const rankBy = draft.rankBy || (ligands.length <= 1 ? 'cnn' : undefined)
  const exhaustiveness = draft.exhaustiveness === 'auto' ? 'auto' as const : Number(draft.exhaustiveness)
  const params: SimulationParams = {
    ...receptorParams(draft), ...site, exhaustiveness, ...given(rankBy, { rankBy }), ...given(numModes !== undefined, { numModes }),
    ...given(seed !== undefined, { seed }),
    ...given(draft.redock, { dockingValidation: { redockBound: true, ...given(gate !== undefined, { gateRmsdAngstrom: gate }) } }),
    ...given(draft.picture !== 'molstar', { dockingReport: { picture: draft.picture } }),
    ...given(ligands.length, { ligandLibrary: entriesOf(ligands) }),
  }
  const job = { jobType: 'simulation', simulator: 'autodock-vina' } as const
  const request: SubmitRequest = {
    ...job, jobName: draft.name.trim() || nameOf(draft, ligands), simulationParams: params,
    ...given(draft.noReuse, { noReuse: true }),
  }
  // The service fetches an entry of the Protein Data Bank itself; the scene, which every job has, is then the request.
  const scene = draft.receptor === 'file' ? draft.file?.storageKey : undefined
  const document = scene ? undefined : { name: 'docking.json', text: JSON.stringify(request, null, 1) }
  const plan: Plan = { ...given(missing.length === 0, { request }), scene, document, missing }
  if (!known) return { plan }
  return { plan, estimate: { ...job, simulationParams: params, ...priced(scene, draft.noReuse) } }
}
