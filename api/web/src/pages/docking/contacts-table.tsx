// What a pose touches, as a table; a row that is pointed at or focused lights up in the viewer.

import type { RefObject } from 'react'
import type { DockingInteraction } from '@/api/client'
import { Button, Table } from '@/design'
import { contactKind, residueWords } from '@/viewer/contacts'
import type { ViewerHandle } from '@/viewer'
import { figure } from './columns'
import { selectorsOf } from './scene'

interface ContactsProps {
  contacts: DockingInteraction[]
  poseId: string
  viewer: RefObject<ViewerHandle | null>
  /** The residue that was clicked in the viewer. */
  picked?: string
}

export const residueKey = (chain: string, residue: number, insertionCode: string) => `${chain}/${residue}${insertionCode}`

export function ContactsTable({ contacts, poseId, viewer, picked }: ContactsProps) {
  return (
    <Table
      caption="Contacts between pose and receptor"
      head={[
        'Kind',
        'Residue',
        'Chain',
        'Atom',
        'Distance, Å',
        'Angle, °',
        <span key="look" className="relative">
          <span className="sr-only">In the viewer</span>
        </span>,
      ]}
    >
      {contacts.map((one, i) => {
        const { receptor } = one
        const { name, color } = contactKind(one.type)
        const residue = residueWords(receptor.residueName, receptor.residue, receptor.insertionCode)
        const light = () => viewer.current?.highlight(selectorsOf(one, poseId))
        const off = () => viewer.current?.clear()
        const isPicked = picked === residueKey(receptor.chain, receptor.residue, receptor.insertionCode)
        return (
          <tr
            key={i}
            onMouseEnter={light}
            onMouseLeave={off}
            className={isPicked ? 'bg-line/50' : 'hover:bg-line/25'}
            aria-current={isPicked || undefined}
          >
            <td className="whitespace-nowrap">
              <span aria-hidden="true" className="mr-1.5 inline-block size-3 rounded-full" style={{ background: color }} />
              {name}
            </td>
            <td>{residue}</td>
            <td>{receptor.chain}</td>
            <td>{receptor.atomName}</td>
            <td>{figure(one.distanceAngstrom, 2)}</td>
            <td>{figure(one.angleDegrees, 0)}</td>
            <td>
              <Button
                kind="quiet"
                className="min-h-6 py-0"
                aria-label={`Look at the ${name} with ${residue}`}
                onFocus={light}
                onBlur={off}
                onClick={() => viewer.current?.focus(selectorsOf(one, poseId))}
              >
                Look
              </Button>
            </td>
          </tr>
        )
      })}
    </Table>
  )
}
