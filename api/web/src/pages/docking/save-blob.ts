import { saveFrom } from '@/design/save'

const keptMs = 60_000

/** Hands content to the browser to keep, under a name. */
export function saveBlob(name: string, content: Blob) {
  const url = URL.createObjectURL(content)
  saveFrom(url, name)
  setTimeout(() => URL.revokeObjectURL(url), keptMs)
}
