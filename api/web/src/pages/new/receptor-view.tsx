// The receptor of a docking with the box around the site, drawn as soon as both are known.

import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo } from 'react'
import { answered, deleteStudioSession, type Forecast, getStudioFile, openStudioSession } from '@/api/client'
import { Failure, Loading } from '@/design'
import type { MolViewSpecNode, ViewerFile } from '@/viewer'
import { type DockingDraft, pdbIdForm } from './docking-draft'
import { edges } from './forecast'
import { useSettled } from './price'
import { type Box, readNumbers } from './site'

const Viewer = lazy(() => import('@/viewer').then((module) => ({ default: module.Viewer })))

interface Shown {
  scene: { root?: MolViewSpecNode; snapshots?: { root: MolViewSpecNode }[] }
  files: Record<string, ViewerFile>
}

/** Reads a structure as the Studio shows it. The session is closed again: nothing of it is to be kept. */
async function readStructure(source: string): Promise<Shown> {
  const session = await answered(openStudioSession({ body: { source } }))
  const path = { sessionId: session.sessionId }
  try {
    const files = await Promise.all(session.structures.map(async ({ file }) => {
      const content = await answered(getStudioFile({ path: { ...path, name: file }, parseAs: 'text' }))
      return [file, { content: content as string }] as const
    }))
    return { scene: session.scene, files: Object.fromEntries(files) }
  } finally {
    await answered(deleteStudioSession({ path })).catch(() => undefined)
  }
}

/** What the Studio calls the receptor of a draft; undefined while there is none. */
function sourceOf(draft: DockingDraft): string {
  if (draft.receptor === 'file') return draft.file ? `upload:${draft.file.storageKey}` : ''
  return pdbIdForm.test(draft.pdbId) ? `pdb:${draft.pdbId.toUpperCase()}` : ''
}

function boxOf(draft: DockingDraft, forecast: Forecast | undefined): Box | undefined {
  if (draft.site === 'numbers') return readNumbers(draft.numbers)
  const box = forecast?.box
  return box?.centerAngstrom && box.sizeAngstrom ? { center: box.centerAngstrom, size: edges(box.sizeAngstrom) } : undefined
}

/** A scene with the edges of a box. */
function withBox(scene: Shown['scene'], box: Box | undefined): Shown['scene'] {
  if (!box) return scene
  const params = {
    kind: 'box', center: box.center, extent: box.size.map((edge) => edge / 2), show_faces: false, show_edges: true, edge_radius: 0.2,
    edge_color: '#d97706',
  }
  const frame: MolViewSpecNode = { kind: 'primitives', children: [{ kind: 'primitive', params }] }
  const add = (root: MolViewSpecNode) => ({ ...root, children: [...(root.children ?? []), frame] })
  return {
    ...scene, ...(scene.root ? { root: add(scene.root) } : {}),
    ...(scene.snapshots ? { snapshots: scene.snapshots.map((one) => ({ ...one, root: add(one.root) })) } : {}),
  }
}

export function ReceptorView({ draft, forecast }: { draft: DockingDraft; forecast?: Forecast }) {
  const source = useSettled(sourceOf(draft))
  const query = useQuery({
    queryKey: ['studio', 'receptor', source], queryFn: () => readStructure(source), enabled: source !== '', staleTime: Infinity,
    refetchOnWindowFocus: false,
  })
  const box = boxOf(draft, forecast)
  // A box that is being typed is drawn once it rests.
  const text = useSettled(JSON.stringify(box ?? null))
  const scene = useMemo(() => query.data && withBox(query.data.scene, (JSON.parse(text) as Box | null) ?? undefined), [query.data, text])
  if (source === '') return null
  if (query.error) {
    return (
      <div className="grid gap-2 text-sm">
        <p className="text-soft">The structure cannot be shown in 3D now. You can submit all the same.</p>
        <Failure error={query.error} retry={() => void query.refetch()} />
      </div>
    )
  }
  if (!query.data || !scene) return <Loading what="the structure" />
  return (
    <Suspense fallback={<Loading what="the viewer" />}>
      <Viewer
        scene={scene} files={query.data.files} framed={source} height="h-80"
        label={`The receptor${box ? `, with a box around ${box.center.map((n) => n.toFixed(1)).join(', ')} Å` : ''}`}
      />
    </Suspense>
  )
}
