import { Link, useParams } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { StudioSelection, StudioSession } from '@/api/client'
import { Button, Failure, Loading, PageHead } from '@/design'
import { Viewer, type ViewerHandle } from '@/viewer'
import { count } from '@/words'
import { Conversation } from './conversation'
import { ExportDialog } from './export'
import { atomsOf, drawn } from './mark'
import { OrderDialog } from './order'
import { PictureDialog, usePictureInstead } from './picture'
import { SaveDialog } from './save'
import { filesOf, framedFor } from './scene'
import { type Pointed, selectorOf } from './selection'
import { Steps } from './steps'
import { type Studio, useStudioSession } from './use-session'

export function SessionPage() {
  const { sessionId } = useParams({ strict: false }) as { sessionId: string }
  const studio = useStudioSession(sessionId)
  const { session } = studio
  if (session.isPending) return <Loading what="the session" />
  if (!session.data) return <>
    <PageHead title="Session" lead={<Link to="/studio/sessions">All sessions</Link>} />
    <Failure error={session.error} retry={() => void session.refetch()} />
  </>
  return <Open key={sessionId} session={session.data} studio={studio} />
}

function Open({ session, studio }: { session: StudioSession; studio: Studio }) {
  const { sessionId } = session
  const [pointed, setPointed] = useState<Pointed>()
  const viewer = useRef<ViewerHandle>(null)
  const stage = useRef<HTMLDivElement>(null)
  const mark = async (selection: StudioSelection, focus: boolean, signal?: AbortSignal) => {
    const atoms = await atomsOf(sessionId, session.scene, selection)
    if (stage.current) await drawn(stage.current, signal)
    if (atoms.length === 0 || signal?.aborted) return
    viewer.current?.highlight(atoms)
    if (focus) viewer.current?.focus(atoms)
  }
  // What a reply has selected lights up as soon as it is drawn.
  const reply = studio.say.data
  useEffect(() => {
    const last = reply?.resolvedSelections.at(-1)
    if (!last) return
    const stop = new AbortController()
    void mark(last, false, stop.signal)
    return () => stop.abort()
  }, [reply])
  useEffect(() => {
    if (pointed) viewer.current?.highlight([selectorOf(pointed)])
    else viewer.current?.clear()
  }, [pointed])
  return (
    <>
      <PageHead title={<span className="block max-w-[38rem] truncate" title={session.title}>{session.title}</span>}
        lead={<Link to="/studio/sessions">All sessions</Link>} actions={<Actions session={session} />} />
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[12rem_minmax(0,1fr)_20rem] xl:grid-cols-[14rem_minmax(0,1fr)_23rem]">
        <div className="order-3 grid grid-cols-1 content-start gap-4 lg:order-1">
          <Steps session={session} studio={studio} />
          <Structures session={session} />
        </div>
        <div ref={stage} className="order-1 min-w-0 lg:order-2">
          <Stage session={session} studio={studio} viewer={viewer} onPick={(picked) => setPointed({ picked, atom: false })} />
        </div>
        <div className="order-2 min-w-0 lg:order-3">
          <Conversation sessionId={sessionId} studio={studio} pointed={pointed} point={setPointed}
            mark={(selection) => void mark(selection, true)} />
        </div>
      </div>
    </>
  )
}

const hasWebGL = () => document.createElement('canvas').getContext('webgl2') !== null

interface StageProps {
  session: StudioSession
  studio: Studio
  viewer: React.Ref<ViewerHandle>
  onPick: (picked: Pointed['picked']) => void
}

function Stage({ session, studio, viewer, onPick }: StageProps) {
  const { sessionId, sceneVersion } = session
  const trial = studio.trial?.turn
  // A scene is written anew for every answer: the same version is the same scene, and is not drawn again.
  const scene = useMemo(() => trial?.scene ?? session.scene, [sessionId, sceneVersion, trial])
  const files = useMemo(() => filesOf(scene, sessionId), [scene, sessionId])
  const framed = useMemo(() => framedFor(scene), [scene])
  const [able] = useState(hasWebGL)
  const instead = usePictureInstead(sessionId, sceneVersion, !able)
  const label = `${session.title}, as the steps describe it`
  return (
    <div className="min-w-0">
      {trial?.changed
        ? <p role="status" className="mb-2 rounded-md border border-accent p-2 text-sm">
          A preview: nothing is kept until you apply it.
        </p>
        : null}
      <Viewer ref={viewer} scene={scene} files={files} framed={framed} label={label} onPick={onPick}
        height="h-[60dvh] min-h-72 lg:h-[calc(100dvh-18.5rem)] lg:min-h-100"
        fallback={instead.address ? { src: instead.address, alt: label } : undefined} />
      {able ? <p className="mt-1 text-sm text-soft">Click an atom to say “this” about it.</p>
        : <Failure error={instead.error} retry={instead.again} />}
    </div>
  )
}

/** An upload by its file name; everything else as it is. */
const sourceWords = (source: string) => (source.startsWith('upload:') ? source.slice(source.lastIndexOf('/') + 1) : source)

function Structures({ session }: { session: StudioSession }) {
  if (session.structures.length === 0) return null
  return (
    <section aria-label="Structures" className="rounded-xl border border-line bg-card p-3">
      <h2 className="mb-2">Structures</h2>
      <ul className="grid gap-2 text-sm">
        {session.structures.map((one) => (
          <li key={one.file} className="wrap-anywhere">
            <span className="line-clamp-3" title={one.title}>{one.title || one.file}</span>
            <span className="block text-soft">{sourceWords(one.source)}, {count(one.atoms, 'atom')}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const dialogs = { picture: 'Small picture', order: 'Order a picture', export: 'Export', save: 'Save' } as const

function Actions({ session }: { session: StudioSession }) {
  const [shown, setShown] = useState<keyof typeof dialogs>()
  const { sessionId, title } = session
  const done = () => setShown(undefined)
  return (
    <>
      {(Object.keys(dialogs) as (keyof typeof dialogs)[]).map((name) =>
        <Button key={name} kind={name === 'save' ? 'primary' : 'plain'} onClick={() => setShown(name)}>{dialogs[name]}</Button>)}
      {shown === 'picture' ? <PictureDialog sessionId={sessionId} title={title} done={done} /> : null}
      {shown === 'order' ? <OrderDialog sessionId={sessionId} title={title} done={done} /> : null}
      {shown === 'export' ? <ExportDialog sessionId={sessionId} done={done} /> : null}
      {shown === 'save' ? <SaveDialog session={session} done={done} /> : null}
    </>
  )
}
