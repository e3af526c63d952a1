// A form that is being filled in stays in the browser until it is submitted.

import { useCallback, useState } from 'react'
import { newKey } from '@/api/client'

const prefix = 'molfabric.draft.'

function kept<T>(name: string): Partial<T> {
  try {
    return JSON.parse(localStorage.getItem(prefix + name) ?? '{}') as Partial<T>
  } catch {
    return {} // written by an older version, or by hand
  }
}

/** What changes in a draft, or how it follows from the draft. */
export type Changes<T> = Partial<T> | ((before: T) => Partial<T>)

/** What a form holds. A member that an earlier draft lacks is as in empty. */
export function useDraft<T extends object>(name: string, empty: () => T, given: Partial<T> = {}) {
  const [draft, setDraft] = useState<T>(() => ({ ...empty(), ...kept<T>(name), ...given }))
  // A change that comes late, after an upload, is made of what the form holds by then.
  const set = useCallback((changes: Changes<T>) => {
    setDraft((before) => {
      const after = { ...before, ...(typeof changes === 'function' ? changes(before) : changes) }
      try {
        localStorage.setItem(prefix + name, JSON.stringify(after))
      } catch {
        // A library too large for the browser's store is in the page alone.
      }
      return after
    })
  }, [name])
  const clear = useCallback(() => {
    localStorage.removeItem(prefix + name)
    setDraft(empty())
  }, [name])
  return { draft, set, clear }
}

/** One attempt at a submission: its key, and the scene that was stored for it. */
interface Attempt {
  request: string
  key: string
  scene?: string
}

/** The attempt at this request: as long as the request is the same, so are its key and its scene. */
export function attemptAt(name: string, request: string): Attempt {
  const before = kept<Attempt>(name + '.attempt')
  if (before.request === request && before.key) return before as Attempt
  const attempt = { request, key: newKey() }
  keepAttempt(name, attempt)
  return attempt
}

export function keepAttempt(name: string, attempt: Attempt) {
  try {
    localStorage.setItem(prefix + name + '.attempt', JSON.stringify(attempt))
  } catch {
    // Too large to keep: a retry after a reload is then a submission of its own.
  }
}

export const forgetAttempt = (name: string) => localStorage.removeItem(prefix + name + '.attempt')
