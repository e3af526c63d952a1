// What somebody types is kept in the browser until it was sent: a closed tab, or a service that is away, loses nothing.

import { useEffect, useState } from 'react'

function kept<T>(key: string, first: T): T {
  try {
    const text = localStorage.getItem(key)
    return text === null ? first : { ...first, ...(JSON.parse(text) as T) }
  } catch {
    return first
  }
}

/** The members of a form, kept under a name. forget drops what was kept and begins anew. Secrets do not belong in a draft. */
export function useDraft<T extends object>(name: string, first: T) {
  const key = `molfabric.draft.${name}`
  const [draft, setDraft] = useState(() => kept(key, first))
  const [typed, setTyped] = useState(false)
  useEffect(() => {
    if (typed) localStorage.setItem(key, JSON.stringify(draft))
  }, [key, draft, typed])
  const change = (part: Partial<T>) => {
    setTyped(true)
    setDraft((before) => ({ ...before, ...part }))
  }
  const forget = () => {
    localStorage.removeItem(key)
    setTyped(false)
    setDraft(first)
  }
  return { draft, change, forget }
}
