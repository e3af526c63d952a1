// A file that is chosen and goes up at once, so that the price can be worked out from what it holds.

import { useId, useRef, useState } from 'react'
import { Button, Failure, Progress } from '@/design'
import { extensionOf, upload, type Uploaded } from '@/uploads'
import { size } from '@/words'

/** A file of a draft. */
export interface StoredFile extends Uploaded {
  name: string
}

/** A chosen file as it is unpacked: requests name plain files. */
export async function plainFile(file: File): Promise<{ name: string; content: Blob }> {
  if (!/\.gz$/i.test(file.name)) return { name: file.name, content: file }
  const unpacked = file.stream().pipeThrough(new DecompressionStream('gzip'))
  try {
    return { name: file.name.replace(/\.gz$/i, ''), content: await new Response(unpacked).blob() }
  } catch {
    throw new Error(`${file.name} cannot be unpacked. Is it a gzip file?`)
  }
}

interface Props {
  label: string
  hint?: string
  accept: string
  error?: string
  several?: boolean
  /** What is chosen now. */
  chosen?: StoredFile
  /** Takes a file; it may refuse it by throwing. The share goes from 0 to 1. */
  take: (file: { name: string; content: Blob }, signal: AbortSignal, onProgress: (share: number) => void) => Promise<void>
  onRemove?: () => void
}

const fileButton = 'file:mr-3 file:min-h-7 file:rounded file:border-0 file:bg-line file:px-2 file:text-ink'

export function FileField({ label, hint, accept, error, several, chosen, take, onRemove }: Props) {
  const id = useId()
  const [share, setShare] = useState<number>()
  const [failure, setFailure] = useState<unknown>()
  const going = useRef<AbortController>(undefined)
  const choose = async (files: File[]) => {
    const control = new AbortController()
    going.current = control
    setFailure(undefined)
    setShare(0)
    try {
      for (const file of files) await take(await plainFile(file), control.signal, setShare)
    } catch (caught) {
      if (!control.signal.aborted) setFailure(caught)
    } finally {
      setShare(undefined)
    }
  }
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">{label}</label>
      <input
        id={id} type="file" accept={accept} multiple={several} aria-describedby={`${id}h`} aria-invalid={error ? true : undefined}
        className={`block w-full max-w-full rounded-md border border-line bg-card p-1.5 text-sm ${fileButton}`}
        onChange={(event) => {
          const files = [...(event.target.files ?? [])]
          event.target.value = '' // so that the same file may be chosen again
          if (files.length > 0) void choose(files)
        }}
      />
      {hint ? <p id={`${id}h`} className="mt-1 text-sm text-soft">{hint}</p> : null}
      {share !== undefined ? (
        <div className="mt-2 flex items-center gap-3">
          <Progress percent={100 * share} label={`Sending the file for “${label}”`} />
          <Button kind="quiet" onClick={() => going.current?.abort()}>Stop</Button>
        </div>
      ) : null}
      {chosen ? (
        <p className="mt-2 flex flex-wrap items-center gap-2 text-sm">
          <span className="wrap-anywhere">{chosen.name}, {size(chosen.byteSize)}</span>
          {onRemove ? <Button kind="quiet" onClick={onRemove} aria-label={`Take it out: ${chosen.name}`}>Take it out</Button> : null}
        </p>
      ) : null}
      {error ? <p className="mt-1 text-sm text-bad">{error}</p> : null}
      {failure ? <div className="mt-2"><Failure error={failure} /></div> : null}
    </div>
  )
}

/** Takes a file as it is. */
export const storing = (set: (file: StoredFile) => void, check?: (name: string) => void): Props['take'] =>
  async ({ name, content }, signal, onProgress) => {
    check?.(name)
    set({ name, ...(await upload(content, name, { signal, onProgress })) })
  }

/** Refuses a file whose name ends in none of these. */
export const endsIn = (formats: string[]) => (name: string) => {
  if (formats.includes(extensionOf(name))) return
  throw new Error(`${name}: choose a file that ends in ${formats.map((one) => '.' + one).join(', ')}.`)
}
