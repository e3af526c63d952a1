// Files on their way into the store: small ones in one request, large ones in parts that are each checked by their SHA-256.

import { abortUpload, answered, ApiError, completeUpload, createUploadUrl, initUpload, signUploadParts } from '@/api/client'

/** A file that lies in the store, as a request refers to it. */
export interface Uploaded {
  storageKey: string
  /** Hexadecimal. */
  sha256: string
  byteSize: number
  mediaType: string
}

export interface UploadOptions {
  /** Learns the share that has gone out, from 0 to 1. It falls when a try fails. */
  onProgress?: (share: number) => void
  signal?: AbortSignal
}

/** From here on a file goes up in parts; below, sending it whole again takes seconds. */
const inParts = 64 << 20
const partTransfers = 3
const tries = 4
/** The browser's own digest wants a file whole in memory; larger ones are read piece by piece. */
const wholeDigest = 64 << 20
const pieceBytes = 4 << 20

const mediaTypes: Record<string, string> = {
  pdb: 'chemical/x-pdb', pdbqt: 'chemical/x-pdbqt', sdf: 'chemical/x-mdl-sdfile', mol2: 'chemical/x-mol2', cif: 'chemical/x-mmcif',
  mmcif: 'chemical/x-mmcif', json: 'application/json',
}

export const extensionOf = (filename: string) => /\.([^.]+)$/.exec(filename.toLowerCase())?.[1] ?? ''

const mediaTypeOf = (filename: string) => mediaTypes[extensionOf(filename)] ?? 'application/octet-stream'

/** Stores a file under a name. It throws an ApiError, or the signal's reason when it is given up. */
export async function upload(file: Blob, filename: string, options: UploadOptions = {}): Promise<Uploaded> {
  if (file.size === 0) throw new Error(`${filename} is empty. Choose a file that holds something.`)
  const sha256 = hex(await digestOf(file, options.signal))
  const whole: Uploaded = { storageKey: '', sha256, byteSize: file.size, mediaType: mediaTypeOf(filename) }
  if (file.size >= inParts) return { ...whole, storageKey: await uploadParts(file, filename, whole, options) }
  const ticket = await answered(createUploadUrl({
    body: { filename, contentType: whole.mediaType, size: file.size, sha256 }, signal: options.signal,
  }))
  await put(ticket.uploadUrl, ticket.headers ?? {}, file, options.signal, (sent) => options.onProgress?.(sent / file.size))
  return { ...whole, storageKey: ticket.s3Key }
}

async function uploadParts(file: Blob, filename: string, whole: Uploaded, { onProgress, signal }: UploadOptions): Promise<string> {
  const begun = await answered(initUpload({
    body: { filename, contentType: whole.mediaType, size: file.size, sha256: whole.sha256, checksumAlgorithm: 'sha256' }, signal,
  }))
  const checked = begun.checksumAlgorithm !== null
  const sent = new Array<number>(begun.partCount).fill(0)
  const done: { partNumber: number; checksumSha256?: string }[] = []
  const sendPart = async (partNumber: number) => {
    const part = file.slice((partNumber - 1) * begun.partSize, partNumber * begun.partSize)
    const checksum = checked ? { checksumSha256: base64(await digestOf(part, signal)) } : {}
    const asked = { partNumber, ...checksum }
    const { parts } = await answered(signUploadParts({ path: { uploadId: begun.uploadId }, body: { parts: [asked] }, signal }))
    const signed = parts[0]
    if (!signed) throw new Error('The service signed no address for a part of the file. Try again.')
    await put(signed.url, signed.headers, part, signal, (bytes) => {
      sent[partNumber - 1] = bytes
      onProgress?.(sent.reduce((sum, one) => sum + one, 0) / file.size)
    })
    done[partNumber - 1] = asked
  }
  try {
    await eachOf(begun.partCount, partTransfers, (i) => sendPart(i + 1))
    await answered(completeUpload({ path: { uploadId: begun.uploadId }, body: { parts: done, sha256: whole.sha256 }, signal }))
  } catch (error) {
    // The first error tells more than one of the ending would.
    await answered(abortUpload({ path: { uploadId: begun.uploadId } })).catch(() => undefined)
    throw error
  }
  return begun.key
}

