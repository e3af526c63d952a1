// Which field an error of the service belongs to: its words begin with the JSON path of the member that is wrong.

import { ApiError } from '@/api/client'

export interface FieldErrors {
  /** What is wrong with a field that makes these members. */
  at: (...paths: string[]) => string | undefined
  /** The error, when no field of the form makes the member that it names. */
  rest: unknown
}

const pathForm = /^([A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z][A-Za-z0-9]*|\[\d+\])*): ([\s\S]+)$/

/** The path that an error names, without simulationParams, and what it says. */
export function pathOf(error: unknown): { path: string; words: string } | undefined {
  const match = error instanceof ApiError ? pathForm.exec(error.message) : null
  return match ? { path: match[1]!.replace(/^simulationParams\./, ''), words: match[2]! } : undefined
}

/** Spreads an error over a form whose fields make the members known. */
export function fieldErrors(error: unknown, known: string[]): FieldErrors {
  const found = pathOf(error)
  const within = (path: string) => found !== undefined && (found.path === path || ['.', '['].some((next) => found.path.startsWith(path + next)))
  const matched = known.some(within)
  return { at: (...paths) => (paths.some(within) ? sentence(found!.words) : undefined), rest: matched ? undefined : error }
}

const sentence = (words: string) => words.charAt(0).toUpperCase() + words.slice(1) + (/[.!?]$/.test(words) ? '' : '.')
