// The viewer where a browser can draw: a canvas, what is below the pointer, buttons for the camera.

import { useEffect, useImperativeHandle, useRef, useState } from 'react'
import { Button, Spinner } from '@/design'
import { useDark } from '@/theme'
import { lociOf, pickedOf } from './atoms'
import { moveCamera, type Move } from './camera'
import { drawn, type Engine, openEngine, show } from './engine'
import { NoWebGL } from './no-webgl'
import type { ViewerProps } from './types'

const moves: [Move, string, string][] = [
  ['reset', 'Reset', 'Reset the view'],
  ['closer', 'Closer', 'Zoom in'],
  ['farther', 'Farther', 'Zoom out'],
  ['left', 'Left', 'Turn to the left'],
  ['right', 'Right', 'Turn to the right'],
  ['up', 'Up', 'Turn up'],
  ['down', 'Down', 'Turn down'],
]

const grounds = { light: '#ffffff', dark: '#181e28' }
const noFiles = {}
const moveMs = 200

const still = () => window.matchMedia('(prefers-reduced-motion: reduce)').matches

/**
 * "<small>1CBS</small> | Model 1 | Instance 1_555 | A | <b>THR</b> 315 | OG1" as plain text from the chain on: labels of the engine are
 * written for pages that take markup, and begin with the file's address.
 */
const plainText = (label: string) =>
  label
    .replace(/<[^>]*>/g, '')
    .replaceAll('&nbsp;', ' ')
    .replace(/^.*\bInstance \S+\s*\|\s*/, '')
    .replace(/\s*\|\s*/g, ' · ')
    .trim()

export function LiveViewer({
  scene,
  files = noFiles,
  framed = '',
  label,
  onPick,
  fallback,
  height = 'h-[60vh] min-h-72',
  ref,
}: ViewerProps) {
  const holder = useRef<HTMLDivElement>(null)
  const [engine, setEngine] = useState<Engine>()
  const [failed, setFailed] = useState<string>()
  const [broken, setBroken] = useState<string[]>([])
  const [ready, setReady] = useState(false)
  const [under, setUnder] = useState('')
  const seen = useRef<string>(undefined)
  const pick = useRef(onPick)
  pick.current = onPick
  const dark = useDark()

  // Scenes are loaded one after the other; one that has been overtaken before its turn is left out.
  const turn = useRef<Promise<void>>(Promise.resolve())

  // React mounts twice while one develops: an engine that comes when its place is gone is thrown away.
  useEffect(() => {
    let gone = false
    let opened: Engine | undefined
    openEngine(holder.current!).then(
      (made) => {
        if (gone) return made.dispose()
        opened = made
        setEngine(made)
      },
      (error: unknown) => {
        if (!gone) setFailed(error instanceof Error ? error.message : String(error))
      },
    )
    return () => {
      gone = true
      setEngine(undefined)
      seen.current = undefined
      // A scene that still loads would look for its files in an engine that has none any more.
      void turn.current.then(() => opened?.dispose())
    }
  }, [])

  useEffect(() => {
    if (!engine) return
    const { behaviors } = engine.plugin
    const clicks = behaviors.interaction.click.subscribe(({ current }) => {
      const picked = pickedOf(engine.plugin, current.loci)
      if (picked) pick.current?.(picked)
    })
    const labels = behaviors.labels.highlight.subscribe(({ labels: found }) =>
      setUnder(found.map((one) => plainText(String(one))).join(', ')),
    )
    return () => {
      clicks.unsubscribe()
      labels.unsubscribe()
    }
  }, [engine])

  useEffect(() => {
    if (!engine || !scene) return
    const stop = new AbortController()
    setReady(false)
    turn.current = turn.current
      .then(async () => {
        if (stop.signal.aborted) return
        const keepCamera = seen.current === framed
        const found = await show(engine, {
          scene,
          files,
          background: dark ? grounds.dark : grounds.light,
          keepCamera,
          still: still(),
        })
        seen.current = framed
        if (stop.signal.aborted) return
        setBroken(found)
        void drawn(engine, stop.signal).then(() => {
          if (stop.signal.aborted) return
          if (!keepCamera) engine.home = engine.canvas3d.camera.getSnapshot()
          setReady(true)
        })
      })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) setBroken([String(error)])
      })
    return () => stop.abort()
  }, [engine, scene, files, framed, dark])

  useImperativeHandle(
    ref,
    () => ({
      highlight(selectors) {
        if (!engine) return
        const { lociHighlights } = engine.plugin.managers.interactivity
        lociHighlights.clearHighlights()
        for (const loci of lociOf(engine.plugin, selectors)) lociHighlights.highlight({ loci }, false)
      },
      focus(selectors) {
        if (!engine) return
        const found = lociOf(engine.plugin, selectors)
        if (found.length > 0) engine.plugin.managers.camera.focusLoci(found, { durationMs: still() ? 0 : moveMs, extraRadius: 3 })
      },
      clear() {
        engine?.plugin.managers.interactivity.lociHighlights.clearHighlights()
      },
    }),
    [engine],
  )

  if (failed)
    return (
      <>
        <p role="alert" className="text-sm text-bad">
          {failed}
        </p>
        <NoWebGL label={label} fallback={fallback} />
      </>
    )
  return (
    <div data-viewer="" data-ready={ready} className="min-w-0">
      <div className={`relative overflow-hidden rounded-md border border-line ${height}`}>
        <div ref={holder} role="img" aria-label={label} className="absolute inset-0" />
        {ready || broken.length > 0 ? null : (
          <p
            role="status"
            className="pointer-events-none absolute top-2 left-2 flex items-center gap-2 rounded bg-card px-2 py-1 text-sm text-soft"
          >
            <Spinner /> Drawing…
          </p>
        )}
        {under ? (
          <p
            aria-hidden="true"
            className="pointer-events-none absolute bottom-2 left-2 max-w-full truncate rounded bg-card px-2 py-0.5 text-xs text-ink"
          >
            {under}
          </p>
        ) : null}
      </div>
      {broken.length > 0 ? (
        <div role="alert" className="mt-2 text-sm text-bad">
          <ul>
            {broken.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </div>
      ) : null}
      <div role="group" aria-label="Camera" className="mt-2 flex flex-wrap gap-1">
        {moves.map(([move, word, title]) => (
          <Button
            key={move}
            title={title}
            disabled={!engine}
            onClick={() => engine && moveCamera(engine, move, still() ? 0 : moveMs)}
          >
            {word}
          </Button>
        ))}
      </div>
    </div>
  )
}
