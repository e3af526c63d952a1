// A picture, or a film of a turn, for publication: a job that costs money.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { answered, estimateJob, newKey, renderStudioScene, type StudioRenderRequest } from '@/api/client'
import { Button, Check, Dialog, Failure, Select, TextField } from '@/design'
import { useDraft } from '@/design/draft'
import { money } from '@/words'

const resolutions: Record<string, string> = { '1920x1080': 'Full HD, 1920 × 1080', '3840x2160': '4K, 3840 × 2160',
  '2400x2400': 'Square, 2400 × 2400', '7680x4320': '8K, 7680 × 4320' }
const blank = { engine: 'molstar' as 'molstar' | 'cycles', resolution: '1920x1080', samples: '64', transparent: false, film: false,
  frames: '48' }

type Wanted = typeof blank

function requestOf(wanted: Wanted, sessionId: string, jobName: string): StudioRenderRequest {
  return {
    sessionId, jobName, renderEngine: wanted.engine, resolution: wanted.resolution, transparent: wanted.transparent,
    ...(wanted.engine === 'cycles' ? { samples: Number(wanted.samples) } : {}),
    ...(wanted.film ? { frames: Number(wanted.frames) } : {}),
  }
}

/** The price of the picture that a request is for. */
function usePrice(wanted: Wanted) {
  const { engine, resolution, samples, film, frames } = wanted
  return useQuery({
    queryKey: ['studio', 'price', engine, resolution, engine === 'cycles' && samples, film && frames],
    queryFn: () => answered(estimateJob({ body: {
      jobType: 'molecular',
      metadata: { renderEngine: engine, resolution, ...(engine === 'cycles' ? { samples: Number(samples) } : {}) },
      ...(film ? { parameters: { Animation: 'turntable', TurntableFrames: frames, Frames: `1-${frames}` } } : {}),
    } })),
    retry: false, placeholderData: (before) => before,
  })
}

export function OrderDialog({ sessionId, title, done }: { sessionId: string; title: string; done: () => void }) {
  const queries = useQueryClient()
  const { draft, change } = useDraft('studio-picture', blank)
  const [key] = useState(newKey)
  const price = usePrice(draft)
  const order = useMutation({
    mutationFn: () =>
    answered(renderStudioScene({ body: requestOf(draft, sessionId, title), headers: { 'Idempotency-Key': key } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['jobs'] }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    order.mutate()
  }
  if (order.data) {
    return (
      <Dialog open onOpenChange={(open) => !open && done()} title="Ordered">
        <p role="status">{order.data.message} It is expected to cost {money(order.data.estimatedCost)}.</p>
        <p className="mt-3"><Link to="/jobs/$jobId" params={{ jobId: order.data.jobId }}>Watch the picture being made</Link></p>
      </Dialog>
    )
  }
  return (
    <Dialog open onOpenChange={(open) => !open && done()} title="Order a picture">
      <form className="grid gap-4" onSubmit={submit}>
        <div className="grid gap-4 sm:grid-cols-2">
          <Select label="Engine" value={draft.engine}
            onChange={(event) => change({ engine: event.target.value as Wanted['engine'] })}>
            <option value="molstar">Mol*: drawn, fast</option>
            <option value="cycles">Cycles: ray-traced</option>
          </Select>
          <Select label="Size" value={draft.resolution} onChange={(event) => change({ resolution: event.target.value })}>
            {Object.entries(resolutions).map(([size, words]) => <option key={size} value={size}>{words}</option>)}
          </Select>
          {draft.engine === 'cycles' ? (
            <TextField label="Samples a pixel" type="number" required min={1} max={4096} value={draft.samples}
              hint="More make it smoother, and dearer." onChange={(event) => change({ samples: event.target.value })} />
          ) : null}
          {draft.film ? (
            <TextField label="Frames of the turn" type="number" required min={2} max={720} value={draft.frames}
              onChange={(event) => change({ frames: event.target.value })} />
          ) : null}
        </div>
        <Check label="No background" checked={draft.transparent}
          onChange={(event) => change({ transparent: event.target.checked })} />
        <Check label="A film in which the scene turns around once" checked={draft.film}
          onChange={(event) => change({ film: event.target.checked })} />
        <p role="status" className="text-sm">
          {price.isPending ? 'Asking for the price…' : null}
          {price.data ? `Expected to cost ${money(price.data.estimatedCost)}, ` : null}
          {price.data ? `between ${money(price.data.range.low)} and ${money(price.data.range.high)}.` : null}
        </p>
        <Failure error={order.error ?? price.error} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={done}>Cancel</Button>
          <Button kind="primary" type="submit" busy={order.isPending}>Order it</Button>
        </div>
      </form>
    </Dialog>
  )
}
