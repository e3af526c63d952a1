// Step 3 of a docking: what is docked.

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, type LigandCandidate, resolveLigand } from '@/api/client'
import { Button, Card, Check, Failure, TextArea, TextField } from '@/design'
import { eachOf, upload } from '@/uploads'
import { count } from '@/words'
import { type DockingDraft, ligandsOf } from './docking-draft'
import type { StepProps } from './docking-receptor'
import { DrawLigand } from './draw-ligand'
import { FileField } from './file-field'
import { type Ligand, ligandFormat, maxLigands, sdfRecords, tableLines } from './ligands'

const accepted = '.smi,.smiles,.txt,.csv,.sdf,.mol,.mol2,.pdbqt,.pdb,.gz'
const transfers = 4
const maxTextBytes = 256 << 20
const problemsShown = 5

type FileLigand = DockingDraft['files'][number]

/** Lines behind lines. */
const joined = (before: string, more: string) => [before.trimEnd(), more.trim()].filter((text) => text !== '').join('\n')

/** Reads a file of ligands: its lines join those of the form, its structures are stored. */
async function readFile(
  { name, content }: { name: string; content: Blob }, signal: AbortSignal, onProgress: (share: number) => void,
): Promise<{ lines?: string; files?: FileLigand[] }> {
  const format = ligandFormat(name)
  if (!format) throw new Error(`${name}: ligands come as .smi, .csv, .sdf, .mol2, .pdbqt or .pdb files. Choose one of these.`)
  if (content.size > maxTextBytes) throw new Error(`${name} is too large for a page. Cut it up, or use molfabric dock --ligands.`)
  if (format === 'lines') return { lines: await content.text() }
  if (format === 'table') return { lines: tableLines(await content.text(), name) }
  const title = name.replace(/\.[^.]+$/, '')
  const records = format === 'sdf' ? sdfRecords(await content.text(), name) : [{ label: title, text: await content.text() }]
  if (records.length > maxLigands) throw new Error(`${name} holds ${records.length} ligands. A job takes at most ${maxLigands}: cut it up.`)
  const files: FileLigand[] = []
  let done = 0
  await eachOf(records.length, transfers, async (i) => {
    const { label, text } = records[i]!
    files[i] = { kind: 'artifact', label, format, from: name, file: await upload(new Blob([text]), `ligand-${i + 1}.${format}`, { signal }) }
    onProgress(++done / records.length)
  })
  return { files }
}

export function LigandsStep({ draft, set, errors }: StepProps) {
  const { ligands, problems } = ligandsOf(draft)
  const fileNames = [...new Set(draft.files.map((file) => file.from))]
  return (
    <Card title="3. Ligands" actions={<span className="text-sm text-soft" role="status">{count(ligands.length, 'ligand')}</span>}>
      <div className="grid gap-4">
        <TextArea
          label="SMILES and names" rows={6} value={draft.lines} spellCheck={false} autoComplete="off" wrap="off"
          placeholder={'CC(=O)Oc1ccccc1C(=O)O aspirin'} hint="One a line: the SMILES, a space, and the name."
          error={ligandError(errors.at('ligandLibrary', 'ligandIdentity'), ligands)}
          onChange={(event) => set({ lines: event.target.value })}
        />
        <DrawLigand onTake={(smiles, name) => set({ lines: joined(draft.lines, `${smiles} ${name}`) })} />
        {problems.length > 0 ? (
          <ul className="grid gap-1 text-sm text-bad">
            {problems.slice(0, problemsShown).map((problem) => <li key={problem.line}>Line {problem.line}: {problem.words}</li>)}
            {problems.length > problemsShown ? <li>and {problems.length - problemsShown} lines more</li> : null}
          </ul>
        ) : null}
        <div className="grid gap-4 sm:grid-cols-2">
          <FileField
            label="Add a file of ligands" accept={accepted}
            hint="SMI, CSV with a column smiles, SDF, MOL2, PDBQT or PDB; also as .gz."
            take={async (file, signal, onProgress) => {
              const found = await readFile(file, signal, onProgress)
              set((before) => ({
                ...(found.lines === undefined ? {} : { lines: joined(before.lines, found.lines) }),
                ...(found.files ? { files: [...before.files, ...found.files] } : {}),
              }))
            }}
          />
          <LookUp onTake={(one) => set(taken(draft, one))} />
        </div>
        {draft.components.length + fileNames.length > 0 ? (
          <ul className="grid gap-1 text-sm">
            {draft.components.map((one) => (
              <Taken
                key={one.componentId} text={`${one.label} (${one.componentId})`}
                onRemove={() => set({ components: draft.components.filter((other) => other !== one) })}
              />
            ))}
            {fileNames.map((name) => (
              <Taken
                key={name} text={`${name}: ${count(draft.files.filter((file) => file.from === name).length, 'ligand')}`}
                onRemove={() => set({ files: draft.files.filter((file) => file.from !== name) })}
              />
            ))}
          </ul>
        ) : null}
        <div className="grid gap-2">
          <Check
            label="Dock the bound ligand again" checked={draft.redock} onChange={(event) => set({ redock: event.target.checked })}
            hint="Says how far its best pose comes from the crystal’s. Without other ligands it is all that is docked."
          />
          {draft.redock ? (
            <div className="max-w-60 pl-6">
              <TextField
                label="Stop the job when it is farther off than, Å" inputMode="decimal" value={draft.gate} placeholder="go on"
                hint="2 is usual. Empty: the job goes on."
                error={errors.at('dockingValidation')} onChange={(event) => set({ gate: event.target.value })}
              />
            </div>
          ) : null}
        </div>
      </div>
    </Card>
  )
}

