// What the docking pages ask the service for.

import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import {
  answered,
  getDockingPose,
  getDockingResult,
  getDockingRun,
  listDockingPoseInteractions,
  listDockingResultPoses,
  listDockingRunResults,
  listDockingRuns,
  type DockingPose,
} from '@/api/client'

const ended = new Set(['COMPLETED', 'COMPLETED_WITH_FAILURES', 'FAILED', 'CANCELLED'])

/** Nothing of it changes any more. */
export const hasEnded = (status: string | undefined) => status !== undefined && ended.has(status)

const freshMs = 5_000

export const runsQuery = (batchId: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['docking', 'runs', batchId ?? ''],
    queryFn: ({ pageParam }) => answered(listDockingRuns({ query: { limit: 20, cursor: pageParam, batchId } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    refetchInterval: (query) =>
      query.state.data?.pages.some((page) => page.runs.some((run) => !hasEnded(run.status))) ? freshMs : false,
  })

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: ['docking', 'run', runId],
    queryFn: () => answered(getDockingRun({ path: { id: runId } })),
    refetchInterval: (query) => (query.state.data && !hasEnded(query.state.data.status) ? freshMs : false),
  })

/** All results of a run, best first, a hundred at a time as the service gives them. */
export const resultsQuery = (runId: string) =>
  infiniteQueryOptions({
    queryKey: ['docking', 'run', runId, 'results'],
    queryFn: ({ pageParam, signal }) =>
      answered(listDockingRunResults({ path: { id: runId }, query: { limit: 100, cursor: pageParam }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  })

export const resultQuery = (resultId: string) =>
  queryOptions({
    queryKey: ['docking', 'result', resultId],
    queryFn: () => answered(getDockingResult({ path: { id: resultId } })),
    refetchInterval: (query) => (query.state.data && !['COMPLETED', 'FAILED'].includes(query.state.data.status) ? freshMs : false),
  })

/** Poses of a ligand, best first; there are at most a hundred. */
export const posesQuery = (resultId: string) =>
  queryOptions({
    queryKey: ['docking', 'result', resultId, 'poses'],
    queryFn: async () => (await answered(listDockingResultPoses({ path: { id: resultId }, query: { limit: 100 } }))).poses,
  })

export const poseQuery = (poseId: string) =>
  queryOptions({
    queryKey: ['docking', 'pose', poseId],
    queryFn: () => answered(getDockingPose({ path: { id: poseId } })),
  })

export const contactsQuery = (pose: Pick<DockingPose, 'poseId' | 'analysed'>) =>
  queryOptions({
    queryKey: ['docking', 'pose', pose.poseId, 'contacts', pose.analysed],
    queryFn: async () => (await answered(listDockingPoseInteractions({ path: { id: pose.poseId } }))).interactions,
    staleTime: pose.analysed ? Infinity : 0,
  })
