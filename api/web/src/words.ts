// How values read: money, times, sizes, states.

const pounds = new Intl.NumberFormat('en-GB', { style: 'currency', currency: 'GBP' })
const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

/** An amount in pounds, as jobs state it. */
export const money = (amount: number | null | undefined) => (amount == null ? '–' : pounds.format(amount))

/** An amount in pence, as the ledger states it. */
export const pence = (cents: number) => pounds.format(cents / 100)

export const when = (time: string | null | undefined) => (time ? dateTime.format(new Date(time)) : '–')

/** How long ago, or how long: "3 min". */
export function duration(seconds: number): string {
  if (seconds < 1) return 'under a second'
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`
  if (seconds < 36 * 3600) return `${(seconds / 3600).toFixed(1)} h`
  return `${Math.round(seconds / 86400)} days`
}

export function ago(time: string): string {
  const seconds = (Date.now() - Date.parse(time)) / 1000
  return seconds < 5 ? 'just now' : `${duration(seconds)} ago`
}

export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000
    unit++
  }
  return `${unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`
}

/** COMPLETED_WITH_FAILURES reads "completed with failures". */
export const stateWords = (status: string) => status.toLowerCase().replaceAll('_', ' ')

export const count = (n: number, one: string, many = one + 's') => `${n.toLocaleString('en-GB')} ${n === 1 ? one : many}`
