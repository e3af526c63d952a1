// What is read of a job. The live stream refreshes whatever is kept under ['job', id].

import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import {
  answered, getJob, getJobLogs, getJobOutputs, getJobProvenance, type Job, listDockingRuns, listJobTasks, type Output, type Task,
} from '@/api/client'
import { refetchMs } from './running'

const page = 100
/** Of logs, each of which is up to 16 KiB. */
const logPage = 20
/** Files and tasks of a job that a page reads at once; the command line reads all. */
const mostOutputPages = 10
const mostStagePages = 5
const outputStaleMs = 10 * 60_000

export const useJob = (id: string) => useQuery({
  queryKey: ['job', id],
  queryFn: () => answered(getJob({ path: { id } })),
  refetchInterval: (query) => (query.state.data && !query.state.data.terminal ? refetchMs : false),
})

/** A part of a job that runs is read again by itself too. */
const whileRunning = (job: Job) => (job.terminal ? false as const : refetchMs)

export interface Outputs {
  outputs: Output[]
  /** Whether these are all that there are so far. */
  whole: boolean
}

export const useOutputs = (job: Job) => useQuery({
  queryKey: ['job', job.jobId, 'outputs'],
  queryFn: async (): Promise<Outputs> => {
    const outputs: Output[] = []
    let cursor: string | undefined
    for (let read = 0; read < mostOutputPages; read++) {
      const list = await answered(getJobOutputs({ path: { id: job.jobId }, query: { limit: page, cursor } }))
      outputs.push(...list.outputs)
      if (!list.nextCursor) return { outputs, whole: true }
      cursor = list.nextCursor
    }
    return { outputs, whole: false }
  },
  enabled: !job.filesDeletedAt,
  staleTime: outputStaleMs, // their addresses are good for an hour
  refetchInterval: whileRunning(job),
})

export interface Stage {
  name: string
  total: number
  /** Finished share of its tasks, from 0 to 100. */
  percent: number
  done: number
  failed: number
  /** Tasks whose outputs were taken over from an earlier job. */
  known: number
}

/** What is read of the tasks of a job, for all of them together. */
export interface Stages {
  stages: Stage[]
  /** Whether these are of all tasks, or of the first ones alone. */
  whole: boolean
}

/** The stages that tasks belong to, in the order of the plan. */
export function stagesOf(tasks: Pick<Task, 'stage' | 'status' | 'progress' | 'reused'>[]): Stage[] {
  const stages = new Map<string, Stage>()
  for (const task of tasks) {
    const stage = stages.get(task.stage) ?? { name: task.stage, total: 0, percent: 0, done: 0, failed: 0, known: 0 }
    stages.set(task.stage, stage)
    stage.total++
    if (task.status === 'SUCCEEDED') stage.done++
    if (task.status === 'FAILED') stage.failed++
    if (task.reused) stage.known++
    stage.percent += task.status === 'SUCCEEDED' ? 100 : task.status === 'RUNNING' ? task.progress : 0
  }
  return [...stages.values()].map((stage) => ({ ...stage, percent: stage.percent / stage.total }))
}

export const useStages = (job: Job) => useQuery({
  queryKey: ['job', job.jobId, 'stages'],
  queryFn: async (): Promise<Stages> => {
    const tasks: Task[] = []
    let cursor: string | undefined
    for (let read = 0; read < mostStagePages; read++) {
      const list = await answered(listJobTasks({ path: { id: job.jobId }, query: { limit: page, cursor } }))
      tasks.push(...list.tasks)
      if (!list.nextCursor) return { stages: stagesOf(tasks), whole: true }
      cursor = list.nextCursor
    }
    return { stages: stagesOf(tasks), whole: false }
  },
  refetchInterval: whileRunning(job),
})

export const useTasks = (job: Job, status: Task['status'] | undefined) => useInfiniteQuery({
  queryKey: ['job', job.jobId, 'tasks', status ?? ''],
  queryFn: ({ pageParam }) => answered(listJobTasks({
    path: { id: job.jobId }, query: { limit: page, cursor: pageParam, status: status ? [status] : undefined },
  })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (last) => last.nextCursor ?? undefined,
  refetchInterval: whileRunning(job),
})

export const useLogs = (job: Job, task: string) => useInfiniteQuery({
  queryKey: ['job', job.jobId, 'logs', task],
  queryFn: ({ pageParam }) => answered(getJobLogs({
    path: { id: job.jobId }, query: { limit: logPage, cursor: pageParam, task: task || undefined },
  })),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (last) => last.nextCursor ?? undefined,
  enabled: !job.filesDeletedAt,
  refetchInterval: whileRunning(job),
})

export const useProvenance = (job: Job) => useQuery({
  queryKey: ['job', job.jobId, 'provenance'],
  queryFn: () => answered(getJobProvenance({ path: { id: job.jobId } })),
  enabled: !job.filesDeletedAt,
  refetchInterval: whileRunning(job),
})

export const useDockingRuns = (job: Job, docking: boolean) => useQuery({
  queryKey: ['job', job.jobId, 'docking runs'],
  queryFn: () => answered(listDockingRuns({ query: { jobId: job.jobId } })),
  enabled: docking,
})
