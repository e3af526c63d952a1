// A licence server of the account's own: what it is, and where.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answered, createLicenseServer, type LicenseServer, type LicenseServerRequestWritable as LicenseServerRequest,
  replaceLicenseServer } from '@/api/client'
import { Button, Check, Dialog, Failure, Select, TextField } from '@/design'
import { useDraft } from '@/design/draft'

interface Fields extends Pick<LicenseServerRequest, 'name' | 'vendor' | 'product' | 'protocol' | 'host'> {
  port: string
  seats: string
  enforcement: NonNullable<LicenseServerRequest['enforcement']>
  enabled: boolean
}

const blank: Fields = { name: '', vendor: '', product: '', protocol: 'flexlm', host: '', port: '', seats: '',
  enforcement: 'ENFORCED', enabled: true }

const fieldsOf = (one: LicenseServer): Fields => ({
  name: one.name, vendor: one.vendor, product: one.product, protocol: one.protocol, host: one.host, port: String(one.port),
  seats: String(one.seats),
  enforcement: one.enforcement, enabled: one.enabled,
})

export function LicenceForm({ server, done }: { server?: LicenseServer; done: () => void }) {
  const queries = useQueryClient()
  const { draft, change, forget } = useDraft(`licence-server.${server?.id ?? 'new'}`, server ? fieldsOf(server) : blank)
  const [secret, setSecret] = useState('')
  const [dropSecret, setDropSecret] = useState(false)
  const save = useMutation({
    mutationFn: () => {
      const body: LicenseServerRequest = { ...draft, port: Number(draft.port), seats: Number(draft.seats),
        secret: dropSecret ? '' : secret || undefined }
      return answered(server ? replaceLicenseServer({ path: { id: server.id }, body }) : createLicenseServer({ body }))
    },
    onSuccess: () => {
      forget()
      void queries.invalidateQueries({ queryKey: ['licence servers'] })
      done()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Dialog open onOpenChange={(open) => !open && done()} title={server ? `Change ${server.name}` : 'Add a licence server'}>
      <form className="grid gap-4" onSubmit={submit}>
        <TextField label="Name" required maxLength={100} value={draft.name}
          onChange={(event) => change({ name: event.target.value })} />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="Vendor" required maxLength={100} value={draft.vendor}
            onChange={(event) => change({ vendor: event.target.value })} />
          <TextField label="Product" required maxLength={100} value={draft.product}
            onChange={(event) => change({ product: event.target.value })} />
          <TextField label="Host" required maxLength={253} placeholder="licences.example.org" value={draft.host}
            onChange={(event) => change({ host: event.target.value })} />
          <TextField label="Port" required type="number" min={1} max={65535} value={draft.port}
            onChange={(event) => change({ port: event.target.value })} />
          <Select label="Protocol" value={draft.protocol}
            onChange={(event) => change({ protocol: event.target.value as Fields['protocol'] })}>
            <option value="flexlm">FlexLM</option>
            <option value="rlm">RLM</option>
            <option value="sesi">SideFX (sesinetd)</option>
            <option value="custom">Another</option>
          </Select>
          <TextField label="Seats" required type="number" min={1} value={draft.seats}
            onChange={(event) => change({ seats: event.target.value })} />
        </div>
        <Select label="What the seats mean" value={draft.enforcement}
          onChange={(event) => change({ enforcement: event.target.value as Fields['enforcement'] })}>
          <option value="ENFORCED">No more tasks at once than seats</option>
          <option value="ADVISORY">More tasks may run, with a warning</option>
          <option value="DISABLED">Nothing: the server counts for nothing</option>
        </Select>
        <TextField label={server ? 'New secret (optional)' : 'Secret (optional)'} type="password" autoComplete="off"
          maxLength={4096} value={secret} disabled={dropSecret}
          hint="It is stored encrypted and never shown. Left empty, the one from before stays."
          onChange={(event) => setSecret(event.target.value)} />
        {server ? <Check label="Remove the secret" checked={dropSecret} onChange={(event) => setDropSecret(event.target.checked)} /> : null}
        <Check label="In use" hint="While it is not, jobs that rely on it wait." checked={draft.enabled}
          onChange={(event) => change({ enabled: event.target.checked })} />
        <Failure error={save.error} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={done}>Cancel</Button>
          <Button kind="primary" type="submit" busy={save.isPending}>{server ? 'Save' : 'Add'}</Button>
        </div>
      </form>
    </Dialog>
  )
}
