// A webhook: where its messages go, and what they tell. A new one shows its secret, the one time that it can be seen.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { answered, createWebhook, replaceWebhook, type Webhook, type WebhookRequest } from '@/api/client'
import { Button, Check, Dialog, Failure, TextField } from '@/design'
import { CopyText } from '@/design/copy'
import { pence } from '@/words'
import { fieldErrors } from '../new/fields'

type Event = WebhookRequest['events'][number]

const eventWords: Record<Event, string> = {
  'job.ended': 'A job has ended', 'credit.low': 'Credit runs low', 'key.new_network': 'An API key is used from somewhere new',
}

/** The members that a field of the form makes. */
const known = ['url', 'description', 'events', 'lowCreditPence']
const usualPence = '500'

interface Props {
  webhook?: Webhook
  done: () => void
}

export function WebhookForm({ webhook, done }: Props) {
  const [secret, setSecret] = useState<string>()
  const title = secret ? 'The webhook’s secret' : webhook ? 'Change the webhook' : 'Add a webhook'
  return (
    <Dialog open onOpenChange={(open) => !open && done()} title={title}>
      {secret ? <Secret text={secret} done={done} /> : <Form webhook={webhook} done={done} onMade={setSecret} />}
    </Dialog>
  )
}

// Nothing of it is kept as a draft: an address may hold what lets somebody in.
function Form({ webhook, done, onMade }: Props & { onMade: (secret: string) => void }) {
  const queries = useQueryClient()
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [description, setDescription] = useState(webhook?.description ?? '')
  const [events, setEvents] = useState<string[]>(webhook?.events ?? ['job.ended'])
  const [below, setBelow] = useState(webhook ? String(webhook.lowCreditPence) : usualPence)
  const save = useMutation({
    mutationFn: () => {
      const low = events.includes('credit.low') ? Number(below) : webhook?.lowCreditPence
      const body: WebhookRequest = { url: url.trim(), description: description.trim(), events: events as Event[],
        lowCreditPence: low, enabled: webhook?.enabled ?? true }
      return answered(webhook ? replaceWebhook({ path: { id: webhook.id }, body }) : createWebhook({ body }))
    },
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ['webhooks'] })
      if (made.secret) onMade(made.secret)
      else done()
    },
  })
  const errors = fieldErrors(save.error, known)
  const toggle = (event: string) =>
    setEvents((old) => (old.includes(event) ? old.filter((one) => one !== event) : [...old, event]))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form className="grid gap-4" onSubmit={submit}>
      <TextField label="Address" required type="url" maxLength={2000} placeholder="https://example.org/molfabric" value={url}
        error={errors.at('url')} hint="Messages are posted here. It begins with https:// and can be reached from the internet."
        onChange={(event) => setUrl(event.target.value)} />
      <TextField label="Note (optional)" maxLength={200} value={description} error={errors.at('description')}
        onChange={(event) => setDescription(event.target.value)} />
      <Events events={events} error={errors.at('events')} toggle={toggle} />
      {events.includes('credit.low') ? (
        <TextField label="Credit is low below, in pence" required type="number" min={1} max={100_000_000} value={below}
          error={errors.at('lowCreditPence')} hint={Number(below) > 0 ? `That is ${pence(Number(below))}.` : undefined}
          onChange={(event) => setBelow(event.target.value)} />
      ) : null}
      <Failure error={errors.rest} />
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={done}>Cancel</Button>
        <Button kind="primary" type="submit" busy={save.isPending} disabled={events.length === 0}>
          {webhook ? 'Save' : 'Add'}
        </Button>
      </div>
    </form>
  )
}

function Events({ events, error, toggle }: { events: string[]; error?: string; toggle: (event: string) => void }) {
  const id = useId()
  return (
    <fieldset className="grid gap-2" aria-describedby={error ? id : undefined}>
      <legend className="mb-1 text-sm font-medium">Tell it when</legend>
      {Object.entries(eventWords).map(([event, words]) => (
        <Check key={event} label={words} hint={event} checked={events.includes(event)} onChange={() => toggle(event)} />
      ))}
      {error ? <p id={id} className="text-sm text-bad">{error}</p> : null}
    </fieldset>
  )
}

/** The secret of a webhook, while it can be seen. */
export function Secret({ text, done }: { text: string; done: () => void }) {
  return (
    <div className="grid grid-cols-1 gap-4">
      <p>It signs the messages, so that your server knows them as ours. This is the only time that it is shown.</p>
      <CopyText label="Secret" text={text} />
      <div className="flex justify-end"><Button kind="primary" onClick={done}>I have kept it</Button></div>
    </div>
  )
}
