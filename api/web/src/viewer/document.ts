// A scene on its way to the engine: references become addresses, and the ground gets the colour of the page. Pure.

import type { MolViewSpecNode } from './types'

export interface Dressing {
  background: string
  /** The reader's machine draws without a graphics card: nothing that costs a second a frame. */
  plain: boolean
}

export interface SpecDocument {
  root?: MolViewSpecNode
  snapshots?: { root: MolViewSpecNode }[]
  [member: string]: unknown
}

/** A copy of a document with other references, on the ground of the page. */
export function dressed(scene: object, addressOf: (reference: string) => string, dressing: Dressing): SpecDocument {
  const copy = structuredClone(scene) as SpecDocument
  for (const root of [copy.root, ...(copy.snapshots ?? []).map((one) => one.root)]) {
    if (!root) continue
    point(root, addressOf)
    ground(root, dressing)
  }
  return copy
}

function point(node: MolViewSpecNode, addressOf: (reference: string) => string) {
  for (const name of ['url', 'uri']) {
    const reference = node.params?.[name]
    if (typeof reference === 'string') node.params![name] = addressOf(reference)
  }
  for (const child of node.children ?? []) point(child, addressOf)
}

function ground(root: MolViewSpecNode, { background, plain }: Dressing) {
  root.children ??= []
  let canvas = root.children.find((child) => child.kind === 'canvas')
  if (!canvas) root.children.push((canvas = { kind: 'canvas' }))
  canvas.params = { ...canvas.params, background_color: background }
  if (!plain) return
  const effects = canvas.custom?.molstar_postprocessing as object | undefined
  canvas.custom = {
    ...canvas.custom,
    molstar_postprocessing: { ...effects, enable_ssao: false, enable_shadow: false, enable_depth_of_field: false },
  }
}
