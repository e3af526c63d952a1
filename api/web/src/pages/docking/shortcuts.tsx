// Keys of a page that are letters or signs. Somebody who speaks to a computer says them by accident, so they can be turned off
// (WCAG 2.2, 2.1.4).

import { useEffect, useRef, useState } from 'react'
import { Check } from '@/design'

const kept = 'molfabric.keys'

const editable = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Listens for keys while the page is open. */
export function useShortcuts(keys: Record<string, () => void>) {
  const [on, setOn] = useState(() => localStorage.getItem(kept) !== 'off')
  const now = useRef(keys)
  now.current = keys
  useEffect(() => {
    if (!on) return
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || editable(event.target)) return
      const act = now.current[event.key]
      if (!act) return
      event.preventDefault()
      act()
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [on])
  const turn = (next: boolean) => {
    localStorage.setItem(kept, next ? 'on' : 'off')
    setOn(next)
  }
  return { on, turn }
}

export function ShortcutChoice({ shortcuts, words }: { shortcuts: ReturnType<typeof useShortcuts>; words: string }) {
  return <Check label={words} checked={shortcuts.on} onChange={(event) => shortcuts.turn(event.target.checked)} />
}
