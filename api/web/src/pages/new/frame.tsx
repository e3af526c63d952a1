// The frame of every form that makes a job: its steps on the left, and price, review and Submit beside them.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { answered, ApiError, submitJob, type SubmitRequest } from '@/api/client'
import { Button, Card, Failure, PageHead } from '@/design'
import { upload } from '@/uploads'
import { attemptAt, forgetAttempt, keepAttempt } from './draft'
import { type Again, KnownWork } from './known'
import { Price, type PriceQuery } from './price'
import { Review } from './review'

/** What a form asks for. */
export interface Plan {
  /** The request without its scene; absent while something is missing. */
  request?: SubmitRequest
  /** Storage key of the scene. */
  scene?: string
  /** What is stored as the scene when the job is submitted, where none is there yet. */
  document?: { name: string; text: string }
  /** What is still missing or wrong, in words. */
  missing: string[]
}

/** Submits a plan, once, however often it is tried. */
export function useSubmission(name: string, plan: Plan, clear: () => void) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async () => {
      if (!plan.request) throw new Error(plan.missing[0] ?? 'Something is missing.')
      const attempt = attemptAt(name, JSON.stringify([plan.request, plan.scene, plan.document]))
      let sceneFile = plan.scene ?? attempt.scene
      if (!sceneFile && plan.document) {
        sceneFile = (await upload(new Blob([plan.document.text]), plan.document.name)).storageKey
        keepAttempt(name, { ...attempt, scene: sceneFile })
      }
      return answered(submitJob({ body: { ...plan.request, sceneFile }, headers: { 'Idempotency-Key': attempt.key } }))
    },
    onSuccess: (receipt) => {
      forgetAttempt(name)
      clear()
      void queries.invalidateQueries({ queryKey: ['jobs'] })
      void queries.invalidateQueries({ queryKey: ['balance'] })
      void queries.invalidateQueries({ queryKey: ['estimate'] }) // what this job makes is known then
      void navigate({ to: '/jobs/$jobId', params: { jobId: receipt.jobId } })
    },
    onError: (error) => {
      // A refusal has made nothing, and the next try is a new one. Without an answer the job may be there: the key stays.
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) forgetAttempt(name)
    },
  })
}

interface Props {
  title: string
  lead: ReactNode
  plan: Plan
  price: PriceQuery
  submission: ReturnType<typeof useSubmission>
  /** What could not be shown beside a field. */
  error: unknown
  /** The same job on the command line; absent where it has no such form. */
  command?: string
  summary?: [string, ReactNode][]
  /** Of a job whose tasks can be known from an earlier one. */
  again?: Again
  onClear: () => void
  children: ReactNode
}

export function NewJob({ title, lead, plan, price, submission, error, command, summary = [], again, onClear, children }: Props) {
  return (
    <>
      <PageHead title={title} lead={lead} actions={<Button kind="quiet" onClick={onClear}>Begin anew</Button>} />
      <form
        noValidate className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 lg:grid-cols-[minmax(0,1fr)_21rem]"
        onSubmit={(event) => {
          event.preventDefault()
          if (plan.request && !submission.isPending) submission.mutate()
        }}
      >
        <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4">
          {children}
          <Review plan={plan} command={command} />
        </div>
        <div className="lg:sticky lg:top-4 lg:max-h-[calc(100dvh-2rem)] lg:overflow-y-auto">
          <Card title="Price and submit">
            {summary.length > 0 ? (
              <ul className="mb-3 grid gap-1 text-sm">
                {summary.map(([what, words]) => <li key={what}><span className="text-soft">{what}: </span><span
                  className="wrap-anywhere"
                >{words}</span></li>)}
              </ul>
            ) : null}
            <Price query={price} />
            {again ? <KnownWork price={price.data} again={again} /> : null}
            <div className="mt-3 grid gap-3">
              {plan.missing.length > 0 ? (
                <ul
                  className="grid list-disc gap-1 pl-5 text-sm text-warn"
                >{plan.missing.map((words) => <li key={words}>{words}</li>)}</ul>
              ) : null}
              <Failure error={error} />
              <Button type="submit" kind="primary" className="w-full" disabled={!plan.request} busy={submission.isPending}>
                {submission.isPending ? 'Submitting' : 'Submit'}
              </Button>
            </div>
          </Card>
        </div>
      </form>
    </>
  )
}
