import { useSyncExternalStore } from 'react'

const query = window.matchMedia('(min-width: 80rem)')

function subscribe(told: () => void) {
  query.addEventListener('change', told)
  return () => query.removeEventListener('change', told)
}

/** There is room for a molecule beside a table. On a phone none is loaded. */
export const useWide = () => useSyncExternalStore(subscribe, () => query.matches)
