// What the pages before a sign-in have in common.

import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useCallback } from 'react'
import { answered, ApiError, finishOidc } from '@/api/client'
import { buttonClass } from '@/design'
import { queries, sessionQuery } from '@/session'
import { isServed, localPath } from './next'

export function EntryFrame({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-md flex-col justify-center p-4">
      <p className="mb-4 text-lg font-semibold text-accent">molfabric</p>
      <section className="rounded-xl border border-line bg-card p-5 sm:p-6">
        <h1>{title}</h1>
        {lead ? <p className="mt-1 text-soft">{lead}</p> : null}
        <div className="mt-4 grid gap-4">{children}</div>
      </section>
    </main>
  )
}

/** The page that was asked for before the sign-in, and the way there. */
export function useNext() {
  const next = localPath((useSearch({ strict: false }) as { next?: string }).next)
  const navigate = useNavigate()
  const go = useCallback(async () => {
    if (isServed(next)) window.location.assign(next)
    else await navigate({ href: next, replace: true })
  }, [next, navigate])
  return { next, go }
}

/** Reads the session that was just begun. Null: none was, because the address has to be proved first. */
export async function begun() {
  queries.removeQueries({ predicate: (query) => query.queryKey[0] !== 'session' })
  return await queries.fetchQuery({ ...sessionQuery, staleTime: 0 })
}

/**
 * Whether people can sign in with their organisation. Asked is the address at which the provider's answers arrive: it says 404
 * where there is no provider, and otherwise only that nobody has begun a sign-in. The address that begins one would begin one.
 */
const organisationQuery = {
  queryKey: ['organisation sign-in'],
  staleTime: Infinity,
  retry: false,
  queryFn: async () => {
    try {
      await answered(finishOidc())
      return true
    } catch (error) {
      return error instanceof ApiError && error.status === 400
    }
  },
}

export function OrganisationSignIn({ next }: { next: string }) {
  const offered = useQuery(organisationQuery)
  if (!offered.data) return null
  return (
    <div className="grid gap-3 border-t border-line pt-4">
      <a className={buttonClass()} href={`/api/v1/auth/oidc/start?next=${encodeURIComponent(next)}`}>
        Sign in with your organisation
      </a>
    </div>
  )
}
