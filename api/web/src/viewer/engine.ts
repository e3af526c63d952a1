// The drawing engine, without its own user interface: opened, given a scene, thrown away.

import { MolViewSpec } from 'molstar/lib/extensions/mvs/behavior.js'
import { loadMVS } from 'molstar/lib/extensions/mvs/load.js'
import type { Camera } from 'molstar/lib/mol-canvas3d/camera.js'
import type { MVSData } from 'molstar/lib/extensions/mvs/mvs-data.js'
import { PluginBehaviors } from 'molstar/lib/mol-plugin/behavior.js'
import { PluginConfig } from 'molstar/lib/mol-plugin/config.js'
import { PluginContext } from 'molstar/lib/mol-plugin/context.js'
import { DefaultPluginSpec, PluginSpec } from 'molstar/lib/mol-plugin/spec.js'
import { Asset } from 'molstar/lib/mol-util/assets.js'
import { dressed } from './document'
import type { ViewerFile } from './types'

export interface Engine {
  plugin: PluginContext
  canvas3d: NonNullable<PluginContext['canvas3d']>
  /** There is no graphics card. */
  software: boolean
  /** An address for each content, the same as long as the content is: the engine then keeps what it has made of it. */
  addresses: Map<string | Uint8Array, string>
  /** Where the camera of the scene stands. */
  home?: Partial<Camera.Snapshot>
  dispose(): void
}

export interface Shown {
  scene: object
  files: Record<string, ViewerFile>
  background: string
  keepCamera: boolean
  /** Nothing moves by itself. */
  still: boolean
}

// A page of our own says what was clicked; the engine's own answer to a click, and its keys, would be a second one.
const unwanted = new Set<unknown>([
  PluginBehaviors.Representation.SelectLoci,
  PluginBehaviors.Representation.FocusLoci,
  PluginBehaviors.Camera.FocusLoci,
  PluginBehaviors.Camera.CameraControls,
  PluginBehaviors.Camera.CameraAxisHelper,
  PluginBehaviors.State.SnapshotControls,
])
const unwantedNames = new Set(['create-structure-focus-representation'])

export async function openEngine(holder: HTMLDivElement): Promise<Engine> {
  const spec = DefaultPluginSpec()
  const behaviors = spec.behaviors.filter(
    ({ transformer }) => !unwanted.has(transformer) && !unwantedNames.has(transformer.definition.name),
  )
  const plugin = new PluginContext({
    ...spec,
    behaviors: [...behaviors, PluginSpec.Behavior(MolViewSpec)],
    canvas3d: { camera: { helper: { axes: { name: 'off', params: {} } } } },
    config: [
      [PluginConfig.General.PixelScale, 1],
      [PluginConfig.Viewport.ShowAnimation, false],
    ],
  })
  await plugin.init()
  const canvas = document.createElement('canvas')
  canvas.className = 'block size-full'
  holder.replaceChildren(canvas)
  if (!(await plugin.initViewerAsync(canvas, holder)) || !plugin.canvas3d) {
    plugin.dispose()
    throw new Error('The browser gave no room for another picture in 3D. Close other tabs with molecules, and load the page again.')
  }
  const { canvas3d } = plugin
  const software = drawsSlowly(canvas3d.webgl.gl)
  // Exact order of what is transparent costs each draw a second pass, and each program a second version.
  if (software) plugin.canvas3dContext?.setProps({ transparency: 'blended' })
  const resized = new ResizeObserver(() => plugin.handleResize())
  resized.observe(holder)
  return {
    plugin,
    canvas3d,
    software,
    addresses: new Map(),
    dispose() {
      resized.disconnect()
      plugin.dispose()
      canvas.remove()
    },
  }
}

function drawsSlowly(gl: WebGLRenderingContext | WebGL2RenderingContext): boolean {
  const info = gl.getExtension('WEBGL_debug_renderer_info')
  return info !== null && /swiftshader|llvmpipe|software|basic render/i.test(String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)))
}

/** Puts a scene in the place of the one that is shown; what has not changed of it stays. Tells what could not be loaded. */
export async function show(engine: Engine, shown: Shown): Promise<string[]> {
  const { plugin, canvas3d, software } = engine
  const names = new Map<string, string>()
  const addressOf = (reference: string) => {
    const file = shown.files[reference]
    const address = file ? place(engine, reference, file) : new URL(reference, location.href).href
    names.set(address, reference)
    return address
  }
  const document = dressed(shown.scene, addressOf, { background: shown.background, plain: software })
  let refused: unknown
  try {
    await loadMVS(plugin, document as unknown as MVSData, { keepCamera: shown.keepCamera, doNotReportErrors: true })
  } catch (error) {
    refused = error
  }
  if (software) canvas3d.setProps({ multiSample: { ...canvas3d.props.multiSample, mode: 'off' } })
  if (software || shown.still)
    canvas3d.setProps({ trackball: { ...canvas3d.props.trackball, animate: { name: 'off', params: {} } } })
  const broken = failures(plugin, names)
  if (refused && broken.length === 0)
    broken.push(`The scene cannot be shown: ${refused instanceof Error ? refused.message : String(refused)}`)
  return broken
}

/** The address of a file; a content is laid where the engine looks before it downloads. */
function place({ plugin, addresses }: Engine, reference: string, file: ViewerFile): string {
  if ('url' in file) return new URL(file.url, location.href).href
  let address = addresses.get(file.content)
  if (!address) {
    address = `content://${addresses.size + 1}/${encodeURIComponent(reference)}`
    addresses.set(file.content, address)
  }
  const { asset } = plugin.managers
  if (!asset.tryFindUrl(address)) asset.set(Asset.Url(address), new File([file.content as BlobPart], reference), { isStatic: true })
  return address
}

/** A download that fails does not throw: its cell says so, and the cells below it say that their parent has failed. */
function failures(plugin: PluginContext, names: Map<string, string>): string[] {
  const found = new Set<string>()
  for (const cell of plugin.state.data.cells.values()) {
    if (cell.status !== 'error' || !cell.errorText || cell.errorText === 'Parent') continue
    const params = cell.transform.params as { url?: string | { url: string } } | undefined
    const address = typeof params?.url === 'string' ? params.url : params?.url?.url
    const what = address ? `“${names.get(address) ?? address}”` : (cell.transform.transformer.definition.display?.name ?? 'A part')
    found.add(`${what} could not be loaded: ${cell.errorText}`)
  }
  return [...found].slice(0, 5)
}

const draws = 2,
  lookMs = 50

/** Resolves when everything is drawn and nothing moves. */
export function drawn({ canvas3d }: Engine, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let seen = -1 // the subject tells at once of a draw that was before
    const quiet = () => canvas3d.commitQueueSize.value === 0 && !canvas3d.camera.transition.inTransition
    const end = () => {
      subscription.unsubscribe()
      clearInterval(timer)
      resolve()
    }
    const subscription = canvas3d.didDraw.subscribe(() => {
      seen++
    })
    // A scene that looks as before is not drawn again unless it is asked for.
    const timer = setInterval(() => {
      if (seen >= draws && quiet()) end()
      else if (quiet()) canvas3d.requestDraw()
    }, lookMs)
    signal.addEventListener('abort', end)
  })
}
