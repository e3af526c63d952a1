// A content to read: members that open.

import { useState } from 'react'
import { Button } from '@/design'
import { count } from '@/words'
import type { Json } from './diff'

const mostAtOnce = 100

export function ContentTree({ value }: { value: Json }) {
  if (typeof value !== 'object' || value === null) return <Plain value={value} />
  if (Object.keys(value).length === 0) return <p className="text-sm text-soft">Nothing yet.</p>
  return <Members value={value} open />
}

function Plain({ value }: { value: null | boolean | number | string }) {
  return <code className="text-sm whitespace-pre-wrap wrap-anywhere">
    {value === null ? 'null' : typeof value === 'string' ? value || '""' : String(value)}
  </code>
}

const sizeWords = (value: Json[] | { [member: string]: Json }) => (Array.isArray(value) ? count(value.length, 'entry', 'entries')
  : count(Object.keys(value).length, 'member'))

function Members({ value, open }: { value: Json[] | { [member: string]: Json }; open?: boolean }) {
  const [most, setMost] = useState(mostAtOnce)
  const members = Object.entries(value)
  return (
    <div>
      <ul className="grid gap-0.5 text-sm">
        {members.slice(0, most).map(([name, member]) => (
          <li key={name} className="min-w-0">
            {typeof member === 'object' && member !== null
              ? <Nested name={name} value={member} open={open && members.length <= 3} /> : (
              <span className="block py-0.5 pl-4"><span className="text-soft">{name}:</span> <Plain value={member} /></span>
            )}
          </li>
        ))}
      </ul>
      {members.length > most
        ? <Button kind="quiet" onClick={() => setMost(most + mostAtOnce)}>{members.length - most} more</Button> : null}
    </div>
  )
}

/** What is inside is only written once it is opened: a content may have megabytes. */
function Nested({ name, value, open: first = false }: { name: string; value: Json[] | { [member: string]: Json };
  open?: boolean }) {
  const [open, setOpen] = useState(first)
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="min-h-6 cursor-pointer wrap-anywhere"><span className="text-soft">
        {name}
      </span> ({sizeWords(value)})</summary>
      {open ? <div className="ml-2 border-l border-line pl-2"><Members value={value} /></div> : null}
    </details>
  )
}
