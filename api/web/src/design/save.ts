// Hands a file to the browser to keep.

/** Saves what an address leads to, under a name. */
export function saveFrom(url: string, name: string) {
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.rel = 'noopener'
  document.body.append(link)
  link.click()
  link.remove()
}

export function saveText(name: string, mediaType: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }))
  saveFrom(url, name)
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
