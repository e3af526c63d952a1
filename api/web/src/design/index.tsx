// The design system: what every page is made of. Pages bring no colours, no sizes and no controls of their own.

import { Dialog as BaseDialog } from '@base-ui/react/dialog'
import { type ButtonHTMLAttributes, type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from 'react'
import { ApiError } from '@/api/client'
import { stateWords } from '@/words'

type Kind = 'primary' | 'plain' | 'quiet' | 'danger'

const kinds: Record<Kind, string> = {
  primary: 'bg-accent text-on-accent border-accent',
  plain: 'bg-card text-ink border-line hover:border-accent',
  quiet: 'border-transparent text-accent hover:bg-line/40',
  danger: 'bg-card text-bad border-bad',
}

export function buttonClass(kind: Kind = 'plain') {
  return `inline-flex min-h-9 min-w-6 items-center justify-center gap-2 rounded-md border px-3 py-1.5 text-sm font-medium no-underline disabled:opacity-60 ${kinds[kind]}`
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind
  /** Something is on its way: the button says so and cannot be pressed again. */
  busy?: boolean
}

export function Button({ kind = 'plain', busy = false, children, className = '', disabled, type = 'button', ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} disabled={disabled || busy} aria-busy={busy || undefined} className={`${buttonClass(kind)} ${className}`}>
      {busy ? <Spinner /> : null}
      {children}
    </button>
  )
}

export function Spinner() {
  return <span aria-hidden="true" className="size-4 animate-spin rounded-full border-2 border-current border-t-transparent" />
}

export function Card({ title, actions, children, className = '' }: { title?: ReactNode; actions?: ReactNode; children: ReactNode; className?: string }) {
  return (
    <section className={`rounded-xl border border-line bg-card p-4 sm:p-5 ${className}`}>
      {title || actions ? (
        <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
          {title ? <h2>{title}</h2> : <span />}
          {actions ? <div className="flex flex-wrap gap-2">{actions}</div> : null}
        </div>
      ) : null}
      {children}
    </section>
  )
}

export function PageHead({ title, lead, actions }: { title: ReactNode; lead?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="mb-4 flex flex-wrap items-start justify-between gap-3">
      <div className="min-w-0">
        <h1>{title}</h1>
        {lead ? <p className="mt-1 text-soft">{lead}</p> : null}
      </div>
      {actions ? <div className="flex flex-wrap gap-2">{actions}</div> : null}
    </header>
  )
}

const control = 'w-full rounded-md border border-line bg-card px-3 py-1.5 text-ink aria-invalid:border-bad'

interface FieldProps {
  label: string
  hint?: ReactNode
  error?: string
  /** The label is read out and not shown. */
  quiet?: boolean
}

