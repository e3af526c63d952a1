// One thing that was said, and the answer.

import { Link } from '@tanstack/react-router'
import type { StudioMessage, StudioSelection, StudioTurn } from '@/api/client'
import { Button } from '@/design'
import { money } from '@/words'
import { countWords, isDone, operationWords } from './words'

interface TurnProps {
  turn: StudioMessage | StudioTurn
  /** The newest turn alone can still be answered. */
  newest?: boolean
  busy?: boolean
  answer?: (words: string) => void
  mark?: (selection: StudioSelection) => void
}

export function Turn({ turn, newest = false, busy = false, answer, mark }: TurnProps) {
  const operations = turn.operations.filter(({ op }) => op !== 'ask' && op !== 'refuse')
  return (
    <div className="grid gap-2">
      {turn.message ? (
        <p className="ml-6 justify-self-end rounded-lg bg-line/50 px-3 py-1.5 wrap-anywhere">
          <span className="sr-only">You: </span>
          {turn.message}
        </p>
      ) : null}
      <div className="grid gap-1.5">
        <p className="whitespace-pre-wrap wrap-anywhere">
          <span className="sr-only">Studio: </span>
          {turn.reply || (isDone(turn) ? 'Done.' : 'Nothing was done.')}
        </p>
        {turn.notUnderstood.length > 0
          ? <p className="text-sm text-warn">Not understood: {turn.notUnderstood.map((part) => `“${part}”`).join(', ')}</p> : null}
        {turn.warnings.map((warning) => <p key={warning} className="text-sm text-warn">Note: {warning}</p>)}
        {operations.length > 0 ? (
          <ul aria-label="Operations" className="flex flex-wrap gap-1">
            {operations.map((operation, i) => (
              <li key={i} className="rounded-full border border-line px-2 py-0.5 text-xs wrap-anywhere">{operationWords(operation)}</li>
            ))}
          </ul>
        ) : null}
        {turn.resolvedSelections.length > 0 ? (
          <ul aria-label="What was meant" className="grid gap-1 text-sm">
            {turn.resolvedSelections.map((one) => (
              <li key={one.query} className="flex flex-wrap items-center gap-x-2">
                {mark ? (
                  <button type="button" className="min-h-6 text-accent underline underline-offset-2" title="Show them in the viewer"
                    onClick={() => mark(one)}>
                    {countWords(one)}
                  </button>
                ) : countWords(one)}
                <code className="text-xs text-soft wrap-anywhere">{one.query}</code>
              </li>
            ))}
          </ul>
        ) : null}
        {newest && answer && turn.question && turn.question.choices.length > 0 ? (
          <div role="group" aria-label={`Which ${turn.question.about}?`} className="flex flex-wrap gap-1">
            {turn.question.choices.map((choice) =>
              <Button key={choice} disabled={busy} onClick={() => answer(choice)}>{choice}</Button>)}
          </div>
        ) : null}
        {turn.render ? <Offer offer={turn.render} order={newest && answer ? () => answer('yes') : undefined} busy={busy} /> : null}
      </div>
    </div>
  )
}

function Offer({ offer, order, busy }: { offer: NonNullable<StudioTurn['render']>; order?: () => void; busy: boolean }) {
  if (offer.jobId) return <Link to="/jobs/$jobId" params={{ jobId: offer.jobId }} className="text-sm">The picture is being made</Link>
  if (!order) return null
  // The reply has told the price, or that it cannot be said.
  const words = offer.price === null ? 'Order it' : `Order it for about ${money(offer.price)}`
  return <div><Button disabled={busy} onClick={order}>{words}</Button></div>
}
