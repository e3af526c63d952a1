// Scenes of a docking as MolViewSpec trees. Pure. Parts come in one order, and what is added comes last, so that a changed scene
// keeps what has not changed of the one before.

import type { Point } from './coordinates'
import { contactKind, residueWords } from './contacts'
import type { MolViewSpecNode, Selector } from './types'

export interface ShownPose {
  /** Reference of its file, which holds nothing else. */
  file: string
  format: 'sdf' | 'pdbqt'
  /** Name of its structure, for selectors. */
  ref: string
  color: string
}

export interface ShownContact {
  type: string
  start: Point
  end: Point
  distance: number
  label: string
}

export interface ShownResidue {
  chain: string
  residue: number
  insertionCode: string
  residueName: string
  /** Where its name stands. */
  at?: Point
}

export interface Box {
  center: Point
  size: Point
}

export interface DockedParts {
  receptor?: { file: string; format: 'pdb' | 'pdbqt' | 'mmcif' }
  /** The first is framed. */
  poses: ShownPose[]
  native?: string
  residues?: ShownResidue[]
  contacts?: ShownContact[]
  box?: Box
  /** Names of residues and lengths of contacts. */
  labelled: boolean
  dark: boolean
}

/** Names of the structures of a docked scene, for selectors. */
export const receptorRef = 'receptor'
export const nativeRef = 'native'

/** Carbon of poses that lie over each other, in turn; the first is that of the docking's pictures. */
export const poseColors = [
  '#35c47a',
  '#e0a010',
  '#5aa0d6',
  '#d96b45',
  '#a97fd0',
  '#00a5a5',
  '#c8556c',
  '#8f9a3d',
  '#6f7fb5',
  '#b08968',
]
export const nativeColor = '#e79bd0'

const residueCarbon = { light: '#aab2bd', dark: '#ccd2da' }
const chain = { light: '#c9d3e0', dark: '#5b6779' }
const ink = { light: '#1a2130', dark: '#e7ebf2' }
const edge = { light: 0xffffff, dark: 0x10141b }
const boxColor = '#1f8fe0'

const tubeAngstrom = 0.07,
  thinTubeAngstrom = 0.035,
  dashAngstrom = 0.17
const distanceAngstrom = 1.3,
  nameAngstrom = 1.7
const poseSize = 0.28,
  residueSize = 0.17,
  nativeSize = 0.16

export function node(
  kind: string,
  params?: Record<string, unknown>,
  children: MolViewSpecNode[] = [],
  custom?: Record<string, unknown>,
): MolViewSpecNode {
  return { kind, ...(params ? { params } : {}), ...(custom ? { custom } : {}), ...(children.length > 0 ? { children } : {}) }
}

export function specDocument(children: MolViewSpecNode[]): object {
  return { metadata: { version: '1', timestamp: '1970-01-01T00:00:00Z' }, root: node('root', undefined, children) }
}

export function structure(file: string, format: string, ref: string, children: MolViewSpecNode[]): MolViewSpecNode {
  return node('download', { url: file }, [node('parse', { format }, [{ ...node('structure', { type: 'model' }, children), ref }])])
}

/** Atoms as sticks, elements in their usual colours but carbon. */
export function sticks(selector: unknown, carbon: string, size: number, more: MolViewSpecNode[] = []): MolViewSpecNode {
  const uniform = { value: Number.parseInt(carbon.slice(1), 16), saturation: 0, lightness: 0 }
  const color = node('color', undefined, [], {
    molstar_color_theme_name: 'element-symbol',
    molstar_color_theme_params: { carbonColor: { name: 'uniform', params: uniform } },
  })
  const look = node('representation', { type: 'ball_and_stick', size_factor: size, ignore_hydrogens: true }, [color], {
    molstar_representation_params: { sizeAspectRatio: 0.95 },
  })
  return node('component', { selector }, [look, ...more])
}

export function cartoon(selector: unknown, color: string, opacity = 1): MolViewSpecNode {
  const look = [node('color', { color }), ...(opacity < 1 ? [node('opacity', { opacity })] : [])]
  return node('component', { selector }, [node('representation', { type: 'cartoon' }, look)])
}

/** Chains of so few residues have hardly a course that a cartoon could show. */
const fewResidues = 30

/** A frame, counted from 0, of a trajectory: chains as cartoon, or as sticks where they are short, and what is bound as sticks. */
export function trajectoryScene({ topology, frames, frame, text }: { topology: string; frames: string; frame: number; text: string }) {
  const alphaCarbons = text.match(/^ATOM .{7} CA /gm)?.length ?? fewResidues
  const look = alphaCarbons < fewResidues ? sticks('polymer', nativeColor, poseSize) : cartoon('polymer', poseColors[2]!)
  const format = topology.endsWith('.cif') ? 'mmcif' : 'pdb'
  const params = { type: 'model', model_index: frame, coordinates_ref: 'frames' }
  return specDocument([
    node('download', { url: frames }, [node('parse', { format: 'dcd' }, [{ ...node('coordinates'), ref: 'frames' }])]),
    node('download', { url: topology }, [
      node('parse', { format }, [{ ...node('structure', params, [look, sticks('ligand', poseColors[0]!, poseSize)]), ref: receptorRef }]),
    ]),
  ])
}

/** A chain of a predicted structure, under the name that its file has for it. */
export interface FoldChain {
  id: string
  sequence: string
}

