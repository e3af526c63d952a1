// What was said so far, and the place to say the next thing.

import { type FormEvent, type KeyboardEvent, useEffect, useRef } from 'react'
import type { StudioSelection, StudioTurn } from '@/api/client'
import { Button, Failure, TextArea } from '@/design'
import { useDraft } from '@/design/draft'
import { MoreOf } from '@/design/more'
import { type Pointed, pointedWords, selectionOf } from './selection'
import { Turn } from './turn'
import type { Studio } from './use-session'

const examples = [
  'show the ligand as sticks and its pocket within 5 Å', 'label the hydrogen bonds', 'colour each chain differently',
  'transparent surface on the protein', 'Goodsell style',
]
const aboutThis = ['zoom in on this', 'label this', 'show what is within 4 Å of this as sticks',
  'which residues are within 4 Å of this?', 'colour this orange']

interface ConversationProps {
  sessionId: string
  studio: Studio
  pointed?: Pointed
  point: (pointed: Pointed | undefined) => void
  mark: (selection: StudioSelection) => void
}

export function Conversation({ sessionId, studio, pointed, point, mark }: ConversationProps) {
  const { draft, change, forget } = useDraft(`studio.${sessionId}`, { message: '' })
  const box = useRef<HTMLDivElement>(null)
  const log = useRef<HTMLDivElement>(null)
  const turns = (studio.history.data?.pages.flatMap((page) => page.messages) ?? []).toReversed()
  const newest = turns.at(-1)?.messageId
  useEffect(() => {
    log.current?.scrollTo({ top: log.current.scrollHeight })
  }, [newest, studio.trial, studio.say.isPending])

  const request = (message: string) => ({ message, selection: pointed ? selectionOf(pointed) : undefined })
  const send = (message: string, own = false) => {
    if (!message.trim() || studio.busy) return
    studio.clearErrors()
    studio.say.mutate(request(message.trim()), { onSuccess: () => { if (own) forget() } })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    send(draft.message, true)
  }
  const keyed = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send(draft.message, true)
  }
  const look = () => {
    studio.clearErrors()
    studio.preview.mutate(request(draft.message.trim()))
  }
  const suggest = (words: string) => {
    change({ message: draft.message.trim() ? `${draft.message.trim()}, ${words}` : words })
    box.current?.querySelector('textarea')?.focus()
  }
  return (
    <section aria-label="Conversation"
      className="flex min-h-0 flex-col rounded-xl border border-line bg-card lg:h-[calc(100dvh-11rem)] lg:min-h-130">
      <h2 className="border-b border-line px-4 py-2">Conversation</h2>
      <div ref={log} role="log" aria-label="What was said" tabIndex={0}
        className="grid max-h-[50dvh] min-h-40 flex-1 grid-cols-1 content-start gap-4 overflow-y-auto p-4 lg:max-h-none">
        <MoreOf what="from before" list={studio.history} />
        {turns.length === 0 && !studio.say.isPending
          ? <p className="text-soft">Nothing was said yet. Say what you want to see, in a sentence.</p> : null}
        {turns.map((turn) => (
          <Turn key={turn.messageId} turn={turn} newest={turn.messageId === newest && !studio.trial} busy={studio.busy}
            answer={send} mark={mark} />
        ))}
        {studio.say.isPending && studio.say.variables.message ? (
          <p className="ml-6 justify-self-end rounded-lg bg-line/50 px-3 py-1.5 wrap-anywhere opacity-70">
            {studio.say.variables.message}
          </p>
        ) : null}
      </div>
      <div ref={box} className="grid gap-2 border-t border-line p-3">
        {studio.trial ? (
          <Trial turn={studio.trial.turn} busy={studio.busy} apply={studio.apply} drop={studio.dropTrial} mark={mark}
            onApplied={forget} />
        ) : null}
        {studio.notice ? <p role="alert" className="rounded-md border border-warn p-2 text-sm">{studio.notice}</p> : null}
        <Failure error={studio.error} />
        {pointed ? <PointedAt pointed={pointed} point={point} /> : null}
        <ul aria-label="Suggestions" className="flex gap-1 overflow-x-auto pb-1">
          {(pointed ? aboutThis : examples).map((words) => (
            <li key={words}>
              <button type="button"
                className="min-h-6 rounded-full border border-line px-2 py-0.5 text-xs whitespace-nowrap hover:border-accent"
                onClick={() => suggest(words)}>
                {words}
              </button>
            </li>
          ))}
        </ul>
        <form className="grid gap-2" onSubmit={submit}>
          <TextArea label="Message" quiet rows={2} maxLength={2000} placeholder="Say what to show… (Enter sends)"
            value={draft.message} className="font-sans"
            onChange={(event) => change({ message: event.target.value })} onKeyDown={keyed} />
          <div className="flex flex-wrap justify-end gap-2">
            <Button busy={studio.preview.isPending} disabled={!draft.message.trim() || studio.busy} onClick={look}>Preview</Button>
            <Button kind="primary" type="submit" busy={studio.say.isPending} disabled={!draft.message.trim() || studio.busy}>
              Send
            </Button>
          </div>
        </form>
      </div>
    </section>
  )
}

const small = 'min-h-6 text-accent underline underline-offset-2'

function PointedAt({ pointed, point }: { pointed: Pointed; point: (pointed: Pointed | undefined) => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2 text-sm">
      <p role="status">Selected: <strong>{pointedWords(pointed)}</strong></p>
      <button type="button" className={small} onClick={() => point({ ...pointed, atom: !pointed.atom })}>
        {pointed.atom ? 'Whole residue' : `Only atom ${pointed.picked.atomName}`}
      </button>
      <button type="button" className={small} onClick={() => point(undefined)}>Clear</button>
    </div>
  )
}

interface TrialProps {
  turn: StudioTurn
  busy: boolean
  apply: () => void
  drop: () => void
  onApplied: () => void
  mark: (selection: StudioSelection) => void
}

/** What a sentence would do: it can be seen in the viewer, and nothing is kept. */
function Trial({ turn, busy, apply, drop, onApplied, mark }: TrialProps) {
  const accept = () => {
    apply()
    onApplied()
  }
  return (
    <div role="group" aria-label="Preview" className="grid gap-2 rounded-md border border-accent p-3">
      <p className="text-sm font-medium">
        {turn.changed ? 'This would be done; the viewer shows it already:' : 'This would change nothing:'}
      </p>
      <div role="region" aria-label="What would be done" tabIndex={0} className="max-h-40 overflow-y-auto">
        <Turn turn={{ ...turn, message: '' }} mark={mark} />
      </div>
      <div className="flex flex-wrap gap-2">
        {turn.changed ? <Button kind="primary" busy={busy} onClick={accept}>Apply</Button> : null}
        <Button onClick={drop}>Drop it</Button>
      </div>
    </div>
  )
}
