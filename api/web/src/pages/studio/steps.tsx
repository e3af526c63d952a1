// The steps that led to the scene. Each can be gone back to, and forth again.

import type { StudioSession } from '@/api/client'
import { Button } from '@/design'
import { operationWords } from './words'
import type { Studio } from './use-session'

export function Steps({ session, studio }: { session: StudioSession; studio: Studio }) {
  const { steps, at } = session
  const busy = studio.busy
  return (
    <section aria-label="Steps" className="rounded-xl border border-line bg-card p-3">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-1">
        <h2>Steps</h2>
        <div className="flex gap-1">
          <Button disabled={busy || at === 0} onClick={() => studio.step.mutate(1)}>Undo</Button>
          <Button disabled={busy || at >= steps.length - 1} onClick={() => studio.step.mutate(-1)}>Redo</Button>
        </div>
      </div>
      <ol className="grid max-h-60 gap-1 overflow-y-auto lg:max-h-[55dvh]">
        {steps.map((step, i) => (
          <li key={i}>
            <button type="button" disabled={busy || i === at} aria-current={i === at ? 'step' : undefined}
              onClick={() => studio.step.mutate(at - i)}
              className={`min-h-6 w-full rounded-md border px-2 py-1 text-left text-sm wrap-anywhere ${i === at
              ? 'border-accent font-medium' : 'border-transparent hover:border-line'} ${i > at ? 'text-soft line-through' : ''}`}>
              {i === 0 ? 'As opened' : step.operations.map(operationWords).join('; ') || 'A scene'}
              {i === at ? <span className="block text-xs font-normal text-soft">seen now</span>
                : i > at ? <span className="sr-only"> (undone)</span> : null}
            </button>
          </li>
        ))}
      </ol>
    </section>
  )
}
