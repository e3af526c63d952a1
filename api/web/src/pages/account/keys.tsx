import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, type Key, listKeys, revokeKey } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, PageHead, Table } from '@/design'
import { Confirm } from '@/design/confirm'
import { when } from '@/words'
import { CreateKey } from './create-key'

/** What a key is now, in a word. */
function state(key: Key): string {
  if (key.revokedAt) return `revoked ${when(key.revokedAt)}`
  if (key.expiresAt && Date.parse(key.expiresAt) < Date.now()) return `expired ${when(key.expiresAt)}`
  return key.expiresAt ? `works until ${when(key.expiresAt)}` : 'works'
}

export function Keys() {
  const keys = useQuery({ queryKey: ['keys'], queryFn: () => answered(listKeys()) })
  const [creating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Key>()
  return (
    <>
      <PageHead title="API keys" lead="For the command line, for programs and for agents. Who has a key acts for you."
        actions={<Button kind="primary" onClick={() => setCreating(true)}>New key</Button>} />
      {keys.isPending ? <Loading what="the keys" /> : null}
      <Failure error={keys.error} retry={() => void keys.refetch()} />
      {keys.data?.keys.length === 0
        ? <Empty title="No key yet">Make one to use the command line or the <a href="/docs">API</a>.</Empty> : null}
      {keys.data && keys.data.keys.length > 0 ? (
        <Card>
          <Table caption="API keys" head={['Name', 'Key', 'May', 'Environment', 'State', 'Made', 'Last used', 'Actions']}>
            {keys.data.keys.map((key) => (
              <tr key={key.id}>
                <td className="min-w-28">{key.name}</td>
                <td className="font-mono whitespace-nowrap">{key.prefix}…{key.last4}</td>
                <td className="min-w-40">{key.scopes.join(', ')}</td>
                <td>{key.environment}</td>
                <td className={`min-w-32 ${key.revokedAt ? 'text-soft' : ''}`}>{state(key)}</td>
                <td className="whitespace-nowrap">{when(key.createdAt)}</td>
                <td className="whitespace-nowrap">{key.lastUsedAt ? when(key.lastUsedAt) : 'never'}</td>
                <td>
                  {key.revokedAt ? null
                    : <Button kind="danger" aria-label={`Revoke ${key.name}`} onClick={() => setRevoking(key)}>Revoke</Button>}
                </td>
              </tr>
            ))}
          </Table>
        </Card>
      ) : null}
      <CreateKey open={creating} onOpenChange={setCreating} />
      {revoking ? <Revoke key={revoking.id} one={revoking} done={() => setRevoking(undefined)} /> : null}
    </>
  )
}

function Revoke({ one, done }: { one: Key; done: () => void }) {
  const queries = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => answered(revokeKey({ path: { id: one.id } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['keys'] })
      done()
    },
  })
  return (
    <Confirm open onOpenChange={(open) => !open && done()} title={`Revoke ${one.name}?`} action="Revoke the key"
      busy={revoke.isPending}
      error={revoke.error} onConfirm={() => revoke.mutate()}>
      <p>
        Whatever uses the key ending in <code>{one.last4}</code> stops working within two seconds. A revoked key never works again.
      </p>
    </Confirm>
  )
}
