// A session of the Studio: what is read, what is said, and what comes of it.

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import {
  answered, ApiError, getStudioSession, listStudioMessages, newKey, redoStudioStep, sendStudioMessage, type StudioMessageRequest,
  type StudioSession,
  type StudioTurn, undoStudioStep,
} from '@/api/client'

export const sessionKey = (sessionId: string) => ['studio', 'session', sessionId]

/** Somebody, or another tab, was faster: the scene is another one than what was seen. */
const overtaken =
  'The scene was changed elsewhere meanwhile, so nothing was done. You see the new scene now: say it again if you still want it.'

export function useStudioSession(sessionId: string) {
  const queries = useQueryClient()
  const key = sessionKey(sessionId)
  const session = useQuery({ queryKey: key, queryFn: () => answered(getStudioSession({ path: { sessionId } })) })
  const history = useInfiniteQuery({
    queryKey: [...key, 'messages'],
    queryFn: ({ pageParam }) => answered(listStudioMessages({ path: { sessionId }, query: { limit: 30, cursor: pageParam } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })
  const [notice, setNotice] = useState('')
  const [trial, setTrial] = useState<{ turn: StudioTurn; request: StudioMessageRequest }>()
  const sceneVersion = session.data?.sceneVersion

  const took = async (turn: StudioTurn) => {
    queries.setQueryData<StudioSession>(key,
      (old) => old && { ...old, scene: turn.scene, sceneVersion: turn.sceneVersion, question: turn.question })
    await queries.invalidateQueries({ queryKey: key })
    void queries.invalidateQueries({ queryKey: ['studio', 'sessions'] })
    void queries.invalidateQueries({ queryKey: ['balance'] })
  }
  const failed = async (error: Error) => {
    if (!(error instanceof ApiError) || error.code !== 'VERSION_CONFLICT') return
    setTrial(undefined)
    await queries.invalidateQueries({ queryKey: key })
    setNotice(overtaken)
  }
  const settle = {
    onMutate: () => setNotice(''),
    onError: failed,
  }
  // A sentence that is sent again after a broken line is carried out once: it keeps its key.
  const sent = useRef({ text: '', key: '' })
  const keyFor = (request: StudioMessageRequest) => {
    const text = JSON.stringify(request)
    if (sent.current.text !== text) sent.current = { text, key: newKey() }
    return sent.current.key
  }
  const say = useMutation({
    ...settle,
    mutationFn: (request: StudioMessageRequest) => {
      const body = { ...request, sceneVersion }
      return answered(sendStudioMessage({ path: { sessionId }, body, headers: { 'Idempotency-Key': keyFor(body) } }))
    },
    onSuccess: async (turn) => {
      setTrial(undefined)
      sent.current = { text: '', key: '' }
      await took(turn)
    },
  })
  const preview = useMutation({
    ...settle,
    mutationFn: (request: StudioMessageRequest) =>
    answered(sendStudioMessage({ path: { sessionId }, body: { ...request, sceneVersion, dryRun: true } })),
    onSuccess: (turn, request) => setTrial({ turn, request }),
  })
  /** Goes back by so many steps, or forth by so many when the number is negative. */
  const step = useMutation({
    ...settle,
    mutationFn: (steps: number) => {
      const call = { path: { sessionId }, body: { steps: Math.abs(steps), sceneVersion }, headers: { 'Idempotency-Key': newKey() } }
      return answered(steps > 0 ? undoStudioStep(call) : redoStudioStep(call))
    },
    onSuccess: async (turn) => {
      setTrial(undefined)
      await took(turn)
    },
  })
  const apply = () => {
    if (!trial) return
    // What a model has understood once it may understand otherwise the next time: its operations are what was looked at.
    const { turn, request } = trial
    say.mutate(turn.understoodBy === 'grammar' ? request : { operations: turn.operations, selection: request.selection })
  }
  const isConflict = (error: unknown) => error instanceof ApiError && error.code === 'VERSION_CONFLICT'
  const error = [say.error, preview.error, step.error].find((one) => one && !isConflict(one))
  const clearErrors = () => {
    say.reset()
    preview.reset()
    step.reset()
  }
  return {
    session, history, say, preview, step, trial, apply, dropTrial: () => setTrial(undefined), notice, error, clearErrors,
    busy: say.isPending || preview.isPending || step.isPending,
  }
}

export type Studio = ReturnType<typeof useStudioSession>
