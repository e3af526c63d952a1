// Keeps what is shown of jobs fresh: what a page shows of them is read again every few seconds while somebody looks at it.

import type { QueryClient } from '@tanstack/react-query'

const everyMs = 5000
const followed = ['jobs', 'job', 'balance']

/** Reads jobs and credit again until the function that it returns is called. */
export function followAccount(queries: QueryClient): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState !== 'visible') return
    for (const key of followed) void queries.invalidateQueries({ queryKey: [key] })
  }, everyMs)
  return () => clearInterval(timer)
}
