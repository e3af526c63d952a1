// Signing in by a link that works once. What it says stands behind the #, which no server sees, and goes from the address at once.

import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { answered, useSignInLink as spend } from '@/api/client'
import { Button, Failure, Loading } from '@/design'
import { sessionQuery } from '@/session'
import { begun, EntryFrame } from './frame'
import { isServed, localPath } from './next'

function taken(): { token: string; next: string } {
  const said = new URLSearchParams(window.location.hash.slice(1))
  window.history.replaceState(window.history.state, '', window.location.pathname)
  return { token: said.get('token') ?? '', next: localPath(said.get('next') ?? undefined) }
}

export function Enter() {
  const [{ token, next }] = useState(taken)
  const navigate = useNavigate()
  const session = useQuery(sessionQuery)
  const enter = useMutation({
    mutationFn: () => answered(spend({ body: { token } })),
    onSuccess: async () => {
      await begun()
      if (isServed(next)) window.location.assign(next)
      else await navigate({ href: next, replace: true })
    },
  })
  const { mutate } = enter
  const visitor = session.data === null
  useEffect(() => {
    if (visitor && token) mutate()
  }, [visitor, token, mutate])
  const signIn = <p className="text-sm"><Link to="/sign-in" search={{ next: next === '/' ? undefined : next }}>Sign in</Link></p>
  if (!token) return <EntryFrame title="The link is not complete">
    <p>Open it as it was given, to its end.</p>{signIn}
  </EntryFrame>
  if (enter.error) return <EntryFrame title="The link did not sign you in"><Failure error={enter.error} />{signIn}</EntryFrame>
  // Nobody is moved into another account unasked.
  if (session.data && !enter.isPending && !enter.isSuccess) return (
    <EntryFrame title="You are signed in already">
      <p>As <strong className="wrap-anywhere">{session.data.account.email}</strong>. Sign in by this link instead?</p>
      <div className="flex flex-wrap gap-2">
        <Button kind="primary" onClick={() => mutate()}>Sign in by the link</Button>
        <Link to="/" className="inline-flex min-h-9 items-center">Stay as I am</Link>
      </div>
    </EntryFrame>
  )
  return <EntryFrame title="Signing in"><Loading what="your account" /></EntryFrame>
}
