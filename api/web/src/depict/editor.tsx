// A place to draw a structure. It comes with the library that draws structures, when it is opened.

import { type Ref, useEffect, useImperativeHandle, useRef, useState } from 'react'
import { Failure, Loading } from '@/design'
import type { StructureEditor } from './draw'

export interface EditorHandle {
  /** What is drawn, as SMILES; "" while nothing is. */
  smiles(): string
}

export function Editor({ ref }: { ref: Ref<EditorHandle> }) {
  const place = useRef<HTMLDivElement>(null)
  const editor = useRef<StructureEditor>(undefined)
  const [state, setState] = useState<{ ready: boolean; error?: unknown }>({ ready: false })
  useEffect(() => {
    let gone = false
    import('./draw').then(
      ({ openEditor }) => {
        if (gone) return
        editor.current = openEditor(place.current!)
        setState({ ready: true })
      },
      (error: unknown) => setState({ ready: false, error }),
    )
    return () => {
      gone = true
      editor.current?.close()
      editor.current = undefined
    }
  }, [])
  useImperativeHandle(ref, () => ({ smiles: () => editor.current?.smiles() ?? '' }), [])
  return (
    <div>
      <Failure error={state.error} />
      {state.ready || state.error ? null : <Loading what="the drawing board" />}
      <div ref={place} data-ready={state.ready} className="h-96 w-full overflow-hidden rounded-md border border-line bg-white" />
    </div>
  )
}
