// A ligand that somebody draws.

import { useRef, useState } from 'react'
import { Editor, type EditorHandle } from '@/depict/editor'
import { Button, Dialog, TextField } from '@/design'

export function DrawLigand({ onTake }: { onTake: (smiles: string, name: string) => void }) {
  const [open, setOpen] = useState(false)
  return (
    <div>
      <Button onClick={() => setOpen(true)}>Draw one</Button>
      {open ? <Drawing onTake={onTake} close={() => setOpen(false)} /> : null}
    </div>
  )
}

function Drawing({ onTake, close }: { onTake: (smiles: string, name: string) => void; close: () => void }) {
  const editor = useRef<EditorHandle>(null)
  const [name, setName] = useState('')
  const [said, setSaid] = useState('')
  const take = () => {
    const smiles = editor.current?.smiles() ?? ''
    if (!smiles) return setSaid('Draw a structure first: choose a bond or a ring, then click on the white.')
    onTake(smiles, name.trim() || 'drawn')
    close()
  }
  return (
    <Dialog open onOpenChange={(next) => !next && close()} title="Draw a ligand">
      <div className="grid gap-3">
        <Editor ref={editor} />
        <p className="text-sm text-soft">Without a mouse, write the SMILES into the form instead.</p>
        <TextField label="Its name" value={name} maxLength={200} autoComplete="off" placeholder="drawn"
          onChange={(event) => setName(event.target.value)} />
        <p role="status" className="text-sm text-warn empty:hidden">{said}</p>
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button kind="primary" onClick={take}>Add it</Button>
        </div>
      </div>
    </Dialog>
  )
}
