// What differs between two contents, path by path.

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json }

export interface Difference {
  path: string
  kind: 'added' | 'removed' | 'changed'
  before?: Json
  after?: Json
}

const isObject = (value: Json): value is { [member: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A member's place in the way of JavaScript: layers[3].sel, tags["a b"]. */
const below = (path: string,
  member: string) => (/^[A-Za-z_$][\w$]*$/.test(member) ? (path ? `${path}.${member}` : member)
  : `${path}[${JSON.stringify(member)}]`)

/** The differences, in the order of the members' names. Lists are compared place by place. */
export function differences(before: Json, after: Json, path = ''): Difference[] {
  if (isObject(before) && isObject(after)) {
    const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
    return members.flatMap((member) => differ(before[member], after[member], below(path, member)))
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return Array.from({ length: Math.max(before.length, after.length) },
      (_, i) => differ(before[i], after[i], `${path}[${i}]`)).flat()
  }
  return Object.is(before, after) ? [] : [{ path: path || '(all)', kind: 'changed', before, after }]
}

function differ(before: Json | undefined, after: Json | undefined, path: string): Difference[] {
  if (before === undefined && after === undefined) return []
  if (before === undefined) return [{ path, kind: 'added', after }]
  if (after === undefined) return [{ path, kind: 'removed', before }]
  return differences(before, after, path)
}
