// A small picture at once, from a renderer that is kept warm.

import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { answered, previewStudioScene } from '@/api/client'
import { Button, Check, Dialog, Failure, Spinner } from '@/design'
import { saveFrom } from '@/design/save'

const widthPixels = 960
const heightPixels = 540

export async function smallPicture(sessionId: string, transparent = false): Promise<Blob> {
  return (await answered(previewStudioScene({ body: { sessionId, widthPixels, heightPixels, transparent },
    parseAs: 'blob' }))) as Blob
}

/** An address of a blob, good while the page shows it. */
export function useAddress(blob: Blob | undefined): string | undefined {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    if (!blob) return
    const made = URL.createObjectURL(blob)
    setAddress(made)
    return () => {
      setAddress(undefined)
      URL.revokeObjectURL(made)
    }
  }, [blob])
  return address
}

export function PictureDialog({ sessionId, title, done }: { sessionId: string; title: string; done: () => void }) {
  const [transparent, setTransparent] = useState(false)
  const draw = useMutation({ mutationFn: (clear: boolean) => smallPicture(sessionId, clear) })
  const address = useAddress(draw.data)
  const { mutate } = draw
  useEffect(() => mutate(transparent), [mutate, transparent])
  return (
    <Dialog open onOpenChange={(open) => !open && done()} title="Small picture">
      <div className="grid gap-3">
        {draw.isPending ? <p role="status" className="flex items-center gap-2 text-soft"><Spinner /> Drawing…</p> : null}
        {draw.error ? (
          <>
            <Failure error={draw.error} retry={() => draw.mutate(transparent)} />
            <p className="text-sm text-soft">
              Small pictures come from renderers that wait for them. When none is free, order a picture instead: a job waits for
              its turn.
            </p>
          </>
        ) : null}
        {address ? (
          <img src={address} alt={`The scene of ${title}`} width={widthPixels} height={heightPixels}
            className="h-auto w-full rounded-md border border-line" />
        ) : null}
        <Check label="No background" checked={transparent} onChange={(event) => setTransparent(event.target.checked)} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={done}>Close</Button>
          <Button kind="primary" disabled={!address} onClick={() => address && saveFrom(address, 'scene.png')}>Save as PNG</Button>
        </div>
      </div>
    </Dialog>
  )
}

/** What a browser without WebGL shows in place of the viewer. */
export function usePictureInstead(sessionId: string, sceneVersion: number, wanted: boolean) {
  const picture = useQuery({
    queryKey: ['studio', 'picture', sessionId, sceneVersion], queryFn: () => smallPicture(sessionId), enabled: wanted,
    staleTime: Infinity, retry: false, placeholderData: (before) => before,
  })
  return { address: useAddress(picture.data), error: picture.error, again: () => void picture.refetch() }
}
