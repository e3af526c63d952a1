// What happens in the account, as it happens. One tab holds the one stream and tells the others: a browser has six connections to
// a host, and a seventh tab with a stream of its own would hang.

import type { QueryClient } from '@tanstack/react-query'

const lock = 'molfabric.live'
const quietMs = 300
const askMs = 5000

/** A message of the account's stream. */
interface Happening {
  jobId: string
}

/** Keeps what is shown of jobs fresh until stop is called. */
export function followAccount(queries: QueryClient): () => void {
  const stopping = new AbortController()
  const channel = new BroadcastChannel(lock)
  const changed = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined

  // Progress of many tasks comes in bursts: what is shown is read again once for all of them.
  const refresh = () => {
    timer = undefined
    for (const jobId of changed) void queries.invalidateQueries({ queryKey: ['job', jobId] })
    changed.clear()
    void queries.invalidateQueries({ queryKey: ['jobs'] })
    void queries.invalidateQueries({ queryKey: ['balance'] })
  }
  const note = (happening: Happening) => {
    changed.add(happening.jobId)
    timer ??= setTimeout(refresh, quietMs)
  }
  channel.onmessage = (message: MessageEvent<Happening>) => note(message.data)

  const lead = () =>
    new Promise<void>((resolve) => {
      if (stopping.signal.aborted) {
        resolve()
        return
      }
      const source = new EventSource('/api/v1/events')
      const tell = (event: MessageEvent<string>) => {
        const happening = JSON.parse(event.data) as Happening
        if (stopping.signal.aborted) return
        note(happening)
        channel.postMessage(happening)
      }
      for (const kind of ['status', 'progress', 'task']) source.addEventListener(kind, tell)
      const end = () => {
        source.close()
        resolve()
      }
      source.onerror = () => {
        // The browser comes back by itself, unless the answer was a refusal: then somebody has to sign in again.
        if (source.readyState === EventSource.CLOSED && !stopping.signal.aborted) {
          end()
          void queries.invalidateQueries({ queryKey: ['session'] })
        }
      }
      stopping.signal.addEventListener('abort', end)
    })

  // Tabs can only agree on one of them over TLS and on one's own machine; elsewhere each asks again every few seconds.
  const agreed = window.isSecureContext
  if (agreed) void navigator.locks.request(lock, { signal: stopping.signal }, lead).catch(() => undefined)
  const asking = agreed ? undefined : setInterval(() => {
    if (document.visibilityState !== 'visible') return
    void queries.invalidateQueries({ queryKey: ['job'] })
    refresh()
  }, askMs)
  return () => {
    stopping.abort()
    clearInterval(asking)
    clearTimeout(timer)
    channel.close()
  }
}
