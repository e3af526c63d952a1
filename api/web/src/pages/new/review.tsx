// The request as it will be sent, and the same on the command line.

import { useState } from 'react'
import { Button, Card } from '@/design'
import { copyText } from '@/design/clipboard'
import type { Plan } from './frame'

/** More than this is not worth reading on a page; the copy is whole. */
const shownChars = 20_000

function Text({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <div>
      <div className="mb-1 flex items-center justify-between gap-2">
        <h3 className="text-sm font-medium">{label}</h3>
        <Button
          kind="quiet" aria-label={`Copy: ${label}`}
          onClick={() => void copyText(text).then(setCopied)}
        >{copied ? 'Copied' : 'Copy'}</Button>
      </div>
      <pre
        tabIndex={0} role="region" aria-label={label}
        className="max-h-80 overflow-auto rounded-md border border-line bg-page p-3 text-xs"
      >
        {text.slice(0, shownChars)}
        {text.length > shownChars ? `\n… ${(text.length - shownChars).toLocaleString('en-GB')} characters more` : ''}
      </pre>
    </div>
  )
}

export function Review({ plan, command }: { plan: Plan; command?: string }) {
  if (!plan.request) {
    return <Card title="Review"><p className="text-sm text-soft">The exact request appears here once nothing is missing.</p></Card>
  }
  const scene = plan.scene ?? `‹the key of ${plan.document?.name ?? 'the input'}, which is stored when you submit›`
  return (
    <Card title="Review">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <Text label="POST /api/v1/jobs/submit" text={JSON.stringify({ ...plan.request, sceneFile: scene }, null, 2)} />
        {command ? <Text label="The same on the command line" text={command} /> : null}
      </div>
    </Card>
  )
}
