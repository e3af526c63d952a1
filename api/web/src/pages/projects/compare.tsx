// Two versions of a content, and what differs.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Project } from '@/api/client'
import { Button, Card, Empty, Failure, Loading, Table } from '@/design'
import { count } from '@/words'
import { type Difference, differences, type Json } from './diff'
import { asJson, revisionQuery } from './queries'

const mostAtOnce = 200
const mostLetters = 400
const tones: Record<Difference['kind'], string> = { added: 'text-good', removed: 'text-bad', changed: 'text-warn' }

export function Compare({ project, from, to }: { project: Project; from: number; to: number }) {
  const { projectId } = project
  const before = useQuery(revisionQuery(projectId, from))
  const after = useQuery(revisionQuery(projectId, to))
  const found =
    useMemo(() => (before.data && after.data ? differences(asJson(before.data.content), asJson(after.data.content)) : undefined),
    [before.data, after.data])
  const [most, setMost] = useState(mostAtOnce)
  return (
    <Card title={`From version ${from} to version ${to}`}
      actions={<Link to="/projects/$projectId" params={{ projectId }}>Back to the project</Link>}>
      {before.isPending || after.isPending ? <Loading what="the versions" /> : null}
      <Failure error={before.error ?? after.error} />
      {found?.length === 0 ? <Empty title="Nothing differs">Both versions have the same content.</Empty> : null}
      {found && found.length > 0 ? (
        <>
          <p className="mb-2 text-sm text-soft">{count(found.length, 'place')} differ.</p>
          <Table caption="Differences" head={['Where', 'What', 'Before', 'After']}>
            {found.slice(0, most).map((one) => (
              <tr key={one.path}>
                <td className="min-w-40"><code className="wrap-anywhere">{one.path}</code></td>
                <td className={tones[one.kind]}>{one.kind}</td>
                <td className="min-w-32"><Value value={one.before} /></td>
                <td className="min-w-32"><Value value={one.after} /></td>
              </tr>
            ))}
          </Table>
          {found.length > most
            ? <Button className="mt-3" onClick={() => setMost(most + mostAtOnce)}>{found.length - most} more</Button> : null}
        </>
      ) : null}
    </Card>
  )
}

function Value({ value }: { value: Json | undefined }) {
  if (value === undefined) return <>–</>
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return <code className="whitespace-pre-wrap wrap-anywhere">
    {text.length > mostLetters ? `${text.slice(0, mostLetters)}…` : text}
  </code>
}