function Labelled({ label, hint, error, quiet, render }: FieldProps & { render: (ids: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode }) {
  const id = useId()
  const described = [hint ? id + 'h' : '', error ? id + 'e' : ''].filter(Boolean).join(' ')
  return (
    <div className="min-w-0">
      <label htmlFor={id} className={quiet ? 'sr-only' : 'mb-1 block text-sm font-medium'}>{label}</label>
      {render({ id, 'aria-describedby': described || undefined, 'aria-invalid': error ? true : undefined })}
      {hint ? <p id={id + 'h'} className="mt-1 text-sm text-soft">{hint}</p> : null}
      {error ? <p id={id + 'e'} className="mt-1 text-sm text-bad">{error}</p> : null}
    </div>
  )
}

export function TextField({ label, hint, error, quiet, className = '', ...rest }: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  return <Labelled {...{ label, hint, error, quiet }} render={(ids) => <input {...rest} {...ids} className={`${control} ${className}`} />} />
}

export function TextArea({ label, hint, error, quiet, className = '', ...rest }: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <Labelled {...{ label, hint, error, quiet }} render={(ids) => <textarea {...rest} {...ids} className={`${control} font-mono text-sm ${className}`} />} />
}

export function Select({ label, hint, error, quiet, children, ...rest }: FieldProps & SelectHTMLAttributes<HTMLSelectElement>) {
  return <Labelled {...{ label, hint, error, quiet }} render={(ids) => <select {...rest} {...ids} className={control}>{children}</select>} />
}

export function Check({ label, hint, ...rest }: { label: ReactNode; hint?: string } & Omit<InputHTMLAttributes<HTMLInputElement>, 'type'>) {
  return (
    <label className="flex min-h-6 items-start gap-2 text-sm">
      <input {...rest} type="checkbox" className="mt-0.5 size-4 accent-accent" />
      <span>{label}{hint ? <span className="block text-soft">{hint}</span> : null}</span>
    </label>
  )
}

const tones: Record<string, string> = {
  COMPLETED: 'text-good', SUCCEEDED: 'text-good', READY: 'text-good', DELIVERED: 'text-good', ENABLED: 'text-good',
  COMPLETED_WITH_FAILURES: 'text-warn', CANCELLING: 'text-warn', FAILED: 'text-bad', NOT_READY: 'text-bad',
  CANCELLED: 'text-soft', DISABLED: 'text-soft',
}

/** A state in words; its colour only repeats them. */
export function State({ status }: { status: string }) {
  return <span className={`rounded-full border border-current px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tones[status] ?? 'text-ink'}`}>{stateWords(status)}</span>
}

export function Progress({ percent, label }: { percent: number; label: string }) {
  const value = Math.max(0, Math.min(100, percent))
  return (
    <div role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(value)} className="h-2.5 w-full overflow-hidden rounded-full bg-line">
      <div className="h-full rounded-full bg-accent transition-[width]" style={{ width: `${value}%` }} />
    </div>
  )
}

/** What went wrong and what to do next. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  if (!error) return null
  const words = error instanceof Error ? error.message : String(error)
  const wait = error instanceof ApiError ? error.retryAfterSeconds : undefined
  return (
    <div role="alert" className="rounded-md border border-bad p-3 text-sm">
      <p className="text-bad">{words}</p>
      {wait ? <p className="mt-1 text-soft">It is worth trying again in {wait} s.</p> : null}
      {retry ? <Button className="mt-2" onClick={retry}>Try again</Button> : null}
    </div>
  )
}

export function Loading({ what }: { what: string }) {
  return <p role="status" className="flex items-center gap-2 py-6 text-soft"><Spinner /> Loading {what}…</p>
}

/** A place that has nothing yet, and how it comes to have something. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="rounded-xl border border-dashed border-line p-8 text-center">
      <p className="font-medium">{title}</p>
      <div className="mt-2 text-soft">{children}</div>
    </div>
  )
}

export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="contents"><dt className="text-soft">{name}</dt><dd className="min-w-0 wrap-anywhere">{value}</dd></div>
      ))}
    </dl>
  )
}

/** A plain table; the caption is read out. Wide ones scroll by themselves, also with the keyboard. */
export function Table({ caption, head, children }: { caption: string; head: ReactNode[]; children: ReactNode }) {
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={caption}>
      <table className="w-full text-sm tabular-nums [&_td]:border-t [&_td]:border-line [&_td]:py-1.5 [&_td]:pr-4 [&_td]:align-baseline [&_th]:py-1.5 [&_th]:pr-4 [&_th]:text-left [&_th]:font-medium [&_th]:text-soft">
        <caption className="sr-only">{caption}</caption>
        <thead><tr>{head.map((cell, i) => <th key={i} scope="col">{cell}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

export function Dialog({ open, onOpenChange, title, children }: { open: boolean; onOpenChange: (open: boolean) => void; title: string; children: ReactNode }) {
  return (
    <BaseDialog.Root open={open} onOpenChange={onOpenChange}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <BaseDialog.Popup className="fixed top-1/2 left-1/2 z-50 max-h-[90dvh] w-[min(36rem,94vw)] -translate-x-1/2 -translate-y-1/2 overflow-y-auto rounded-xl border border-line bg-card p-5">
          <BaseDialog.Title className="mb-3 text-lg font-semibold">{title}</BaseDialog.Title>
          {children}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  )
}
