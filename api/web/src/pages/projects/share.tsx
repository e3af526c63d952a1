// A link for people without an account. It shows one version for ever, until it is revoked.

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, newKey, type Project, revokeProjectShare, shareProject } from '@/api/client'
import { Button, Card, Failure } from '@/design'
import { Confirm } from '@/design/confirm'
import { CopyText } from '@/design/copy'
import { changed } from './queries'

export function Share({ project }: { project: Project }) {
  const { projectId, currentVersion, share } = project
  const [revoking, setRevoking] = useState(false)
  const make = useMutation({
    mutationFn: () =>
    answered(shareProject({ path: { projectId }, body: { expectedVersion: currentVersion },
    headers: { 'Idempotency-Key': newKey() } })),
    onSuccess: changed,
  })
  const revoke = useMutation({
    mutationFn: () => answered(revokeProjectShare({ path: { projectId }, query: { expectedVersion: currentVersion } })),
    onSuccess: () => {
      changed()
      setRevoking(false)
    },
  })
  return (
    <Card title="Share">
      {share ? (
        <div className="grid gap-2">
          <p>Whoever has this link sees version {share.version}, without an account. Later versions do not move it.</p>
          <CopyText label="Link" text={window.location.origin + share.url} />
          <div className="flex flex-wrap gap-2">
            <a href={share.url} className="inline-flex min-h-9 items-center">Look at it</a>
            {share.version < currentVersion ? (
              <Button busy={make.isPending}
                onClick={() => make.mutate()}>Share version {currentVersion} by a new link instead</Button>
            ) : null}
            <Button kind="danger" onClick={() => setRevoking(true)}>Revoke</Button>
          </div>
        </div>
      ) : (
        <div className="grid gap-2">
          <p className="text-soft">A link shows this version to anybody who has it, and nothing of you.</p>
          <div><Button busy={make.isPending} onClick={() => make.mutate()}>Share version {currentVersion}</Button></div>
        </div>
      )}
      <Failure error={make.error} />
      <Confirm open={revoking} onOpenChange={setRevoking} title="Revoke the link?" action="Revoke the link" busy={revoke.isPending}
        error={revoke.error} onConfirm={() => revoke.mutate()}>
        <p>It stops working at once, for everybody. A new link will be another one.</p>
      </Confirm>
    </Card>
  )
}
