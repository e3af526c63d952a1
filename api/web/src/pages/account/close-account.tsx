// Closing the account: for good, with the password, and with the credit that is given up named to the penny.

import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, closeAccount, getBalance } from '@/api/client'
import { Button, Card, Check, TextField } from '@/design'
import { Confirm } from '@/design/confirm'
import { queries } from '@/session'
import { pence } from '@/words'

export function CloseAccount() {
  const [asking, setAsking] = useState(false)
  return (
    <Card title="Close the account">
      <p className="mb-3 max-w-prose">
        Sessions, keys and shares end at once. Files, results, projects and settings are deleted within minutes. Bills are kept,
        without your name and address.
      </p>
      <Button kind="danger" onClick={() => setAsking(true)}>Close the account</Button>
      {asking ? <Closing done={() => setAsking(false)} /> : null}
    </Card>
  )
}

function Closing({ done }: { done: () => void }) {
  const balance = useQuery({ queryKey: ['balance'], queryFn: () => answered(getBalance()) })
  const [password, setPassword] = useState('')
  const [forfeits, setForfeits] = useState(false)
  const left = balance.data?.available_cents ?? 0
  const close = useMutation({
    mutationFn: () =>
    answered(closeAccount({ body: { password: password || undefined, forfeitCreditPence: forfeits ? left : undefined } })),
    onSuccess: () => {
      queries.clear()
      queries.setQueryData(['session'], null)
    },
    onError: () => void balance.refetch(),
  })
  return (
    <Confirm open onOpenChange={(open) => !open && done()} title="Close the account for good?" action="Close the account for good"
      busy={close.isPending}
      error={close.error} disabled={left > 0 && !forfeits} onConfirm={() => close.mutate()}>
      <p>This cannot be undone. Jobs that run have to be cancelled first.</p>
      {left > 0 ? (
        <Check label={`I give up the ${pence(left)} of credit that are left.`} checked={forfeits}
          onChange={(event) => setForfeits(event.target.checked)} />
      ) : null}
      <TextField label="Password" type="password" autoComplete="current-password" maxLength={128} value={password}
        hint="Who signs in with an organisation alone leaves it empty, within ten minutes of signing in."
        onChange={(event) => setPassword(event.target.value)} />
    </Confirm>
  )
}
