// Asks before something that cannot be taken back.

import type { ReactNode } from 'react'
import { Button, Dialog, Failure } from '.'

interface ConfirmProps {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: string
  children: ReactNode
  /** What the button does, as a verb: "Delete the project". */
  action: string
  busy?: boolean
  error?: unknown
  disabled?: boolean
  onConfirm: () => void
}

export function Confirm({ open, onOpenChange, title, children, action, busy, error, disabled, onConfirm }: ConfirmProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={title}>
      <div className="grid gap-3">
        {children}
        <Failure error={error} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={() => onOpenChange(false)}>Leave it</Button>
          <Button kind="danger" busy={busy} disabled={disabled} onClick={onConfirm}>{action}</Button>
        </div>
      </div>
    </Dialog>
  )
}
