import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { answered, type Balance, getBalance } from '@/api/client'
import { Card, Facts, Failure, Loading, PageHead } from '@/design'
import { sessionQuery } from '@/session'
import { pence, when } from '@/words'
import { Ledger } from './ledger'
import { TopUp } from './topup'

/** What the payment provider's page says when it leads back. */
const outcomes: Record<string, string> = {
  success: 'Thank you. The credit is here as soon as the payment provider has reported the payment, usually within moments.',
  cancelled: 'Nothing was bought.',
}

export function Credits() {
  const { topup } = useSearch({ strict: false }) as { topup?: string }
  const [outcome] = useState(topup ? outcomes[topup] : undefined)
  const balance = useQuery({ queryKey: ['balance'], queryFn: () => answered(getBalance()) })
  const session = useQuery(sessionQuery)
  return (
    <>
      <PageHead title="Credits" lead="A job sets aside what it may cost at most, and is charged what it used." />
      <div className="grid grid-cols-1 gap-4">
        {outcome ? <p role="status" className="rounded-md border border-line bg-card p-3">{outcome}</p> : null}
        {balance.isPending ? <Loading what="the balance" /> : null}
        <Failure error={balance.error} retry={() => void balance.refetch()} />
        {session.data?.emailVerified === false && balance.data?.total_credited_cents === 0 ? (
          <p className="rounded-md border border-warn p-3 text-sm">
            Your free credit waits until you have proved your address. <Link to="/settings">The settings</Link> send the link again.
          </p>
        ) : null}
        {balance.data ? <Purse balance={balance.data} /> : null}
        <TopUp />
        <Ledger />
      </div>
    </>
  )
}

function Purse({ balance }: { balance: Balance }) {
  return (
    <Card title="Balance">
      <p className="text-3xl font-semibold tabular-nums">
        {pence(balance.available_cents)} <span className="text-base font-normal text-soft">available</span>
      </p>
      <div className="mt-3 grid items-start gap-4 sm:grid-cols-3">
        <Facts facts={[['Set aside for jobs', pence(balance.held_cents)], ['Ever credited', pence(balance.total_credited_cents)]]} />
        <Facts facts={[
          ['Bought or given', pence(balance.wallet_cents)], ['of it available', pence(balance.wallet_available_cents)],
          ['Expires', 'never'],
        ]} />
        <Facts facts={[
          ['This month', pence(balance.monthly_cents)], ['of it available', pence(balance.monthly_available_cents)],
          ['Granted anew', when(balance.monthly_reset_at)],
        ]} />
      </div>
    </Card>
  )
}