/** Residues of one chain, from begin to end, counted from 1, that have one colour. */
export interface ShownBand {
  chain: string
  begin: number
  end: number
  color: string
}

/** A predicted structure as cartoon, coloured by bands of confidence. */
export function foldScene(file: string, bands: ShownBand[]): object {
  const colors = bands.map(({ chain, begin, end, color }) =>
    node('color', { color, selector: { label_asym_id: chain, beg_label_seq_id: begin, end_label_seq_id: end } }),
  )
  const residues = bands.reduce((sum, band) => sum + band.end - band.begin + 1, 0)
  // A cartoon of a few residues would show hardly a course.
  const look = node('representation', { type: residues < fewResidues ? 'ball_and_stick' : 'cartoon' }, colors)
  return specDocument([structure(file, 'mmcif', receptorRef, [node('component', { selector: 'polymer' }, [look])])])
}

/** A receptor alone or with poses: chains as cartoon, poses as sticks, what a pose touches with names and dashed lines. */
export function dockedScene(parts: DockedParts): object {
  const tone = parts.dark ? 'dark' : 'light'
  const nodes: MolViewSpecNode[] = []
  if (parts.receptor) nodes.push(structure(parts.receptor.file, parts.receptor.format, receptorRef, receptor(parts, tone)))
  parts.poses.forEach((pose, i) => {
    const frame = i === 0 ? [node('focus', { radius_extent: 6 })] : []
    nodes.push(structure(pose.file, pose.format, pose.ref, [sticks('all', pose.color, poseSize, frame)]))
  })
  if (parts.native) nodes.push(structure(parts.native, 'sdf', nativeRef, [sticks('all', nativeColor, nativeSize)]))
  if (parts.contacts?.length) nodes.push(contacts(parts.contacts, parts.labelled, tone))
  if (parts.labelled && parts.residues?.length) nodes.push(names(parts.residues, tone))
  if (parts.box) nodes.push(box(parts.box))
  return specDocument(nodes)
}

type Tone = 'light' | 'dark'

function receptor(parts: DockedParts, tone: Tone): MolViewSpecNode[] {
  const alone = parts.poses.length === 0
  const nodes = [
    cartoon('polymer', chain[tone], alone ? 1 : 0.5),
    sticks('ligand', '#f0b04a', residueSize),
    node('component', { selector: 'ion' }, [
      node('representation', { type: 'spacefill', size_factor: 0.5 }, [
        node('color', undefined, [], { molstar_color_theme_name: 'element-symbol' }),
      ]),
    ]),
  ]
  const residues = parts.residues ?? []
  if (residues.length > 0) nodes.push(sticks(residues.map(selectorOf), residueCarbon[tone], residueSize))
  return nodes
}

export const selectorOf = ({ chain: auth_asym_id, residue, insertionCode }: ShownResidue): Selector => ({
  auth_asym_id,
  auth_seq_id: residue,
  ...(insertionCode ? { pdbx_PDB_ins_code: insertionCode } : {}),
})

function contacts(shown: ShownContact[], labelled: boolean, tone: Tone): MolViewSpecNode {
  const lines = shown.map(({ type, start, end, label }) =>
    node('primitive', {
      kind: 'tube',
      start,
      end,
      radius: type === 'hydrophobic' ? thinTubeAngstrom : tubeAngstrom,
      dash_length: dashAngstrom,
      color: contactKind(type).color,
      tooltip: label,
    }),
  )
  // Hydrophobic contacts are many and say little: they have no lengths.
  const lengths = labelled
    ? shown
        .filter((one) => one.type !== 'hydrophobic')
        .map(({ type, start, end, distance }) =>
          node('primitive', {
            kind: 'label',
            position: start.map((x, axis) => (x + end[axis]!) / 2),
            text: `${distance.toFixed(1)} Å`,
            label_size: distanceAngstrom,
            label_color: contactKind(type).color,
          }),
        )
    : []
  return node('primitives', { label_attachment: 'middle-center' }, [...lines, ...lengths], edged(tone))
}

function names(residues: ShownResidue[], tone: Tone): MolViewSpecNode {
  const texts = residues.flatMap((one) =>
    one.at
      ? [
          node('primitive', {
            kind: 'label',
            position: one.at,
            text: residueWords(one.residueName, one.residue, one.insertionCode),
            label_size: nameAngstrom,
            label_color: ink[tone],
          }),
        ]
      : [],
  )
  return node('primitives', { label_attachment: 'middle-center' }, texts, edged(tone))
}

/** Letters with an edge in the colour of the ground are read on anything. */
const edged = (tone: Tone) => ({ molstar_label_params: { borderColor: edge[tone], borderWidth: 0.15 } })

/** The edges of a box, as a search box is shown. */
export function box({ center, size }: Box): MolViewSpecNode {
  return node('primitives', { opacity: 1 }, [
    node('primitive', {
      kind: 'box',
      center,
      extent: size.map((edgeLength) => edgeLength / 2),
      show_faces: false,
      show_edges: true,
      edge_radius: 0.12,
      edge_color: boxColor,
      tooltip: `box of ${size.map((x) => x.toFixed(1)).join(' × ')} Å`,
    }),
  ])
}

/** The colour of a ligand's pose by its rank, the same wherever it is shown. */
export const colorOfPose = (rank: number) => poseColors[(rank - 1) % poseColors.length]!
