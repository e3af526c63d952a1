// Tables as comma-separated values (RFC 4180).

/** A cell. One that a spreadsheet would take for a formula begins with an apostrophe, as in the service's own tables. */
function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export function csv(head: string[], rows: (string | number | null)[][]): string {
  return [head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n'
}
