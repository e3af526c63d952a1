import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answered, changePassword } from '@/api/client'
import { Button, Card, Failure, TextField } from '@/design'

export function Password({ email }: { email: string }) {
  const [current, setCurrent] = useState('')
  const [fresh, setFresh] = useState('')
  const change = useMutation({
    mutationFn: () => answered(changePassword({ body: { currentPassword: current, newPassword: fresh } })),
    onSuccess: () => {
      setCurrent('')
      setFresh('')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change.mutate()
  }
  return (
    <Card title="Password">
      <form className="grid max-w-md gap-4" onSubmit={submit}>
        {/* Password managers want to know whose password this is. */}
        <input type="email" name="email" autoComplete="username" value={email} readOnly hidden />
        <TextField label="Password until now" type="password" autoComplete="current-password" required maxLength={128}
          value={current}
          onChange={(event) => setCurrent(event.target.value)} />
        <TextField label="New password" type="password" autoComplete="new-password" required minLength={8} maxLength={128}
          value={fresh}
          hint="At least 8 characters. Other browsers have to sign in again; API keys stay."
          onChange={(event) => setFresh(event.target.value)} />
        <Failure error={change.error} />
        <p role="status" className="text-sm text-good">
          {change.isSuccess ? 'The password is changed. Other browsers have to sign in again.' : ''}
        </p>
        <div><Button type="submit" busy={change.isPending}>Change the password</Button></div>
      </form>
    </Card>
  )
}
