// Stored files, which lie behind short-lived addresses.

import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Output } from '@/api/client'

export async function fetchFile(output: Pick<Output, 'url' | 'mediaType' | 'name'>): Promise<Blob> {
  let answer: Response
  try {
    answer = await fetch(output.url)
  } catch {
    throw new Error(`${output.name} cannot be fetched: the store cannot be reached. Try again in a moment.`)
  }
  if (!answer.ok) {
    throw new Error(`${output.name} cannot be fetched (status ${answer.status}). Load the page anew: addresses of files are good for an hour.`)
  }
  return new Blob([await answer.arrayBuffer()], { type: output.mediaType })
}

/** A file's content, kept under its id, which is another once the file is. */
export const useFile = (output: Output | undefined, enabled = true) => useQuery({
  queryKey: ['file', output?.artifactId],
  queryFn: () => fetchFile(output!),
  enabled: enabled && output !== undefined,
  staleTime: Infinity,
})

/** An address of this page's own for a content. */
export function useBlobUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!blob) return
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => {
      URL.revokeObjectURL(made)
      setUrl(undefined)
    }
  }, [blob])
  return url
}

/** Gives a content to the browser as a download. */
export function saveAs(blob: Blob, name: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const shown = new Set(['image/png', 'image/jpeg', 'image/svg+xml', 'image/webp'])
const mostPictureBytes = 20_000_000

export const isPicture = (output: Output) => shown.has(output.mediaType) && output.byteSize <= mostPictureBytes
export const isFilm = (output: Output) => output.mediaType.startsWith('video/')
export const isReport = (output: Output) => output.name.endsWith('report.html')

/** Opens a report in a tab of its own. The store gives files as downloads, so the tab gets its content; this page's policy holds
 *  there too, and no script runs in it. */
export async function openReport(output: Output): Promise<void> {
  const tab = window.open('', '_blank') // before anything is awaited: the browser allows it for the press alone
  try {
    const url = URL.createObjectURL(new Blob([undressed(await (await fetchFile(output)).text())], { type: 'text/html' }))
    if (!tab) throw new Error('The browser did not open a tab. Allow this site to open one, or download the report.')
    tab.location.replace(url)
    whenRead(tab, url, () => {
      dress(tab)
      URL.revokeObjectURL(url)
    })
  } catch (error) {
    tab?.close()
    throw error
  }
}

const pollMs = 50

function whenRead(tab: Window, url: string, done: () => void) {
  const timer = setInterval(() => {
    if (tab.closed) return clearInterval(timer)
    if (tab.location.href !== url || tab.document.readyState !== 'complete') return
    clearInterval(timer)
    done()
  }, pollMs)
}

/** A document whose styles wait, as data that nothing runs: the policy would refuse them where they stand. */
const undressed = (html: string) =>
  html.replace(/<style\b[^>]*>/gi, '<script type="text/css">').replace(/<\/style>/gi, '</script>')
    .replace(/(<[a-z][^<>]*?\s)style=/gi, '$1data-style=')

/** Lays the styles on by the document's object model, which the policy leaves to a page that may reach it. */
function dress(tab: Window) {
  const own = tab as Window & typeof globalThis
  tab.document.adoptedStyleSheets = [...tab.document.querySelectorAll('script[type="text/css"]')].map((element) => {
    const sheet = new own.CSSStyleSheet()
    sheet.replaceSync(element.textContent ?? '')
    return sheet
  })
  for (const element of tab.document.querySelectorAll<HTMLElement>('[data-style]')) element.style.cssText = element.dataset.style ?? ''
}