/** Does count things, at most so many at once, and ends with the first failure. */
export async function eachOf(count: number, atOnce: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  let failed = false
  const worker = async () => {
    while (next < count && !failed) {
      try {
        await work(next++)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker))
}

/** Sends bytes to a signed address, again where the line or the store failed. */
async function put(
  url: string, headers: Record<string, string>, body: Blob, signal: AbortSignal | undefined, onSent: (bytes: number) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const status = await putOnce(url, headers, body, signal, onSent)
    // 412: an earlier try has arrived and only its answer was lost; the address takes a file once.
    if (status === 200 || (status === 412 && attempt > 1)) return onSent(body.size)
    onSent(0)
    if (attempt === tries || (status >= 400 && status < 500 && status !== 408 && status !== 429)) {
      throw new ApiError(status, { error: status === 0
        ? 'The file could not be sent: the store cannot be reached. Try again in a moment.'
        : `The store refused the file (status ${status}). Choose it again.` })
    }
    await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt))
  }
}

/** The status of one try; 0 where there was no answer. Only XMLHttpRequest tells how much of a body has gone out. */
function putOnce(
  url: string, headers: Record<string, string>, body: Blob, signal: AbortSignal | undefined, onSent: (bytes: number) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const stop = () => request.abort()
    request.open('PUT', url)
    // The browser states the length by itself and lets nobody else do so.
    for (const [name, value] of Object.entries(headers)) if (name.toLowerCase() !== 'content-length') request.setRequestHeader(name, value)
    request.upload.onprogress = (event) => onSent(event.loaded)
    request.onload = () => resolve(request.status)
    request.onerror = () => resolve(0)
    request.onabort = () => reject(signal?.reason ?? new DOMException('Given up', 'AbortError'))
    request.onloadend = () => signal?.removeEventListener('abort', stop)
    signal?.addEventListener('abort', stop)
    request.send(body)
  })
}

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))

/** The SHA-256 of a file. Browsers have one of their own over TLS and on one's own machine. */
async function digestOf(file: Blob, signal?: AbortSignal): Promise<Uint8Array> {
  if (window.isSecureContext && file.size <= wholeDigest) return new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer()))
  const sum = new Sha256()
  for (let start = 0; start < file.size; start += pieceBytes) {
    signal?.throwIfAborted()
    sum.add(new Uint8Array(await file.slice(start, start + pieceBytes).arrayBuffer()))
  }
  return sum.end()
}

/** SHA-256 (FIPS 180-4) of bytes that come in pieces, which the browser's own digest does not take. */
export class Sha256 {
  private readonly state = Uint32Array.of(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19)
  private readonly schedule = new Uint32Array(64)
  private rest = new Uint8Array(0)
  private length = 0

  add(bytes: Uint8Array) {
    this.length += bytes.length
    let all = bytes
    if (this.rest.length > 0) {
      all = new Uint8Array(this.rest.length + bytes.length)
      all.set(this.rest)
      all.set(bytes, this.rest.length)
    }
    const whole = all.length - (all.length % 64)
    const view = new DataView(all.buffer, all.byteOffset, all.length)
    for (let at = 0; at < whole; at += 64) this.block(view, at)
    this.rest = all.slice(whole)
  }

  end(): Uint8Array {
    const bits = this.length * 8
    const padded = new Uint8Array(this.rest.length < 56 ? 64 : 128)
    padded.set(this.rest)
    padded[this.rest.length] = 0x80
    const view = new DataView(padded.buffer)
    view.setUint32(padded.length - 8, Math.floor(bits / 2 ** 32))
    view.setUint32(padded.length - 4, bits >>> 0)
    for (let at = 0; at < padded.length; at += 64) this.block(view, at)
    const sum = new DataView(new ArrayBuffer(32))
    this.state.forEach((word, i) => sum.setUint32(4 * i, word))
    return new Uint8Array(sum.buffer)
  }

  private block(view: DataView, at: number) {
    const w = this.schedule
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i)
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15]!, b = w[i - 2]!
      w[i] = w[i - 16]! + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 7]! + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10))
    }
    let [a, b, c, d, e, f, g, h] = this.state as unknown as [number, number, number, number, number, number, number, number]
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i]! + w[i]!) | 0
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0
    }
    const grown = [a, b, c, d, e, f, g, h]
    for (let i = 0; i < 8; i++) this.state[i] = this.state[i]! + grown[i]!
  }
}

const turn = (word: number, by: number) => (word >>> by) | (word << (32 - by))

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes, in exact integers. */
const rounds = Uint32Array.from(primes(64), (prime) => {
  let low = 0n, high = 1n << 36n // of the cube root times 2³²; the largest is below 7
  const cube = BigInt(prime) << 96n
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (middle ** 3n <= cube) low = middle
    else high = middle
  }
  return Number(low & 0xffffffffn)
})

function primes(many: number): number[] {
  const found: number[] = []
  for (let n = 2; found.length < many; n++) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
}
