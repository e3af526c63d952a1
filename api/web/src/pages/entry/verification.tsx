// An address that is not proved yet: what waits for it, and how to get the mail again.

import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, getBalance, sendVerification } from '@/api/client'
import { Button, Failure } from '@/design'

/** Somebody in a network that the deployment trusts has the free credit already. */
export const balanceQuery = { queryKey: ['balance'], queryFn: () => answered(getBalance()) }

export function Verification({ email }: { email: string }) {
  const send = useMutation({ mutationFn: () => answered(sendVerification()) })
  const balance = useQuery(balanceQuery)
  const waits = balance.data?.total_credited_cents === 0
  return (
    <div className="grid gap-3">
      <p>Prove that <strong className="wrap-anywhere">{email}</strong> is yours: follow the link in the mail.</p>
      {waits ? <p className="text-soft">Your free credit comes then. Everything else works already.</p> : null}
      <Failure error={send.error} />
      <p role="status" className="text-sm text-good empty:hidden">
        {send.isSuccess ? 'The link is on its way again. Look among the unwanted mail too.' : ''}
      </p>
      <div><Button busy={send.isPending} onClick={() => send.mutate()}>Send the link again</Button></div>
    </div>
  )
}
