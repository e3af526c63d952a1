// What can be done with a pose: take its files along, go on in the Studio, have a figure drawn.

import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { answered, type DockingPose, downloadDockingArtifact, newKey, openStudioSession } from '@/api/client'
import { Button, Failure } from '@/design'
import { saveFrom } from '@/design/save'
import { size } from '@/words'
import { FigureButton } from './figure-dialog'

export function PoseActions({ pose, title }: { pose: DockingPose; title: string }) {
  const navigate = useNavigate()
  const studio = useMutation({
    mutationFn: () =>
      answered(
        openStudioSession({
          body: { source: `pose:${pose.poseId}`, title: title.slice(0, 200) },
          headers: { 'Idempotency-Key': newKey() },
        }),
      ),
    onSuccess: ({ sessionId }) => void navigate({ to: '/studio/sessions/$sessionId', params: { sessionId } }),
  })
  return (
    <>
      <FigureButton poseId={pose.poseId} title={title} />
      <Button kind="primary" busy={studio.isPending} onClick={() => studio.mutate()}>
        Open in Studio
      </Button>
      <Failure error={studio.error} />
    </>
  )
}

const files = [
  ['sdf', 'SDF', 'all poses of the ligand, with bond orders and charges'],
  ['pdbqt', 'PDBQT', 'all poses as Vina wrote them'],
  ['complexPdb', 'PDB', 'receptor and best pose together'],
] as const

export function PoseFiles({ pose }: { pose: DockingPose }) {
  const saving = useMutation({
    mutationFn: (artifactId: string) => answered(downloadDockingArtifact({ path: { id: artifactId } })),
    onSuccess: ({ url, artifact }) => saveFrom(url, artifact.name.split('/').at(-1)!),
  })
  return (
    <>
      <ul className="grid gap-2 text-sm">
        {files.map(([kind, name, words]) => {
          const artifact = pose.artifacts[kind]
          if (!artifact) return null
          return (
            <li key={kind} className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Button
                busy={saving.isPending && saving.variables === artifact.artifactId}
                onClick={() => saving.mutate(artifact.artifactId)}
              >
                {name}
              </Button>
              <span className="min-w-0 text-soft">
                {words}, {size(artifact.byteSize)}
              </span>
            </li>
          )
        })}
      </ul>
      <Failure error={saving.error} />
    </>
  )
}
