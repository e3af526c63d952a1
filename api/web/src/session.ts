// Who has signed in, and what happens when a session ends.

import { QueryCache, QueryClient, queryOptions } from '@tanstack/react-query'
import { answered, ApiError, getSession } from './api/client'

/** Where a sign-in leads back to. */
export function here(): string {
  return window.location.pathname + window.location.search
}

/** The session; null for a visitor who has not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async () => {
    try {
      return await answered(getSession())
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      // A session may end while a page is open: the guard of the routes then leads to the sign-in and back.
      if (error instanceof ApiError && error.status === 401 && query.queryKey[0] !== 'session') queries.setQueryData(['session'], null)
    },
  }),
  defaultOptions: {
    queries: {
      retry: (count, error) => count < 3 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
      retryDelay: (attempt) => Math.min(1000 * 2 ** attempt, 8000),
      refetchOnWindowFocus: true,
    },
  },
})
