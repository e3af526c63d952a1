// Makes an API key, and shows it the one time that it can be seen.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answered, createKey, type CreatedKey, type CreateRequest } from '@/api/client'
import { Button, Check, Dialog, Failure, Select, TextField } from '@/design'
import { CopyText } from '@/design/copy'
import { type Scope, scopeWords } from './scopes'

const usual: Scope[] = ['jobs:read', 'jobs:write', 'credits:read']

export function CreateKey({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const [made, setMade] = useState<CreatedKey>()
  const close = (next: boolean) => {
    setMade(undefined)
    onOpenChange(next)
  }
  return (
    <Dialog open={open} onOpenChange={close} title={made ? 'Your new key' : 'New API key'}>
      {made ? <Shown made={made} done={() => close(false)} /> : <Form onMade={setMade} />}
    </Dialog>
  )
}

/** The end of a day of the browser's, as the service writes times. */
const endOf = (day: string) => (day ? new Date(`${day}T23:59:59`).toISOString() : undefined)

function Form({ onMade }: { onMade: (made: CreatedKey) => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<Scope[]>(usual)
  const [environment, setEnvironment] = useState<NonNullable<CreateRequest['environment']>>('live')
  const [until, setUntil] = useState('')
  const make = useMutation({
    mutationFn: () => answered(createKey({ body: { name: name.trim(), scopes, environment, expiresAt: endOf(until) } })),
    onSuccess: (made) => {
      onMade(made)
      void queries.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  const toggle = (scope: Scope) => setScopes((old) => (old.includes(scope) ? old.filter((one) => one !== scope) : [...old, scope]))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    make.mutate()
  }
  return (
    <form className="grid gap-4" onSubmit={submit}>
      <TextField label="Name" required maxLength={100} placeholder="laptop, pipeline…" value={name}
        onChange={(event) => setName(event.target.value)} />
      <fieldset className="grid gap-2">
        <legend className="mb-1 text-sm font-medium">What the key may do</legend>
        {Object.entries(scopeWords).map(([scope, words]) => (
          <Check key={scope} label={words} hint={scope} checked={scopes.includes(scope as Scope)}
            onChange={() => toggle(scope as Scope)} />
        ))}
      </fieldset>
      <Select label="Environment" value={environment} onChange={(event) => setEnvironment(event.target.value as typeof environment)}
        hint={environment === 'test' ? 'A test key is never billed, and cannot submit jobs.'
        : 'A live key submits jobs, which cost credit.'}>
        <option value="live">Live</option>
        <option value="test">Test</option>
      </Select>
      <TextField label="Last day (optional)" type="date" value={until} onChange={(event) => setUntil(event.target.value)}
        hint="Without one the key works until you revoke it." />
      <Failure error={make.error} />
      <div className="flex justify-end">
        <Button kind="primary" type="submit" busy={make.isPending} disabled={scopes.length === 0}>Make the key</Button>
      </div>
    </form>
  )
}

function Shown({ made, done }: { made: CreatedKey; done: () => void }) {
  return (
    <div className="grid grid-cols-1 gap-4">
      <p>This is the only time that the key is shown. Keep it where nobody else reads it.</p>
      <CopyText label="Key" text={made.key} />
      <CopyText label="Line for a .env file" text={`MOLFABRIC_API_KEY=${made.key}`} />
      <div className="flex justify-end"><Button kind="primary" onClick={done}>I have kept it</Button></div>
    </div>
  )
}
