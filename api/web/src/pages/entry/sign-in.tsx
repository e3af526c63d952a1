import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { answered, signIn } from '@/api/client'
import { Button, Failure, TextField } from '@/design'
import { begun, EntryFrame, OrganisationSignIn, useNext } from './frame'

export function SignIn() {
  const { next, go } = useNext()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const enter = useMutation({
    mutationFn: () => answered(signIn({ body: { email: email.trim(), password } })),
    onSuccess: async () => {
      await begun()
      await go()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    enter.mutate()
  }
  return (
    <EntryFrame title="Sign in" lead={next === '/' ? undefined : 'Then you come back to the page that you asked for.'}>
      <form className="grid gap-4" onSubmit={submit}>
        <TextField label="Email" type="email" name="email" autoComplete="username" maxLength={254} required autoFocus value={email}
          onChange={(event) => setEmail(event.target.value)} />
        <TextField label="Password" type="password" name="password" autoComplete="current-password" maxLength={128} required
          value={password}
          onChange={(event) => setPassword(event.target.value)} />
        <Failure error={enter.error} />
        <Button kind="primary" type="submit" busy={enter.isPending}>Sign in</Button>
      </form>
      <OrganisationSignIn next={next} />
      <p className="text-sm text-soft">No account yet? <Link to="/sign-up" search={{ next: next === '/' ? undefined : next }}>
        Open one
      </Link></p>
    </EntryFrame>
  )
}
