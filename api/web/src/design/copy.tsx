// A text to take along, with a button that copies it.

import { useEffect, useState } from 'react'
import { Button } from '.'
import { copyText } from './clipboard'

export function CopyText({ label, text }: { label: string; text: string }) {
  const [said, setSaid] = useState('')
  useEffect(() => {
    if (!said) return
    const timer = setTimeout(() => setSaid(''), 4000)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async () =>
    setSaid((await copyText(text)) ? 'Copied.' : 'The browser does not let pages copy: mark the text and copy it.')
  return (
    <div className="min-w-0">
      <p className="mb-1 text-sm font-medium">{label}</p>
      <div className="flex flex-wrap items-start gap-2">
        <code className="min-w-0 flex-1 rounded-md border border-line bg-page px-3 py-1.5 text-sm wrap-anywhere">{text}</code>
        <Button aria-label={`Copy: ${label}`} onClick={() => void copy()}>Copy</Button>
      </div>
      <p role="status" className="min-h-5 text-sm text-soft">{said}</p>
    </div>
  )
}
