// The structures of a docking, read from where they are stored. Their content never changes, so each is read once; their addresses
// do, and are never kept.

import { queryOptions } from '@tanstack/react-query'
import { answered, ApiError, type DockingPose, downloadDockingArtifact, getJobOutputs, listJobTasks } from '@/api/client'
import { modelOfPDBQT, recordOfSDF } from '@/viewer/coordinates'

async function textOf(url: string): Promise<string> {
  let answer: Response
  try {
    answer = await fetch(url)
  } catch {
    throw new ApiError(0, { error: 'The store of files cannot be reached. Try again in a moment.' })
  }
  if (!answer.ok)
    throw new ApiError(answer.status, {
      error: 'The stored file could not be read. Load the page again; its address may have become too old.',
    })
  return answer.text()
}

const forGood = { staleTime: Infinity, gcTime: 10 * 60_000 } as const

export const artifactQuery = (artifactId: string) =>
  queryOptions({
    queryKey: ['docking', 'artifact', artifactId, 'content'],
    queryFn: async () => textOf((await answered(downloadDockingArtifact({ path: { id: artifactId } }))).url),
    ...forGood,
  })

/** A file that one task of a job has made; null when it has not made it, or not yet. */
async function outputOf(jobId: string, taskIndex: number, name: string): Promise<string | null> {
  let cursor: string | undefined
  do {
    const page = await answered(getJobOutputs({ path: { id: jobId }, query: { taskIndex, role: ['result'], limit: 100, cursor } }))
    const found = page.outputs.find((output) => output.name === name)
    if (found) return textOf(found.url)
    cursor = page.nextCursor ?? undefined
  } while (cursor)
  return null
}

/** The receptor as it was docked into; the first task of a docking prepares it. null before it is ready. */
export const receptorQuery = (jobId: string) =>
  queryOptions({
    queryKey: ['docking', 'receptor', jobId],
    queryFn: () => outputOf(jobId, 0, 'receptor.pdb'),
    ...forGood,
    staleTime: (query) => (query.state.data ? Infinity : 0),
  })

const redocking = { name: 'redock', stages: ['redock', 'analyse'] }

/** The ligand of the crystal structure, where it was docked again. null when it was not, or not yet. */
export const nativeQuery = (jobId: string) =>
  queryOptions({
    queryKey: ['docking', 'native', jobId],
    queryFn: async () => {
      for (const stage of redocking.stages) {
        const { tasks } = await answered(listJobTasks({ path: { id: jobId }, query: { stage, limit: 10 } }))
        const task = tasks.find((one) => one.name === redocking.name)
        if (task) return task.status === 'SUCCEEDED' ? outputOf(jobId, task.index, 'native/crystal.sdf') : null
      }
      return null
    },
    ...forGood,
    staleTime: (query) => (query.state.data ? Infinity : 0),
  })

/** Coordinates of one pose. */
export interface PoseFile {
  format: 'sdf' | 'pdbqt'
  content: string
}

/** Which stored file holds a pose: with bond orders once it is analysed, before that as the engine wrote it. */
export const artifactOf = (pose: DockingPose) => pose.artifacts.sdf ?? pose.artifacts.pdbqt

/** Takes a pose out of the file that holds it. */
export function poseOf(pose: DockingPose, content: string): PoseFile | undefined {
  const { sdf, pdbqt } = pose.artifacts
  const found = sdf ? recordOfSDF(content, sdf.record) : modelOfPDBQT(content, pdbqt?.record ?? 1)
  return found === undefined ? undefined : { format: sdf ? 'sdf' : 'pdbqt', content: found }
}
