// The newest messages to a webhook, and what has become of each.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { answered, listWebhookDeliveries, replayWebhookDelivery, type Webhook, type WebhookDelivery } from '@/api/client'
import { Button, Failure, Loading, State, Table } from '@/design'
import { when } from '@/words'

/** While a message waits. The first time it is tried again is 5 s after the first. */
const askMs = 5000

export function Deliveries({ webhook }: { webhook: Webhook }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const list = useQuery({
    queryKey: ['webhook', webhook.id, 'deliveries'],
    queryFn: () => answered(listWebhookDeliveries({ path: { id: webhook.id } })),
    refetchInterval: (query) => (query.state.data?.deliveries.some((one) => one.state === 'PENDING') ? askMs : false),
  })
  const deliveries = list.data?.deliveries ?? []
  return (
    <div className="mt-4 border-t border-line pt-4">
      <h3 ref={heading} tabIndex={-1} className="mb-2 font-medium wrap-anywhere">Messages to {webhook.url}</h3>
      {list.isPending ? <Loading what="the messages" /> : null}
      <Failure error={list.error} retry={() => void list.refetch()} />
      {list.data && deliveries.length === 0
        ? <p className="text-soft">None in the last 30 days. Send a test to see whether it arrives.</p> : null}
      {deliveries.length > 0 ? (
        <Table caption="Messages" head={['Tells', 'Made', 'State', 'Sent', 'Last answer', 'Next try', 'Actions']}>
          {deliveries.map((one) => <Row key={one.id} webhook={webhook} one={one} />)}
        </Table>
      ) : null}
      {deliveries.length > 0 ? <p className="mt-2 text-sm text-soft">The newest 100 at most, of the last 30 days.</p> : null}
    </div>
  )
}

const tells: Record<string, string> = { 'job.ended': 'a job has ended', 'credit.low': 'credit runs low',
  'key.new_network': 'a key is used from somewhere new', 'webhook.test': 'a test' }

const sent = (times: number) => (times === 0 ? 'not yet' : times === 1 ? 'once' : `${times} times`)

function Row({ webhook, one }: { webhook: Webhook; one: WebhookDelivery }) {
  const told = tells[one.event] ?? one.event
  const queries = useQueryClient()
  const replay = useMutation({
    mutationFn: () => answered(replayWebhookDelivery({ path: { id: webhook.id, deliveryId: one.id } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhook', webhook.id] }),
  })
  return (
    <tr>
      <td className="min-w-28">
        {one.subject ? <Link to="/jobs/$jobId" params={{ jobId: one.subject }}>{told}</Link> : told}
      </td>
      <td className="whitespace-nowrap">{when(one.createdAt)}</td>
      <td><State status={one.state} /></td>
      <td className="whitespace-nowrap">{sent(one.attempts)}</td>
      <td className="min-w-40"><Answer one={one} /></td>
      <td className="whitespace-nowrap">{one.state === 'PENDING' ? when(one.nextAt) : '–'}</td>
      <td>
        <Button aria-label={`Send again: ${told}, ${when(one.createdAt)}`} busy={replay.isPending}
          disabled={!webhook.enabled} onClick={() => replay.mutate()}>Send again</Button>
        <Failure error={replay.error} />
      </td>
    </tr>
  )
}

function Answer({ one }: { one: WebhookDelivery }) {
  if (one.attempts === 0) return <>–</>
  return (
    <>
      {one.lastStatus > 0 ? `Status ${one.lastStatus}` : 'No answer'}
      {one.lastError ? <span className="block text-bad wrap-anywhere">{one.lastError}</span> : null}
      {one.deliveredAt ? <span className="block text-soft">{when(one.deliveredAt)}</span> : null}
    </>
  )
}
