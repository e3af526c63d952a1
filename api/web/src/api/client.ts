// The one door to the service: the generated client, told where it lives and how its errors read.

import { client } from './generated/client.gen'
import type { Error as Envelope } from './generated/types.gen'

export * from './generated/sdk.gen'
export type * from './generated/types.gen'

client.setConfig({ baseUrl: '/api', credentials: 'same-origin' })

/** A failure that the service has named: its words for people, its code for programs, and when it is worth trying again. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly retryAfterSeconds?: number
  readonly currentVersion?: number

  constructor(status: number, envelope: Partial<Envelope>, retryAfterSeconds?: number) {
    super(envelope.error || 'The service did not answer. Try again in a moment.')
    this.status = status
    this.code = envelope.code ?? ''
    this.retryAfterSeconds = retryAfterSeconds
    this.currentVersion = envelope.currentVersion
  }
}

interface Answer<T> {
  data?: T
  error?: unknown
  response?: Response
}

/** Unwraps an answer of the generated client: its data, or an ApiError. */
export async function answered<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>
  try {
    answer = await call
  } catch {
    throw new ApiError(0, { error: 'The service cannot be reached. What you have typed is kept; try again in a moment.' })
  }
  const { data, error, response } = answer
  if (error !== undefined || !response?.ok) {
    const retryAfter = Number(response?.headers.get('Retry-After'))
    const envelope = typeof error === 'object' && error !== null ? (error as Partial<Envelope>) : {}
    throw new ApiError(response?.status ?? 0, envelope, Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : undefined)
  }
  return data as T
}

/** A key for a request that must be carried out once, however often it is sent. */
export function newKey(): string {
  // randomUUID is there over TLS and on one's own machine alone.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
