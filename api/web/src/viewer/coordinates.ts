// Where atoms are, read from files as they are stored. Pure; fields stand where the formats say.

export type Point = [number, number, number]

/** An atom of a receptor, by its author's numbering. */
export interface AtomPlace {
  chain: string
  residue: number
  insertionCode: string
  atomName: string
}

const keyOf = (atom: AtomPlace) => `${atom.chain}/${atom.residue}${atom.insertionCode}/${atom.atomName}`

/** Finds atoms of a PDB file by name; of alternate places the first counts. */
export function atomsOfPDB(text: string): (atom: AtomPlace) => Point | undefined {
  const places = new Map<string, Point>()
  for (const line of text.split('\n')) {
    if (line.startsWith('ENDMDL')) break
    if (!line.startsWith('ATOM  ') && !line.startsWith('HETATM')) continue
    const point = pointAt(line, 30, 8)
    const key = keyOf({
      atomName: line.slice(12, 16).trim(),
      chain: line.slice(21, 22).trim(),
      residue: Number(line.slice(22, 26)),
      insertionCode: line.slice(26, 27).trim(),
    })
    if (point && !places.has(key)) places.set(key, point)
  }
  return (atom) => places.get(keyOf(atom))
}

/** The record-th molecule of an SDF file, counted from 1. */
export function recordOfSDF(text: string, record: number): string | undefined {
  const found = text.split(/^\$\$\$\$\r?\n?/m)[record - 1]
  return found?.trim() ? `${found.replace(/\n*$/, '\n')}$$$$\n` : undefined
}

/** Positions of the atoms of an SDF record, in its order. */
export function atomsOfSDF(record: string): Point[] {
  const lines = record.split(/\r?\n/)
  const counts = lines[3] ?? ''
  if (counts.includes('V3000')) {
    return lines.flatMap((line) => {
      const fields = line.startsWith('M  V30 ') ? line.slice(7).trim().split(/\s+/) : []
      const point = fields.length >= 6 && /^[A-Z*]/i.test(fields[1] ?? '') ? fields.slice(2, 5).map(Number) : []
      return point.length === 3 && point.every(Number.isFinite) ? [point as Point] : []
    })
  }
  const atoms = Number(counts.slice(0, 3))
  const points = lines.slice(4, 4 + (Number.isFinite(atoms) ? atoms : 0)).map((line) => pointAt(line, 0, 10))
  return points.filter((point) => point !== undefined)
}

function pointAt(line: string, start: number, width: number): Point | undefined {
  const point = [0, 1, 2].map((axis) => Number.parseFloat(line.slice(start + axis * width, start + (axis + 1) * width)))
  return point.every(Number.isFinite) ? (point as Point) : undefined
}

/** The middle of points; undefined of none. */
export function middle(points: Point[]): Point | undefined {
  if (points.length === 0) return undefined
  return [0, 1, 2].map((axis) => points.reduce((sum, point) => sum + point[axis]!, 0) / points.length) as Point
}

/** The number-th model of a PDBQT file, counted from 1; a file without models is one. */
export function modelOfPDBQT(text: string, number: number): string | undefined {
  const models = text.split(/^MODEL\b.*\n/m)
  if (models.length === 1) return number === 1 ? text : undefined
  return models[number]?.replace(/^ENDMDL.*\n?/m, '')
}
