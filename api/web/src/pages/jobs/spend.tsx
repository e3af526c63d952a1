// What the account has spent, by day.

import { useQuery } from '@tanstack/react-query'
import { answered, listTransactions, type Transaction } from '@/api/client'
import { Failure, Loading } from '@/design'
import { pence } from '@/words'

const days = 14
const page = 100
/** Beyond this many charges the chart says from when on it counts. */
const mostPages = 10

export interface Day {
  /** Midnight, local time. */
  start: Date
  cents: number
}

/** The last days, oldest first, each with what was charged on it. */
export function spendByDay(charges: Pick<Transaction, 'amount_cents' | 'created_at'>[], today = new Date()): Day[] {
  const all: Day[] = Array.from({ length: days }, (_, i) => ({
    start: new Date(today.getFullYear(), today.getMonth(), today.getDate() - (days - 1 - i)), cents: 0,
  }))
  for (const charge of charges) {
    const at = new Date(charge.created_at)
    const day = all.findLast((one) => one.start <= at)
    if (day) day.cents -= charge.amount_cents
  }
  return all
}

async function readCharges(): Promise<{ days: Day[]; complete: boolean }> {
  const today = new Date()
  const from = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (days - 1)).toISOString()
  const charges: Transaction[] = []
  let cursor: string | undefined
  for (let read = 0; read < mostPages; read++) {
    const list = await answered(listTransactions({ query: { type: 'charge', from, limit: page, cursor } }))
    charges.push(...list.transactions)
    if (!list.nextCursor) return { days: spendByDay(charges, today), complete: true }
    cursor = list.nextCursor
  }
  return { days: spendByDay(charges, today), complete: false }
}

const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const [width, height, gap] = [280, 72, 4]

export function Spend() {
  const query = useQuery({ queryKey: ['balance', 'spend'], queryFn: readCharges, staleTime: 30_000 })
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading what="what was spent" />
  const total = query.data.days.reduce((sum, day) => sum + day.cents, 0)
  return (
    <div>
      <p className="text-2xl font-semibold tabular-nums">{pence(total)}</p>
      <p
        className="text-sm text-soft"
      >spent in the last {days} days{query.data.complete ? '' : `, among the newest ${mostPages * page} charges`}</p>
      <Bars days={query.data.days} />
      <details className="mt-1 text-sm">
        <summary className="min-h-6 cursor-pointer text-accent">By day, in figures</summary>
        <ul className="mt-1 grid gap-x-4 tabular-nums sm:grid-cols-2">
          {query.data.days.map((day) => <li key={day.start.getTime()}>{dayName.format(day.start)}: {pence(day.cents)}</li>)}
        </ul>
      </details>
    </div>
  )
}

function Bars({ days: all }: { days: Day[] }) {
  const most = Math.max(...all.map((day) => day.cents), 1)
  const step = width / all.length
  const spent = all.filter((day) => day.cents > 0)
  const words = spent.length === 0 ? 'Nothing was spent on any of these days.'
    : `Spent by day: ${spent.map((day) => `${dayName.format(day.start)} ${pence(day.cents)}`).join(', ')}; nothing on the other days.`
  return (
    <svg viewBox={`0 0 ${width} ${height + 16}`} role="img" aria-label={words} className="mt-2 w-full max-w-md">
      <line x1="0" x2={width} y1={height} y2={height} className="stroke-line" />
      {all.map((day, i) => {
        const tall = (day.cents / most) * (height - 4)
        return day.cents > 0 ? <rect
          key={i} x={i * step + gap / 2} y={height - Math.max(tall, 2)} width={step - gap} height={Math.max(tall, 2)} rx="2"
          className="fill-accent"
        /> : null
      })}
      <text x="0" y={height + 13} className="fill-soft text-[11px]">{dayName.format(all[0]!.start)}</text>
      <text x={width} y={height + 13} textAnchor="end" className="fill-soft text-[11px]">today</text>
    </svg>
  )
}
