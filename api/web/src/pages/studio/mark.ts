// Which atoms a selection means: the service resolves it, as a mark that is not kept.

import { answered, sendStudioMessage, type StudioSelection } from '@/api/client'
import type { Selector } from '@/viewer'
import { marked } from './scene'

/** Beyond these a mark tells nothing, or the operation cannot hold the words. */
const mostResidues = 100
const mostLetters = 380

/** The atoms of a selection, for the viewer to light up; empty where that would not help or cannot be done. */
export async function atomsOf(sessionId: string, scene: object, selection: StudioSelection): Promise<Selector[]> {
  if (selection.residueCount > mostResidues || selection.query.length > mostLetters) return []
  const resolve = async (sel: string) => {
    const turn = await answered(sendStudioMessage({ path: { sessionId },
      body: { operations: [{ op: 'highlight', args: { sel } }], dryRun: true } }))
    return marked(turn.scene, scene)
  }
  try {
    // Where the scene says "ligand" instead of naming it, its carbons are named one by one.
    return (await resolve(selection.query)) ?? (await resolve(`(${selection.query}) and elem C`)) ?? []
  } catch {
    return [] // lighting up is an extra: the reply itself was shown
  }
}

/** Waits until the viewer inside an element has drawn its scene: light that comes before goes out with the scene before. */
export function drawn(stage: HTMLElement, signal?: AbortSignal): Promise<void> {
  const isDrawn = () => stage.querySelector<HTMLElement>('[data-viewer]')?.dataset.ready === 'true'
  if (isDrawn()) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      watch.disconnect()
      resolve()
    }
    const watch = new MutationObserver(() => { if (isDrawn()) end() })
    watch.observe(stage, { subtree: true, attributes: true, attributeFilter: ['data-ready'] })
    signal?.addEventListener('abort', end)
  })
}
