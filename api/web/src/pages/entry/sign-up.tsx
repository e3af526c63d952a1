import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { answered, type BrowserSession, signUp } from '@/api/client'
import { Button, Failure, TextField } from '@/design'
import { queries } from '@/session'
import { begun, EntryFrame, OrganisationSignIn, useNext } from './frame'
import { balanceQuery, Verification } from './verification'

const minPassword = 8

export function SignUp() {
  const { next, go } = useNext()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [session, setSession] = useState<BrowserSession | null>()
  const open = useMutation({
    mutationFn: async () => {
      await answered(signUp({ body: { email: email.trim(), password, name: name.trim() || undefined } }))
      const found = await begun()
      // Whoever has the free credit already need not hear of the proof now; the settings have it.
      const told = found !== null && !found.emailVerified && (await queries.fetchQuery(balanceQuery)).total_credited_cents === 0
      return { found, told }
    },
    onSuccess: async ({ found, told }) => {
      if (found && !told) await go()
      else setSession(found)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    open.mutate()
  }
  const search = { next: next === '/' ? undefined : next }
  if (session) {
    return (
      <EntryFrame title="Your account is open">
        <Verification email={session.account.email} />
        <Button kind="primary" onClick={() => void go()}>Go on</Button>
      </EntryFrame>
    )
  }
  if (session === null) {
    return (
      <EntryFrame title="Look at your mail">
        <p>A mail is on its way to <strong className="wrap-anywhere">
          {email}
        </strong>. Follow its link to open the account, then sign in.</p>
        <p><Link to="/sign-in" search={search}>Sign in</Link></p>
      </EntryFrame>
    )
  }
  return (
    <EntryFrame title="Open an account">
      <form className="grid gap-4" onSubmit={submit}>
        <TextField label="Email" type="email" name="email" autoComplete="username" maxLength={254} required autoFocus value={email}
          onChange={(event) => setEmail(event.target.value)} />
        <TextField label="Name (optional)" name="name" autoComplete="name" maxLength={100} value={name}
          onChange={(event) => setName(event.target.value)} />
        <TextField label="Password" type="password" name="new-password" autoComplete="new-password" minLength={minPassword}
          maxLength={128} required
          hint={`At least ${minPassword} characters; any are allowed.`} value={password}
          onChange={(event) => setPassword(event.target.value)} />
        <Failure error={open.error} />
        <Button kind="primary" type="submit" busy={open.isPending}>Open the account</Button>
      </form>
      <OrganisationSignIn next={next} />
      <p className="text-sm text-soft">You have one? <Link to="/sign-in" search={search}>Sign in</Link></p>
    </EntryFrame>
  )
}
