// Where a sign-in leads to: a page of this service, whatever somebody has written into the link.

/** A path of this service, or "/" for anything that a browser could take for another site. */
export function localPath(next: string | undefined): string {
  const hidden = [...(next ?? '')].some((letter) => letter < ' ' || letter === '\x7f')
  if (!next || hidden || !next.startsWith('/') || next.startsWith('//') || next.includes('\\')) return '/'
  const parsed = new URL(next, window.location.origin)
  // "/..//evil.example" is resolved to a path that begins like another host.
  if (parsed.origin !== window.location.origin || parsed.pathname.startsWith('//')) return '/'
  return /^\/sign-(in|up)\b/.test(parsed.pathname) ? '/' : parsed.pathname + parsed.search + parsed.hash
}

/** Pages that the service itself writes, which the app does not know, and shares, whose page comes with stricter headers. */
export const isServed = (path: string) => /^\/(docs|shared|api|verify-email)\b/.test(path)
