// What the form of a rendering holds, and the request that it makes: of molecules with Mol* or Cycles, of Blender scenes with Cycles.

import type { EstimateRequest, SubmitRequest } from '@/api/client'
import { extensionOf } from '@/uploads'
import type { StoredFile } from './file-field'
import type { Plan } from './frame'
import type { ToPrice } from './price'
import { commandLine } from './shell-word'

export interface RenderingDraft {
  file?: StoredFile
  assets: StoredFile[]
  engine: 'molstar' | 'cycles'
  size: string
  samples: string
  motion: 'still' | 'turntable' | 'timeline' | 'states'
  turntableFrames: string
  /** Of a Blender scene, such as 1-48. */
  frames: string
  video: '' | 'mp4' | 'webm'
  fps: string
  transparent: boolean
  background: string
  outline: boolean
  resumable: boolean
  noReuse: boolean
  name: string
}

export const emptyRendering = (): RenderingDraft => ({
  assets: [], engine: 'molstar', size: '1920x1080', samples: '', motion: 'still', turntableFrames: '48', frames: '1', video: '',
  fps: '24',
  transparent: false, background: '', outline: false, resumable: false, noReuse: false, name: '',
})

export const sceneFormats = ['mvsj', 'mvsx', 'blend', 'cif', 'mmcif', 'bcif', 'pdb', 'ent', 'pdbqt', 'sdf', 'mol', 'mol2', 'gro', 'xyz']

export const isBlend = (draft: RenderingDraft) => extensionOf(draft.file?.name ?? '') === 'blend'
export const isScene = (draft: RenderingDraft) => ['mvsj', 'mvsx'].includes(extensionOf(draft.file?.name ?? ''))

const sizeForm = /^(\d{1,5})\s*[xX×]\s*(\d{1,5})$/

function count(text: string, what: string, missing: string[]): number | undefined {
  if (text.trim() === '') return undefined
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  missing.push(`${what}: “${text}” is no number above 0.`)
  return undefined
}

/** The parameters, all of them texts; those that are as the service chooses are left out. */
function parametersOf(draft: RenderingDraft): Record<string, string> {
  const parameters: Record<string, string> = {}
  if (isBlend(draft)) {
    parameters.Frames = draft.frames.trim() || '1'
    if (draft.video) parameters.Video = draft.video
    return parameters
  }
  if (draft.motion !== 'still') parameters.Animation = draft.motion
  else if (!isScene(draft)) parameters.Animation = 'none'
  if (draft.motion === 'turntable') parameters.TurntableFrames = draft.turntableFrames
  if (draft.video && draft.motion !== 'still') parameters.Video = draft.video
  if (draft.transparent) parameters.Transparent = 'true'
  if (draft.background.trim()) parameters.Background = draft.background.trim()
  if (draft.outline && draft.engine === 'molstar') parameters.Outline = 'true'
  return parameters
}

export function renderingPlan(draft: RenderingDraft): { plan: Plan; estimate?: ToPrice } {
  const missing: string[] = []
  const blend = isBlend(draft)
  if (!draft.file) missing.push('Choose the scene or the structure.')
  const size = sizeForm.exec(draft.size.trim())
  if (!size && !(blend && draft.size.trim() === '')) missing.push('Size: write width and height in pixels, such as 1920x1080.')
  const [samples, fps] = [count(draft.samples, 'Samples', missing), count(draft.fps, 'Frames a second', missing)]
  const traced = blend || draft.engine === 'cycles'
  const metadata = {
    ...(blend ? { software: 'cycles' } : { renderEngine: draft.engine }),
    ...(size ? { resolution: `${Number(size[1])}x${Number(size[2])}` } : {}),
    ...(fps !== undefined && (blend ? draft.video : draft.motion !== 'still') ? { fps } : {}),
    ...(samples !== undefined && traced ? { samples } : {}),
  }
  const job = {
    jobType: blend ? 'render' : 'molecular', metadata, parameters: parametersOf(draft),
    recovery: { mode: draft.resumable ? 'resumable' : 'standard' },
  } satisfies EstimateRequest
  const attachments = draft.assets.map((asset) => asset.storageKey)
  const what = blend ? `frames ${job.parameters.Frames}` : draft.motion === 'still' ? 'picture' : draft.motion
  const title = `${what} of ${draft.file?.name ?? ''}`
  const request: SubmitRequest = {
    ...job, jobName: (draft.name.trim() || title).slice(0, 512), ...(attachments.length > 0 ? { attachments } : {}),
    ...(blend ? { outputFormat: 'PNG' } : {}), ...(draft.noReuse ? { noReuse: true } : {}),
  }
  const plan: Plan = { ...(missing.length === 0 ? { request } : {}), scene: draft.file?.storageKey, missing }
  // An estimate has no attachments, without which a scene that refers to files is refused.
  const alone = draft.assets.length === 0 ? draft.file?.storageKey : undefined
  return { plan, estimate: size || blend ? { ...job, sceneFile: alone, noReuse: draft.noReuse } : undefined }
}

export function renderingCommand(draft: RenderingDraft): string | undefined {
  if (!draft.file) return undefined
  const blend = isBlend(draft)
  const film = blend ? draft.video !== '' : draft.motion !== 'still'
  const traced = blend || draft.engine === 'cycles'
  const flags: [string, string | false][] = [
    ['--engine', !blend && draft.engine], ['--size', draft.size], ['--samples', traced && draft.samples],
    ['--frames', blend && draft.frames],
    ['--turntable', !blend && draft.motion === 'turntable' && draft.turntableFrames], ['--video', blend && draft.video],
    ['--fps', film && draft.fps],
    ['--background', !blend && draft.background], ['--name', draft.name],
  ]
  const words: string[][] = flags.filter((flag): flag is [string, string] => Boolean(flag[1]))
  if (!blend && draft.motion === 'timeline') words.push(['--timeline'])
  if (!blend && draft.motion === 'states') words.push(['--states'])
  if (!blend && draft.transparent) words.push(['--transparent'])
  if (!blend && draft.outline && !traced) words.push(['--outline'])
  if (draft.resumable) words.push(['--resumable'])
  if (draft.noReuse) words.push(['--no-reuse'])
  for (const asset of draft.assets) words.push(['--asset', asset.name])
  words.push(['--output', blend || draft.motion === 'states' ? 'frames/' : film ? `film.${draft.video || 'mp4'}` : 'picture.png'])
  return commandLine(['molfabric', blend ? 'render' : 'image', draft.file.name], words)
}
