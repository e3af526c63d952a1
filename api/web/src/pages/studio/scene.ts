// What a page has to know of a MolViewSpec document: its files, what its camera was made for, and what was marked in it. Pure.

import type { MolViewSpecNode, Selector, ViewerFile } from '@/viewer'

interface Spec {
  root?: MolViewSpecNode
  snapshots?: { root: MolViewSpecNode }[]
}

function* nodes(scene: object): Generator<{ node: MolViewSpecNode; above?: MolViewSpecNode; structure?: string }> {
  const { root, snapshots = [] } = scene as Spec
  function* walk(node: MolViewSpecNode, above?: MolViewSpecNode,
    structure?: string): Generator<{ node: MolViewSpecNode; above?: MolViewSpecNode; structure?: string }> {
    const own = node.kind === 'structure' ? node.ref : structure
    yield { node, above, structure: own }
    for (const child of node.children ?? []) yield* walk(child, node, own)
  }
  for (const one of [root, ...snapshots.map((snapshot) => snapshot.root)]) if (one) yield* walk(one)
}

/** Addresses of the scene's files, by the names that it has for them. */
export function filesOf(scene: object, sessionId: string): Record<string, ViewerFile> {
  const files: Record<string, ViewerFile> = {}
  for (const { node } of nodes(scene)) {
    for (const reference of [node.params?.url, node.params?.uri]) {
      if (typeof reference !== 'string' || /^[a-z][a-z0-9+.-]*:/i.test(reference)) continue
      files[reference] = { url: `/api/v1/molecular/studio/sessions/${sessionId}/files/${encodeURIComponent(reference)}` }
    }
  }
  return files
}

/** Changes when the scene wants to be looked at from elsewhere: another structure, focus or camera. */
export function framedFor(scene: object): string {
  const parts: unknown[] = []
  for (const { node, above } of nodes(scene)) {
    if (node.kind === 'download') parts.push(node.params?.url)
    if (node.kind === 'camera') parts.push(node.params)
    if (node.kind === 'focus') parts.push(node.params, above?.params)
  }
  return JSON.stringify(parts)
}

/** What a scene marks that the scene before did not: undefined where a selector is a word, which the viewer cannot take. */
export function marked(scene: object, before: object): Selector[] | undefined {
  const known = new Set([...nodes(before)].map(({ node }) => node.ref).filter(Boolean))
  const rows: Selector[] = []
  for (const { node, structure } of nodes(scene)) {
    if (node.kind !== 'component' || !node.ref || known.has(node.ref)) continue
    const selector = node.params?.selector
    if (typeof selector !== 'object' || selector === null) return undefined
    for (const row of (Array.isArray(selector) ? selector : [selector]) as Selector[]) rows.push({ ...row, structure })
  }
  return rows
}
