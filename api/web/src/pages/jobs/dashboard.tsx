// The first page: what runs, what has been done, and what it cost.

import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { buttonClass, Card, Failure, Loading, PageHead, TextField } from '@/design'
import { balanceQuery } from '@/shell'
import { pence } from '@/words'
import { filters } from './engines'
import { Examples } from './examples'
import { JobList, useJobs } from './list'
import { Running } from './running'
import { Spend } from './spend'

const typingMs = 400

export function Dashboard() {
  const { status, q } = useSearch({ strict: false }) as { status?: string; q?: string }
  const list = useJobs(status, q)
  const filtered = Boolean(status || q)
  const none = !filtered && list.data !== undefined && list.data.pages[0]?.jobs.length === 0
  return (
    <>
      <PageHead title="Jobs" actions={<Link to="/new" className={buttonClass('primary')}>New job</Link>} />
      {none ? <Examples /> : (
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_20rem]">
          <div className="min-w-0">
            <Running />
            <Card title="All jobs">
              <div className="mb-3 grid gap-3">
                <Search q={q} status={status} />
                <Chips status={status} q={q} />
              </div>
              <JobList list={list} filtered={filtered} />
            </Card>
          </div>
          <div className="grid gap-4 sm:grid-cols-2 xl:grid-cols-1">
            <Credit />
            <Card title="Spending"><Spend /></Card>
          </div>
        </div>
      )}
    </>
  )
}

function Search({ q, status }: { q?: string; status?: string }) {
  const navigate = useNavigate()
  const [text, setText] = useState(q ?? '')
  // The address may change by itself: with the browser's way back, or with a link.
  useEffect(() => setText((typed) => (typed.trim() === (q ?? '') ? typed : q ?? '')), [q])
  useEffect(() => {
    if (text.trim() === (q ?? '')) return
    const timer = setTimeout(() => void navigate({ to: '/', search: { status, q: text.trim() || undefined }, replace: true }), typingMs)
    return () => clearTimeout(timer)
  }, [text, q, status, navigate])
  return <TextField
    label="Search by name or id" type="search" value={text} onChange={(event) => setText(event.target.value)} className="max-w-md"
  />
}

const chip = 'inline-flex min-h-8 items-center rounded-full border px-3 text-sm no-underline'

function Chips({ status, q }: { status?: string; q?: string }) {
  const chips: { value?: string; label: string }[] = [{ label: 'All' }, ...filters]
  return (
    <nav aria-label="Jobs by state" className="flex flex-wrap gap-2">
      {chips.map(({ value, label }) => (
        <Link
          key={label} to="/" search={{ status: value, q }} aria-current={value === status ? 'page' : undefined}
          className={`${chip} ${value === status ? 'border-accent bg-accent text-on-accent' : 'border-line text-ink hover:border-accent'}`}
        >{label}</Link>
      ))}
    </nav>
  )
}

function Credit() {
  const balance = useQuery(balanceQuery)
  return (
    <Card title="Credit">
      {balance.error ? <Failure error={balance.error} retry={() => void balance.refetch()} /> : null}
      {balance.isPending ? <Loading what="your credit" /> : null}
      {balance.data ? (
        <>
          <p className="text-2xl font-semibold tabular-nums">{pence(balance.data.available_cents)}</p>
          <p className="text-sm text-soft">available; {pence(balance.data.held_cents)} set aside for running jobs</p>
          <p className="mt-2 text-sm"><Link to="/credits">Add credit, see the ledger</Link></p>
        </>
      ) : null}
    </Card>
  )
}
