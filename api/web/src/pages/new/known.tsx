// What of a job its account has run before, and whether that is run again.

import type { EstimateResponse } from '@/api/client'
import { Check } from '@/design'
import { count } from '@/words'

/** The switch of a form whose jobs can be known, as its draft holds it. */
export interface Again {
  noReuse: boolean
  set: (changes: { noReuse: boolean }) => void
}

interface Props {
  price?: EstimateResponse
  again: Again
}

export function KnownWork({ price, again }: Props) {
  const [known, tasks] = [price?.knownTasks ?? 0, price?.tasks ?? 0]
  return (
    <div className="mt-3 grid gap-2 border-t border-line pt-3 text-sm">
      <p role="status" className="empty:hidden">{known > 0 ? words(known, tasks) : ''}</p>
      <Check label="Run everything again" checked={again.noReuse} onChange={(event) => again.set({ noReuse: event.target.checked })}
        hint="Otherwise tasks that you have run before are not run again, and cost nothing." />
    </div>
  )
}

const words = (known: number, tasks: number) =>
  `${known.toLocaleString('en-GB')} of ${count(tasks, 'task')} ${known === 1 ? 'is' : 'are'} known and will cost nothing.`
