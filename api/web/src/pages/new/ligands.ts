// Ligands as people write them: a SMILES and a name on each line, tables, structure-data files.

import type { LigandEntry } from '@/api/client'
import { extensionOf, type Uploaded } from '@/uploads'

/** Bounds of the service. */
export const maxLigands = 10_000
const maxSmilesChars = 4096
const maxLabelChars = 512
const maxIdChars = 128
const maxLigandBytes = 8 << 20

export interface LineProblem {
  line: number
  words: string
}

/** A ligand before it has an id: a SMILES, a component of the Chemical Component Dictionary, or a stored file. */
export type Ligand =
  | { kind: 'smiles'; label: string; smiles: string }
  | { kind: 'ccd'; label: string; componentId: string }
  | { kind: 'artifact'; label: string; format: 'sdf' | 'mol2' | 'pdbqt' | 'pdb'; file: Uploaded; from: string }

/** Reads a SMILES and a name from each line; empty lines and those that begin with # are skipped. */
export function readLines(text: string): { ligands: Ligand[]; problems: LineProblem[] } {
  const ligands: Ligand[] = []
  const problems: LineProblem[] = []
  text.split(/\r?\n/).forEach((whole, i) => {
    const line = whole.replace(/^\uFEFF/, '').trim()
    if (line === '' || line.startsWith('#')) return
    const [smiles = '', ...words] = line.split(/\s+/)
    const label = words.join(' ') || `ligand-${i + 1}`
    const problem = smiles.length > maxSmilesChars ? `The SMILES is longer than ${maxSmilesChars} characters.`
      : label.length > maxLabelChars ? `The name is longer than ${maxLabelChars} characters.` : smilesProblem(smiles)
    if (problem) problems.push({ line: i + 1, words: problem })
    else ligands.push({ kind: 'smiles', label, smiles })
  })
  return { ligands, problems }
}

/** What is wrong with a SMILES at first sight; the service reads it as a chemist does. */
export function smilesProblem(smiles: string): string | undefined {
  const strange = /[^A-Za-z0-9@+\-[\]()=#$:/\\.%*~]/.exec(smiles)
  if (strange) return `“${strange[0]}” is no part of a SMILES.`
  let open = 0
  for (const letter of smiles) {
    if (letter === '(') open++
    if (letter === ')' && --open < 0) return 'A parenthesis is closed that was not opened.'
  }
  if (open > 0) return 'A parenthesis is not closed.'
  const bare = smiles.replace(/\[[^[\]]*\]/g, 'C')
  if (/[[\]]/.test(bare)) return 'A square bracket has no partner.'
  const unknown = /[^BCNOPSFIbcnops\d@+\-()=#$:/\\.%*~]/.exec(bare.replace(/Br|Cl/g, 'C'))
  if (!unknown) return undefined
  return `“${unknown[0]}” is no atom by itself: atoms beyond B, C, N, O, P, S, F, Cl, Br and I stand in square brackets. Is it a name?`
}

const smilesHeaders = ['smiles', 'canonicalsmiles', 'inputsmiles']
const nameHeaders = ['label', 'name', 'title', 'id', 'ligandid', 'compound', 'compoundid']

/** A table with a header, of which a column holds SMILES and one may hold names, as lines of SMILES and name. */
export function tableLines(text: string, filename: string): string {
  const [header = [], ...rows] = csvRows(text)
  const plain = header.map((cell) => cell.toLowerCase().replace(/[\s_\-\uFEFF]/g, ''))
  const place = (names: string[]) => names.map((name) => plain.indexOf(name)).find((at) => at >= 0) ?? -1
  const structure = place(smilesHeaders)
  const label = place(nameHeaders)
  if (structure < 0) throw new Error(`${filename} has no column called smiles. Name the columns in its first line, such as name,smiles.`)
  return rows.filter((row) => (row[structure] ?? '').trim() !== '')
    .map((row) => `${row[structure]!.trim()} ${(row[label] ?? '').trim()}`.trim()).join('\n')
}

/** Rows of comma-separated values (RFC 4180). */
export function csvRows(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const match of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    row.push(match[1] !== undefined ? match[1].replaceAll('""', '"') : match[2] ?? '')
    if (match[3] === ',') continue
    if (row.some((cell) => cell !== '')) rows.push(row)
    row = []
    if (match[3] === '') break
  }
  return rows
}

/** The records of a structure-data file, each called after its first line. */
export function sdfRecords(text: string, filename: string): { label: string; text: string }[] {
  const records = text.split(/^\$\$\$\$[^\n]*\n?/m).filter((record) => record.trim() !== '')
  if (!records.some((record) => /V[23]000|^M {2}/m.test(record))) throw new Error(`${filename} holds no structure. Is it an SDF file?`)
  return records.map((record, i) => {
    if (record.length > maxLigandBytes) throw new Error(`Record ${i + 1} of ${filename} is larger than 8 MB.`)
    const label = (record.split('\n', 1)[0] ?? '').trim().replace(/\s+/g, ' ').slice(0, maxLabelChars)
    return { label: label || `ligand-${i + 1}`, text: record.endsWith('\n') ? record + '$$$$\n' : record + '\n$$$$\n' }
  })
}

/** What a file of ligands is read as; undefined for another. */
export function ligandFormat(filename: string): 'lines' | 'table' | 'sdf' | 'mol2' | 'pdbqt' | 'pdb' | undefined {
  const extension = extensionOf(filename)
  if (extension === 'smi' || extension === 'smiles' || extension === 'txt') return 'lines'
  if (extension === 'csv') return 'table'
  if (extension === 'sdf' || extension === 'mol') return 'sdf'
  return extension === 'mol2' || extension === 'pdbqt' || extension === 'pdb' ? extension : undefined
}

/** The ligands as a request has them, each with an id made from its name: safe for files and unique. */
export function entriesOf(ligands: Ligand[]): LigandEntry[] {
  const taken = new Set<string>()
  return ligands.map((ligand) => {
    const base = safeId(ligand.label)
    let ligandId = base
    for (let n = 2; taken.has(ligandId); n++) ligandId = base.slice(0, maxIdChars - `-${n}`.length) + `-${n}`
    taken.add(ligandId)
    return { ligandId, label: ligand.label, source: sourceOf(ligand, ligandId) }
  })
}

function sourceOf(ligand: Ligand, id: string): LigandEntry['source'] {
  if (ligand.kind === 'smiles') return { kind: 'smiles', smiles: ligand.smiles }
  if (ligand.kind === 'ccd') return { kind: 'ccd', componentId: ligand.componentId }
  return { kind: 'artifact', artifact: { schema: 'service.docking.artifact/v1', artifactId: id, ...ligand.file, format: ligand.format } }
}

export function safeId(label: string): string {
  const id = label.replace(/[^A-Za-z0-9._:-]+/g, '-').replace(/^[._:-]+|[._:-]+$/g, '').slice(0, maxIdChars)
  return id.replace(/[._:-]+$/, '') || 'ligand'
}
