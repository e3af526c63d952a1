import { useQuery } from '@tanstack/react-query'
import type { Storage } from '@/api/client'
import { Card, Facts, Failure, Loading, PageHead, Progress, Select } from '@/design'
import { sessionQuery } from '@/session'
import { chooseTheme, type Theme, useTheme } from '@/theme'
import { count, size, when } from '@/words'
import { Verification } from '../entry/verification'
import { CloseAccount } from './close-account'
import { LicenceServers } from './licence-servers'
import { Notices } from './notices'
import { Password } from './password'
import { Webhooks } from './webhooks'

export function Settings() {
  const session = useQuery(sessionQuery)
  const theme = useTheme()
  const account = session.data?.account
  return (
    <>
      <PageHead title="Settings" />
      <div className="grid grid-cols-1 gap-4">
        {session.isPending ? <Loading what="the account" /> : null}
        <Failure error={session.error} retry={() => void session.refetch()} />
        {session.data && account ? (
          <Card title="Account">
            <Facts facts={[
              ['Name', account.name], ['Email', `${account.email} (${session.data.emailVerified ? 'proved' : 'not proved yet'})`],
              ['Plan', account.plan],
              ['Since', when(account.createdAt)], ['Signed in until', when(session.data.expiresAt)],
              ['Account id', <code key="id">{account.accountId}</code>],
            ]} />
            {session.data.emailVerified ? null
              : <div className="mt-4 border-t border-line pt-4"><Verification email={account.email} /></div>}
          </Card>
        ) : null}
        {session.data?.storage ? <Stored storage={session.data.storage} /> : null}
        <Card title="Appearance">
          <div className="max-w-60">
            <Select label="Theme" value={theme} onChange={(event) => chooseTheme(event.target.value as Theme)}>
              <option value="system">As the system says</option>
              <option value="light">Light</option>
              <option value="dark">Dark</option>
            </Select>
          </div>
        </Card>
        <Notices />
        <LicenceServers />
        <Webhooks />
        {account ? <Password email={account.email} /> : null}
        <CloseAccount />
      </div>
    </>
  )
}

function Stored({ storage }: { storage: Storage }) {
  const { usedBytes, quotaBytes, usedObjects, quotaObjects } = storage
  return (
    <Card title="Storage">
      <p>{size(usedBytes)}{quotaBytes ? ` of ${size(quotaBytes)}` : ''} in {count(usedObjects, 'file')}{quotaObjects
        ? ` of at most ${quotaObjects.toLocaleString('en-GB')}` : ''}</p>
      {quotaBytes ? <div className="mt-2 max-w-md"><Progress percent={(100 * usedBytes) / quotaBytes} label="Storage used" /></div>
        : null}
      <p className="mt-2 text-sm text-soft">Files of a job are deleted on the page of the job.</p>
    </Card>
  )
}
