// What moved the account's money, newest first.

import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { answered, listTransactions, type Transaction } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, Select, Table } from '@/design'
import { MoreOf } from '@/design/more'
import { saveText } from '@/design/save'
import { pence, when } from '@/words'
import { csv } from './csv'

type Type = Transaction['type']

const types: Record<Type, string> = {
  top_up: 'Bought', bonus: 'Bonus', monthly_grant: 'Monthly credit', monthly_expiry: 'Monthly credit expired',
  hold: 'Set aside for a job',
  hold_release: 'No longer set aside', charge: 'Charged', refund: 'Paid back', adjustment: 'Adjusted',
}
const purses: Record<Transaction['bucket'], string> = { wallet: 'wallet', monthly: 'monthly credit' }

function table(entries: Transaction[]): string {
  return csv(
    ['time', 'type', 'description', 'job', 'purse', 'status', 'amount_pence', 'balance_after_pence'],
    entries.map((e) => [e.created_at, e.type, e.description, e.job_id, e.bucket, e.status, e.amount_cents, e.balance_after_cents]),
  )
}

export function Ledger() {
  const [type, setType] = useState<Type | ''>('')
  const ledger = useInfiniteQuery({
    queryKey: ['balance', 'ledger', type],
    queryFn: ({ pageParam }) => answered(listTransactions({ query: { limit: 50, cursor: pageParam, type: type || undefined } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const entries = ledger.data?.pages.flatMap((page) => page.transactions) ?? []
  return (
    <Card title="Ledger"
      actions={<Button disabled={entries.length === 0} onClick={() => saveText('ledger.csv', 'text/csv', table(entries))}>
      Save these {entries.length} as CSV</Button>}>
      <div className="mb-3 max-w-60">
        <Select label="Show" value={type} onChange={(event) => setType(event.target.value as Type | '')}>
          <option value="">Everything</option>
          {Object.entries(types).map(([name, words]) => <option key={name} value={name}>{words}</option>)}
        </Select>
      </div>
      {ledger.isPending ? <Loading what="the ledger" /> : null}
      {ledger.isFetchNextPageError ? null : <Failure error={ledger.error} retry={() => void ledger.refetch()} />}
      {ledger.isSuccess && entries.length === 0 ? <Empty title="No entry">Each job and each purchase writes one here.</Empty>
        : null}
      {entries.length > 0 ? (
        <Table caption="Ledger" head={['When', 'What', 'Description', 'Job', 'Purse', 'Amount', 'Balance after']}>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td className="whitespace-nowrap">{when(entry.created_at)}</td>
              <td>{types[entry.type]}{entry.status === 'settled' ? '' : ` (${entry.status})`}</td>
              <td className="min-w-40">{entry.description}</td>
              <td>
                {entry.job_id
                  ? <Link to="/jobs/$jobId" params={{ jobId: entry.job_id }}
                  className="whitespace-nowrap">…{entry.job_id.slice(-8)}</Link>
                  : '–'}
              </td>
              <td className="whitespace-nowrap">{purses[entry.bucket]}</td>
              <td className="text-right whitespace-nowrap">{entry.amount_cents > 0 ? '+' : ''}{pence(entry.amount_cents)}</td>
              <td className="text-right whitespace-nowrap">{pence(entry.balance_after_cents)}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      <MoreOf what="entries" list={ledger} />
    </Card>
  )
}
