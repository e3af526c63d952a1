// Copying. Browsers give pages their clipboard over TLS and on one's own machine alone; elsewhere the older way does.

/** Copies a text; false where the browser does not let pages copy. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    const copied = document.execCommand('copy')
    area.remove()
    return copied
  }
}
