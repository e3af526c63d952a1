// What the pages of a project read.

import { queryOptions } from '@tanstack/react-query'
import { answered, getProject, getProjectRevision, getSharedProject } from '@/api/client'
import { queries } from '@/session'
import type { Json } from './diff'

export const projectQuery = (projectId: string) =>
  queryOptions({ queryKey: ['projects', projectId], queryFn: () => answered(getProject({ path: { projectId } })) })

/** A revision never changes. */
export const revisionQuery = (projectId: string, version: number) =>
  queryOptions({
    queryKey: ['projects', projectId, 'revision', version], staleTime: Infinity,
    queryFn: () => answered(getProjectRevision({ path: { projectId, version } })),
  })

/** A share may be revoked while its page is open: it is asked for again as all else is. */
export const sharedQuery = (token: string) =>
  queryOptions({ queryKey: ['share', token], queryFn: () => answered(getSharedProject({ path: { token } })) })

export const changed = () => void queries.invalidateQueries({ queryKey: ['projects'] })

/** The scene that the Studio keeps in a content, where there is one. */
export function studioScene(content: unknown): { title: string; structures: number } | undefined {
  const kept = (content as { studio?: { version?: unknown; title?: unknown; scene?: { structures?: unknown } } }).studio
  if (typeof kept !== 'object' || kept === null || kept.version !== 1) return undefined
  const structures = kept.scene?.structures
  return { title: typeof kept.title === 'string' ? kept.title : '', structures: Array.isArray(structures) ? structures.length : 0 }
}

export const asJson = (content: unknown) => content as Json

/** "kinase, figure 2" as words to find by. */
export const tagsOf = (text: string) => text.split(',').map((tag) => tag.trim()).filter(Boolean)
