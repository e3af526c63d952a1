// Light or dark: as the system says, or as the reader chose.

import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const key = 'molfabric.theme'
const system = window.matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(key)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** What is seen now. */
export function isDark(): boolean {
  const theme = chosenTheme()
  return theme === 'dark' || (theme === 'system' && system.matches)
}

function apply() {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
  for (const listener of listeners) listener()
}

export function chooseTheme(theme: Theme) {
  if (theme === 'system') localStorage.removeItem(key)
  else localStorage.setItem(key, theme)
  apply()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useDark = () => useSyncExternalStore(subscribe, isDark)
export const useTheme = () => useSyncExternalStore(subscribe, chosenTheme)

system.addEventListener('change', apply)
apply()