/** An error of the third entry names the ligand. */
function ligandError(words: string | undefined, ligands: Ligand[]): string | undefined {
  const at = /ligandLibrary\[(\d+)\]/.exec(words ?? '')
  return at && ligands[Number(at[1])] ? `${ligands[Number(at[1])]!.label}: ${words}` : words
}

function Taken({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 border-t border-line pt-1">
      <span className="wrap-anywhere">{text}</span>
      <Button kind="quiet" onClick={onRemove} aria-label={`Take it out: ${text}`}>Take it out</Button>
    </li>
  )
}

/** A candidate of a look-up as a ligand: a component by its id, another by its SMILES. */
function taken(draft: DockingDraft, one: LigandCandidate): Partial<DockingDraft> {
  const componentId = one.componentId
  if (!componentId) return { lines: joined(draft.lines, `${one.smiles} ${one.name}`) }
  if (draft.components.some((other) => other.componentId === componentId)) return {}
  return { components: [...draft.components, { componentId, label: one.name }] }
}

function LookUp({ onTake }: { onTake: (one: LigandCandidate) => void }) {
  const [query, setQuery] = useState('')
  const look = useMutation({ mutationFn: (text: string) => answered(resolveLigand({ body: { query: text } })) })
  const search = () => {
    if (query.trim() !== '') look.mutate(query.trim())
  }
  return (
    <div className="grid content-start gap-2">
      <TextField
        label="Look up a name" value={query} placeholder="imatinib" autoComplete="off"
        hint="Among the components of the Protein Data Bank."
        onChange={(event) => setQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault() // it would submit the job
          search()
        }}
      />
      <div><Button onClick={search} busy={look.isPending}>Look it up</Button></div>
      <Failure error={look.error} />
      {look.data ? (
        <ul role="status" className="grid max-h-60 gap-1 overflow-y-auto text-sm">
          {look.data.candidates.length === 0 ? <li>Nothing is called so here. Give the ligand as SMILES or as a file.</li> : null}
          {look.data.candidates.map((one) => (
            <li key={one.sourceId} className="flex items-center justify-between gap-2 border-t border-line pt-1">
              <span
                className="min-w-0 wrap-anywhere"
              >{one.name} <span
                className="text-soft"
              >{one.componentId ?? one.sourceId}{one.formula ? `, ${one.formula}` : ''}</span></span>
              <Button onClick={() => onTake(one)} aria-label={`Add ${one.name}`}>Add</Button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  )
}
