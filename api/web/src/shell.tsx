// The frame around every page of somebody who has signed in.

import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { answered, getBalance, signOut } from '@/api/client'
import { Button, PageHead, Select } from '@/design'
import { followAccount } from '@/live'
import { here, queries, sessionQuery } from '@/session'
import { chooseTheme, type Theme, useTheme } from '@/theme'
import { pence } from '@/words'

interface Place {
  to: '/' | '/new' | '/dockings' | '/searches' | '/studio/sessions' | '/projects' | '/credits' | '/keys' | '/settings' | '/operator'
  label: string
  phone?: boolean
}

const places: Place[] = [
  { to: '/', label: 'Jobs', phone: true },
  { to: '/new', label: 'New', phone: true },
  { to: '/dockings', label: 'Dockings', phone: true },
  { to: '/searches', label: 'Searches' },
  { to: '/studio/sessions', label: 'Studio', phone: true },
  { to: '/projects', label: 'Projects' },
  { to: '/credits', label: 'Credits' },
  { to: '/keys', label: 'Keys' },
  { to: '/settings', label: 'Settings' },
]

/** The places of whoever is signed in. */
function usePlaces(): Place[] {
  const session = useQuery(sessionQuery)
  return session.data?.operator ? [...places, { to: '/operator', label: 'Operator' }] : places
}

export const balanceQuery = { queryKey: ['balance'], queryFn: () => answered(getBalance()) }

export function Shell() {
  const session = useQuery(sessionQuery)
  const balance = useQuery(balanceQuery)
  const navigate = useNavigate()
  const seen = usePlaces()
  const leave = useMutation({
    mutationFn: () => answered(signOut()),
    onSettled: () => {
      queries.clear()
      queries.setQueryData(['session'], null)
    },
  })
  const account = session.data?.account
  useEffect(() => (account ? followAccount(queries) : undefined), [account?.accountId])
  useEffect(() => {
    // The session has ended, here or in another tab: sign in and come back.
    if (session.data === null) void navigate({ to: '/sign-in', search: { next: leave.isSuccess ? '/' : here() } })
  }, [session.data, navigate, leave.isSuccess])
  if (!account) return null
  const item = 'block rounded-md px-3 py-1.5 text-sm text-ink no-underline hover:bg-line/40'
  const current = { className: 'bg-line/60 font-medium' }
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a href="#main" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-card focus:p-2">Skip to the page</a>
      <nav aria-label="Main" className="hidden w-44 shrink-0 border-r border-line p-3 md:block">
        <p className="mb-3 px-3 font-semibold text-accent">molfabric</p>
        {seen.map((place) => (
          <Link key={place.to} to={place.to} className={item} activeProps={current} activeOptions={{ exact: place.to === '/' }}>{place.label}</Link>
        ))}
        <a href="/docs" className={item}>API</a>
      </nav>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex flex-wrap items-center justify-end gap-x-4 gap-y-1 border-b border-line px-4 py-2 text-sm">
          <span className="mr-auto min-w-0 truncate text-soft">{account.email}</span>
          {balance.data ? <Link to="/credits">{pence(balance.data.available_cents)} available</Link> : null}
          <ThemeChoice />
          <Button kind="quiet" busy={leave.isPending} onClick={() => leave.mutate()}>Sign out</Button>
        </header>
        <main id="main" tabIndex={-1} className="mx-auto w-full max-w-7xl flex-1 p-4 pb-24 outline-none md:pb-6"><Outlet /></main>
      </div>
      <nav aria-label="Main, short" className="fixed inset-x-0 bottom-0 z-30 flex justify-around border-t border-line bg-card p-1 md:hidden">
        {places.filter((place) => place.phone).map((place) => (
          <Link key={place.to} to={place.to} className={item} activeProps={current} activeOptions={{ exact: place.to === '/' }}>{place.label}</Link>
        ))}
        <Link to="/more" className={item} activeProps={current}>More</Link>
      </nav>
    </div>
  )
}

/** What the bar of a phone has no room for. */
export function More() {
  return (
    <>
      <PageHead title="More" />
      <ul className="grid gap-2">
        {usePlaces().filter((place) => !place.phone).map((place) => (
          <li key={place.to}><Link to={place.to} className="block rounded-md border border-line bg-card p-3">{place.label}</Link></li>
        ))}
      </ul>
    </>
  )
}

function ThemeChoice() {
  const theme = useTheme()
  return (
    <div className="w-32">
      <Select label="Colours" quiet value={theme} onChange={(event) => chooseTheme(event.target.value as Theme)}>
        <option value="system">As system</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </Select>
    </div>
  )
}
