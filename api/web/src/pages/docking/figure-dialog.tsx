// A pose as a figure by the render farm: the price first.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { answered, newKey, renderStudioScene } from '@/api/client'
import { Button, buttonClass, Check, Dialog, Failure, Select } from '@/design'
import { Price, usePrice } from '@/pages/new/price'
import { money } from '@/words'

type Engine = 'molstar' | 'cycles'

const sizes = ['1920x1080', '2560x1440', '3840x2160']

export function FigureButton({ poseId, title }: { poseId: string; title: string }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>Make a figure</Button>
      <Dialog open={open} onOpenChange={setOpen} title="Make a figure">
        {open ? <Order poseId={poseId} title={title} close={() => setOpen(false)} /> : null}
      </Dialog>
    </>
  )
}

function Order({ poseId, title, close }: { poseId: string; title: string; close: () => void }) {
  const [renderEngine, setEngine] = useState<Engine>('molstar')
  const [resolution, setResolution] = useState(sizes[0]!)
  const [transparent, setTransparent] = useState(false)
  const price = usePrice({ jobType: 'molecular', metadata: { renderEngine, resolution } })
  const queries = useQueryClient()
  // One wish is one job, however often it is sent; another wish is another job.
  const wish = JSON.stringify([renderEngine, resolution, transparent])
  const key = useRef({ wish, key: newKey() })
  if (key.current.wish !== wish) key.current = { wish, key: newKey() }
  const order = useMutation({
    mutationFn: () =>
      answered(
        renderStudioScene({
          body: { poseId, renderEngine, resolution, transparent, jobName: title.slice(0, 200) },
          headers: { 'Idempotency-Key': key.current.key },
        }),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['jobs'] })
      void queries.invalidateQueries({ queryKey: ['balance'] })
    },
  })
  if (order.data) {
    return (
      <div className="grid gap-3">
        <p role="status">
          The figure is on its way, for about {money(order.data.estimatedCost)}. Its job shows it when it is drawn.
        </p>
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>Stay here</Button>
          <Link to="/jobs/$jobId" params={{ jobId: order.data.jobId }} className={buttonClass('primary')}>
            Go to the job
          </Link>
        </div>
      </div>
    )
  }
  return (
    <div className="grid gap-4">
      <p className="text-sm text-soft">The pose in its pocket, with its contacts and their lengths, on white.</p>
      <Select label="Drawn by" value={renderEngine} onChange={(event) => setEngine(event.target.value as Engine)}>
        <option value="molstar">Mol*: clear and quick</option>
        <option value="cycles">Cycles: traces rays, for covers</option>
      </Select>
      <Select label="Size in pixels" value={resolution} onChange={(event) => setResolution(event.target.value)}>
        {sizes.map((size) => (
          <option key={size} value={size}>
            {size.replace('x', ' × ')}
          </option>
        ))}
      </Select>
      <Check label="Without a background" checked={transparent} onChange={(event) => setTransparent(event.target.checked)} />
      {price.error ? <Failure error={price.error} /> : <Price query={price} />}
      <Failure error={order.error} />
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={close}>Leave it</Button>
        <Button kind="primary" busy={order.isPending} disabled={!price.data || price.settling} onClick={() => order.mutate()}>
          Make it
        </Button>
      </div>
    </div>
  )
}
