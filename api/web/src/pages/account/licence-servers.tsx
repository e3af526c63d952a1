// Licences that the account brings along: software then runs on them without a fee.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, deleteLicenseServer, type LicenseServer, listLicenseServers, testLicenseServer } from '@/api/client'
import { Button, Card, Failure, Loading, State, Table } from '@/design'
import { Confirm } from '@/design/confirm'
import { when } from '@/words'
import { LicenceForm } from './licence-form'

export function LicenceServers() {
  const servers = useQuery({ queryKey: ['licence servers'], queryFn: () => answered(listLicenseServers()) })
  const [editing, setEditing] = useState<LicenseServer | 'new'>()
  const [deleting, setDeleting] = useState<LicenseServer>()
  return (
    <Card title="Licence servers" actions={<Button onClick={() => setEditing('new')}>Add a server</Button>}>
      {servers.isPending ? <Loading what="the licence servers" /> : null}
      <Failure error={servers.error} retry={() => void servers.refetch()} />
      {servers.data?.licenseServers.length === 0 ? (
        <p className="text-soft">
          None. With a licence server of your own, licensed software runs without a fee, on as many tasks at once as there are
          seats.
        </p>
      ) : null}
      {servers.data && servers.data.licenseServers.length > 0 ? (
        <Table caption="Licence servers" head={['Name', 'Software', 'Address', 'Seats', 'State', 'Last test', 'Actions']}>
          {servers.data.licenseServers.map((one) =>
            <Row key={one.id} one={one} edit={() => setEditing(one)} remove={() => setDeleting(one)} />)}
        </Table>
      ) : null}
      {editing === 'new' ? <LicenceForm key="new" done={() => setEditing(undefined)} /> : null}
      {editing && editing !== 'new' ? <LicenceForm key={editing.id} server={editing} done={() => setEditing(undefined)} /> : null}
      {deleting ? <Remove one={deleting} done={() => setDeleting(undefined)} /> : null}
    </Card>
  )
}

function Row({ one, edit, remove }: { one: LicenseServer; edit: () => void; remove: () => void }) {
  const queries = useQueryClient()
  const test = useMutation({
    mutationFn: () => answered(testLicenseServer({ path: { id: one.id } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['licence servers'] }),
  })
  return (
    <tr>
      <td className="min-w-28">{one.name}{one.enabled ? '' : ' (not in use)'}</td>
      <td className="min-w-28">{one.vendor} {one.product}</td>
      <td className="whitespace-nowrap">{one.host}:{one.port} ({one.protocol})</td>
      <td className="whitespace-nowrap">{one.seatsInUse} of {one.seats} taken</td>
      <td><State status={one.status} /></td>
      <td className="min-w-40">
        {one.lastCheckedAt ? when(one.lastCheckedAt) : 'never'}
        {one.lastError ? <span className="block text-bad">{one.lastError}</span> : null}
        {one.status === 'READY'
          ? <span className="block text-soft">The port answers. Whether licences are free it does not tell.</span> : null}
        <Failure error={test.error} />
      </td>
      <td>
        <div className="flex flex-wrap gap-1">
          <Button aria-label={`Test ${one.name}`} busy={test.isPending} onClick={() => test.mutate()}>Test</Button>
          <Button aria-label={`Change ${one.name}`} onClick={edit}>Change</Button>
          <Button kind="danger" aria-label={`Delete ${one.name}`} onClick={remove}>Delete</Button>
        </div>
      </td>
    </tr>
  )
}

function Remove({ one, done }: { one: LicenseServer; done: () => void }) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => answered(deleteLicenseServer({ path: { id: one.id } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['licence servers'] })
      done()
    },
  })
  return (
    <Confirm open onOpenChange={(open) => !open && done()} title={`Delete ${one.name}?`} action="Delete the server"
      busy={remove.isPending}
      error={remove.error} onConfirm={() => remove.mutate()}>
      <p>Jobs that rely on it wait until you have another one for {one.vendor} {one.product}, or cancel them.</p>
    </Confirm>
  )
}
