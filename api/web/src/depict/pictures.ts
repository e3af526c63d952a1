// Pictures of structures, each drawn once and kept while there is room. They are drawn one at a time while the browser has nothing
// else to do: a structure takes about 10 ms. The pages' policy lets no script make a worker (trusted-types 'none' forbids the
// address of one), so this is how a table stays smooth.

export type Picture = string | null // the address of the picture; null where the SMILES cannot be drawn

const most = 600
const kept = new Map<string, Picture>()
const waiting = new Map<string, Set<(picture: Picture) => void>>()
let busy = false

const keyOf = (smiles: string, width: number, height: number) => `${width} ${height} ${smiles}`

/** A picture that is there already. */
export function known(smiles: string, width: number, height: number): Picture | undefined {
  const key = keyOf(smiles, width, height)
  const picture = kept.get(key)
  if (picture === undefined) return undefined
  // What was used last goes last.
  kept.delete(key)
  kept.set(key, picture)
  return picture
}

/** Asks for a picture; the answer takes the question back. */
export function ask(smiles: string, width: number, height: number, told: (picture: Picture) => void): () => void {
  const key = keyOf(smiles, width, height)
  const askers = waiting.get(key) ?? new Set()
  askers.add(told)
  waiting.set(key, askers)
  void work()
  return () => {
    askers.delete(told)
    if (askers.size === 0 && waiting.get(key) === askers) waiting.delete(key)
  }
}

const idle = () =>
  new Promise<void>((resolve) => {
    if ('requestIdleCallback' in window) requestIdleCallback(() => resolve(), { timeout: 300 })
    else setTimeout(resolve, 16)
  })

async function work() {
  if (busy) return
  busy = true
  try {
    const { draw } = await import('./draw')
    for (;;) {
      await idle()
      // What was asked last is what is looked at now.
      const key = [...waiting.keys()].at(-1)
      if (key === undefined) return
      const askers = waiting.get(key)!
      waiting.delete(key)
      const [width, height, smiles] = parts(key)
      const picture = kept.get(key) ?? addressOf(draw(smiles, width, height))
      keep(key, picture)
      for (const told of askers) told(picture)
    }
  } catch {
    // The library did not come; whoever asks next tries again.
    waiting.clear()
  } finally {
    busy = false
  }
}

function parts(key: string): [number, number, string] {
  const [width, height, ...smiles] = key.split(' ')
  return [Number(width), Number(height), smiles.join(' ')]
}

const addressOf = (svg: string | undefined): Picture =>
  svg === undefined ? null : URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))

function keep(key: string, picture: Picture) {
  kept.set(key, picture)
  for (const [oldest, address] of kept) {
    if (kept.size <= most) break
    kept.delete(oldest)
    if (address) URL.revokeObjectURL(address)
  }
}
