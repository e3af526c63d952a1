// The scene of a project, back in the Studio.

import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { answered, newKey, openStudioSession } from '@/api/client'
import { Button, Card, Failure } from '@/design'
import { count } from '@/words'
import { studioScene } from './queries'

export function OpenInStudio({ projectId, revision, content }: { projectId: string; revision?: number; content: unknown }) {
  const navigate = useNavigate()
  const [key] = useState(newKey)
  const scene = studioScene(content)
  const open = useMutation({
    mutationFn: () => answered(openStudioSession({ body: { projectId, revision }, headers: { 'Idempotency-Key': key } })),
    onSuccess: (session) => navigate({ to: '/studio/sessions/$sessionId', params: { sessionId: session.sessionId } }),
  })
  if (!scene) return null
  return (
    <Card title="Scene">
      <p className="mb-3">{scene.title || 'A scene of the Studio'}, with {count(scene.structures, 'structure')}.</p>
      <Button kind="primary" busy={open.isPending} onClick={() => open.mutate()}>Open in the Studio</Button>
      <div className="mt-2"><Failure error={open.error} /></div>
    </Card>
  )
}
