// Servers of the account's own that are told when jobs end, when credit runs low and when a key is used from somewhere new.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  answered, deleteWebhook, listWebhooks, replaceWebhook, rotateWebhookSecret, testWebhook, type Webhook, type WebhookRequest,
} from '@/api/client'
import { Button, Card, Dialog, Failure, Loading, State, Table } from '@/design'
import { Confirm } from '@/design/confirm'
import { pence } from '@/words'
import { Deliveries } from './webhook-deliveries'
import { Secret, WebhookForm } from './webhook-form'

/** What is being done to a webhook. */
type Doing = 'change' | 'remove' | 'rotate'

export function Webhooks() {
  const list = useQuery({ queryKey: ['webhooks'], queryFn: () => answered(listWebhooks()) })
  const [adding, setAdding] = useState(false)
  const [doing, setDoing] = useState<{ what: Doing; one: Webhook }>()
  const [shown, setShown] = useState<string>()
  const webhooks = list.data?.webhooks ?? []
  const messagesOf = webhooks.find((one) => one.id === shown)
  const done = () => setDoing(undefined)
  return (
    <Card title="Webhooks" actions={<Button onClick={() => setAdding(true)}>Add a webhook</Button>}>
      {list.isPending ? <Loading what="the webhooks" /> : null}
      <Failure error={list.error} retry={() => void list.refetch()} />
      {list.data && webhooks.length === 0
        ? <p className="text-soft">None. A server of your own can be told when a job ends, credit runs low or a key is used from
          somewhere new.</p> : null}
      {webhooks.length > 0 ? (
        <Table caption="Webhooks" head={['Address', 'Told of', 'State', 'Actions']}>
          {webhooks.map((one) => <Row key={one.id} one={one} start={(what) => setDoing({ what, one })} shown={one.id === shown}
            show={(open) => setShown(open ? one.id : undefined)} />)}
        </Table>
      ) : null}
      {messagesOf ? <Deliveries key={messagesOf.id} webhook={messagesOf} /> : null}
      {adding ? <WebhookForm done={() => setAdding(false)} /> : null}
      {doing?.what === 'change' ? <WebhookForm webhook={doing.one} done={done} /> : null}
      {doing?.what === 'remove' ? <Remove one={doing.one} done={done} /> : null}
      {doing?.what === 'rotate' ? <Rotate one={doing.one} done={done} /> : null}
    </Card>
  )
}

const toldOf = (one: Webhook) => {
  const words: Record<string, string> = { 'job.ended': 'jobs that end', 'credit.low': `credit below ${pence(one.lowCreditPence)}`,
    'key.new_network': 'keys used from somewhere new' }
  return one.events.map((event) => words[event] ?? event).join(', ')
}

interface RowProps {
  one: Webhook
  start: (what: Doing) => void
  shown: boolean
  show: (open: boolean) => void
}

function Row({ one, start, shown, show }: RowProps) {
  const queries = useQueryClient()
  const test = useMutation({
    mutationFn: () => answered(testWebhook({ path: { id: one.id } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['webhook', one.id] })
      show(true)
    },
  })
  const turn = useMutation({
    mutationFn: () => {
      const { url, description, events, lowCreditPence, enabled } = one
      const body = { url, description, events: events as WebhookRequest['events'], lowCreditPence, enabled: !enabled }
      return answered(replaceWebhook({ path: { id: one.id }, body }))
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
  const act = one.enabled ? 'Disable' : 'Enable'
  return (
    <tr>
      <td className="min-w-40 wrap-anywhere">
        {one.url}{one.description ? <span className="block text-soft">{one.description}</span> : null}
      </td>
      <td className="min-w-32">{toldOf(one)}</td>
      <td className="min-w-24">
        <State status={one.enabled ? 'ENABLED' : 'DISABLED'} />
        {one.disabledReason ? <span className="mt-1 block text-bad wrap-anywhere">{one.disabledReason}</span> : null}
      </td>
      <td className="min-w-64">
        <div className="flex flex-wrap gap-1">
          <Button aria-label={`Send a test to ${one.url}`} busy={test.isPending} disabled={!one.enabled}
            onClick={() => test.mutate()}>Send a test</Button>
          <Button aria-label={`Messages to ${one.url}`} aria-expanded={shown} onClick={() => show(!shown)}>Messages</Button>
          <Button aria-label={`Change ${one.url}`} onClick={() => start('change')}>Change</Button>
          <Button aria-label={`${act} ${one.url}`} busy={turn.isPending} onClick={() => turn.mutate()}>{act}</Button>
          <Button aria-label={`New secret of ${one.url}`} onClick={() => start('rotate')}>New secret</Button>
          <Button kind="danger" aria-label={`Remove ${one.url}`} onClick={() => start('remove')}>Remove</Button>
        </div>
        <Failure error={test.error ?? turn.error} />
      </td>
    </tr>
  )
}

interface OneProps {
  one: Webhook
  done: () => void
}

function Remove({ one, done }: OneProps) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => answered(deleteWebhook({ path: { id: one.id } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['webhooks'] })
      done()
    },
  })
  return (
    <Confirm open onOpenChange={(open) => !open && done()} title="Remove the webhook?" action="Remove the webhook"
      busy={remove.isPending} error={remove.error} onConfirm={() => remove.mutate()}>
      <p className="wrap-anywhere">{one.url} is told of nothing more. Messages that wait are not sent. The list of messages is
        deleted.</p>
    </Confirm>
  )
}

function Rotate({ one, done }: OneProps) {
  const rotate = useMutation({ mutationFn: () => answered(rotateWebhookSecret({ path: { id: one.id } })) })
  if (rotate.data) {
    return (
      <Dialog open onOpenChange={(open) => !open && done()} title="The new secret">
        <Secret text={rotate.data.secret ?? ''} done={done} />
      </Dialog>
    )
  }
  return (
    <Confirm open onOpenChange={(open) => !open && done()} title="Make a new secret?" action="Make a new secret"
      busy={rotate.isPending} error={rotate.error} onConfirm={() => rotate.mutate()}>
      <p className="wrap-anywhere">It signs every message to {one.url} from now on, also those that are sent again. Your server
        refuses them until it has the new secret.</p>
    </Confirm>
  )
}
