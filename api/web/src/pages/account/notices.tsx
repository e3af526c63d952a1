// What the account is told by mail, at its own address.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answered, getNotices, type NoticeRequest, type NoticeSettings, replaceNotices } from '@/api/client'
import { Button, Card, Check, Failure, Loading, TextField } from '@/design'
import { pence } from '@/words'
import { fieldErrors } from '../new/fields'

type Event = NoticeRequest['events'][number]

const eventWords: Record<Event, string> = {
  'key.new_network': 'An API key is used from somewhere new', 'credit.low': 'Credit runs low', 'job.ended': 'A job has ended',
}

export function Notices() {
  const found = useQuery({ queryKey: ['notices'], queryFn: () => answered(getNotices()) })
  return (
    <Card title="Mails">
      {found.isPending ? <Loading what="what is mailed" /> : null}
      <Failure error={found.error} retry={() => void found.refetch()} />
      {found.data ? <Form settings={found.data} /> : null}
    </Card>
  )
}

/** Why nothing is mailed, whatever is chosen. */
const silence = ({ sendsMail, emailVerified }: NoticeSettings) => {
  if (!sendsMail) return 'This deployment has no mail server, so nothing is mailed.'
  return emailVerified ? undefined : 'Nothing is mailed before your address is proved.'
}

function Form({ settings }: { settings: NoticeSettings }) {
  const queries = useQueryClient()
  const [events, setEvents] = useState<string[]>(settings.events)
  const [below, setBelow] = useState(String(settings.lowCreditPence))
  const save = useMutation({
    mutationFn: () => {
      const lowCreditPence = events.includes('credit.low') ? Number(below) : settings.lowCreditPence
      return answered(replaceNotices({ body: { events: events as Event[], lowCreditPence } }))
    },
    onSuccess: (now) => queries.setQueryData(['notices'], now),
  })
  const errors = fieldErrors(save.error, ['lowCreditPence'])
  const toggle = (event: string) => {
    save.reset()
    setEvents((old) => (old.includes(event) ? old.filter((one) => one !== event) : [...old, event]))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  const why = silence(settings)
  return (
    <form className="grid max-w-md gap-4" onSubmit={submit}>
      {why ? <p className="text-soft">{why}</p> : null}
      <fieldset className="grid gap-2">
        <legend className="mb-1 text-sm font-medium wrap-anywhere">Write to {settings.email} when</legend>
        {Object.entries(eventWords).map(([event, words]) => (
          <Check key={event} label={words} checked={events.includes(event)} onChange={() => toggle(event)} />
        ))}
      </fieldset>
      {events.includes('credit.low') ? (
        <TextField label="Write when less is left than, in pence" required type="number" min={1} max={100_000_000} value={below}
          error={errors.at('lowCreditPence')} hint={Number(below) > 0 ? `That is ${pence(Number(below))}.` : undefined}
          onChange={(event) => setBelow(event.target.value)} />
      ) : null}
      <Failure error={errors.rest} />
      <p role="status" className="text-sm text-good">{save.isSuccess ? 'The choice is saved.' : ''}</p>
      <div><Button type="submit" busy={save.isPending}>Save what is mailed</Button></div>
    </form>
  )
}
