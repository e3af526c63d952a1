// The scene of poses in their receptor, with everything that it needs.

import { useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { DockingInteraction, DockingPose } from '@/api/client'
import { contactKind, residueWords } from '@/viewer/contacts'
import { type AtomPlace, atomsOfPDB, atomsOfSDF, middle, type Point } from '@/viewer/coordinates'
import { type Box, colorOfPose, dockedScene, type ShownContact, type ShownResidue } from '@/viewer/scenes'
import type { MolViewSpec, Selector, ViewerFile } from '@/viewer'
import { useDark } from '@/theme'
import { artifactOf, artifactQuery, nativeQuery, type PoseFile, poseOf, receptorQuery } from './files'
import { contactsQuery } from './queries'

export const placeOf = (one: DockingInteraction): AtomPlace & { residueName: string } => one.receptor

export const contactWords = (one: DockingInteraction) =>
  `${contactKind(one.type).name} with ${residueWords(one.receptor.residueName, one.receptor.residue, one.receptor.insertionCode)} ` +
  `${one.receptor.atomName} of chain ${one.receptor.chain || 'without a name'}, ${one.distanceAngstrom.toFixed(2)} Å`

/** Contacts with places in space: from the middle of the ligand's atoms to the receptor's atom. One whose atoms are not there is left out. */
export function placed(
  contacts: DockingInteraction[],
  pose: string,
  atomAt: (atom: AtomPlace) => Point | undefined,
): ShownContact[] {
  const atoms = atomsOfSDF(pose)
  return contacts.flatMap((one) => {
    const start = middle(one.ligand.atomIndices.map((index) => atoms[index]).filter((point) => point !== undefined))
    const end = atomAt(one.receptor)
    return start && end ? [{ type: one.type, start, end, distance: one.distanceAngstrom, label: contactWords(one) }] : []
  })
}

/** The residues of contacts, each once. */
export function residuesOf(contacts: DockingInteraction[], atomAt?: (atom: AtomPlace) => Point | undefined): ShownResidue[] {
  const found = new Map<string, ShownResidue>()
  for (const {
    receptor: { chain, residue, insertionCode, residueName, atomName },
  } of contacts) {
    const place = { chain, residue, insertionCode }
    found.set(`${chain}/${residue}${insertionCode}`, {
      ...place,
      residueName,
      at: atomAt?.({ ...place, atomName: 'CA' }) ?? atomAt?.({ ...place, atomName }),
    })
  }
  return [...found.values()]
}

/** What a contact's row lights up: its atom and the whole of its residue's place, and the atoms of the pose. */
export const selectorsOf = (one: DockingInteraction, poseId: string): Selector[] => [
  {
    structure: 'receptor',
    auth_asym_id: one.receptor.chain,
    auth_seq_id: one.receptor.residue,
    ...(one.receptor.insertionCode ? { pdbx_PDB_ins_code: one.receptor.insertionCode } : {}),
  },
  ...one.ligand.atomIndices.map((atom_index) => ({ structure: poseId, atom_index })),
]

interface Wish {
  jobId: string | undefined
  /** The first has its contacts drawn. */
  poses?: DockingPose[]
  native?: boolean
  box?: Box
  labelled?: boolean
}

export interface DockedView {
  scene?: MolViewSpec
  files: Record<string, ViewerFile>
  error: unknown
  retry: () => void
  contacts: DockingInteraction[] | undefined
  /** There is a crystal pose to show. */
  hasNative: boolean
}

const none: DockingPose[] = []

export function useDockedView({ jobId, poses = none, native = false, box, labelled = true }: Wish): DockedView {
  const dark = useDark()
  const receptor = useQuery({ ...receptorQuery(jobId ?? ''), enabled: jobId !== undefined })
  const crystal = useQuery({ ...nativeQuery(jobId ?? ''), enabled: jobId !== undefined })
  const artifacts = [...new Set(poses.flatMap((pose) => artifactOf(pose)?.artifactId ?? []))]
  const contents = useQueries({ queries: artifacts.map((id) => artifactQuery(id)) })
  const first = poses[0]
  const contacts = useQuery({ ...contactsQuery(first ?? { poseId: '', analysed: false }), enabled: first?.analysed === true })

  const asked = [receptor, ...(native ? [crystal] : []), ...contents, ...(first?.analysed ? [contacts] : [])]
  const error = asked.find((query) => query.error)?.error
  const pending = jobId === undefined || asked.some((query) => query.isPending)
  const texts = new Map(artifacts.map((id, i) => [id, contents[i]!.data]))
  const files = poses.map((pose) => poseOf(pose, texts.get(artifactOf(pose)?.artifactId ?? '') ?? ''))
  const atomAt = useMemo(() => (receptor.data ? atomsOfPDB(receptor.data) : undefined), [receptor.data])

  // Poses are objects that come anew with every answer; what they are is in their ids.
  const key = JSON.stringify([
    poses.map((pose, i) => [pose.poseId, files[i]?.format, files[i]?.content.length]),
    native,
    box,
    labelled,
    dark,
  ])
  const crystalText = native ? (crystal.data ?? undefined) : undefined
  const made = useMemo(() => {
    if (pending || error) return undefined
    return sceneOf({
      poses,
      files,
      receptor: receptor.data ?? undefined,
      native: crystalText,
      contacts: contacts.data ?? [],
      atomAt,
      box,
      labelled,
      dark,
    })
  }, [key, pending, error, receptor.data, crystalText, contacts.data, atomAt])
  return {
    scene: made?.scene,
    files: made?.files ?? {},
    error,
    retry: () =>
      asked.forEach((query) => {
        if (query.error) void query.refetch()
      }),
    contacts: first && !first.analysed ? [] : contacts.data,
    hasNative: Boolean(crystal.data),
  }
}

interface Parts {
  poses: DockingPose[]
  files: (PoseFile | undefined)[]
  receptor?: string
  native?: string
  contacts: DockingInteraction[]
  atomAt?: (atom: AtomPlace) => Point | undefined
  box?: Box
  labelled: boolean
  dark: boolean
}

function sceneOf({ poses, files, receptor, native, contacts, atomAt, box, labelled, dark }: Parts) {
  const given: Record<string, ViewerFile> = {}
  if (receptor) given['receptor.pdb'] = { content: receptor }
  if (native) given['native.sdf'] = { content: native }
  const shown = poses.flatMap((pose, i) => {
    const file = files[i]
    if (!file) return []
    const name = `${pose.poseId}.${file.format}`
    given[name] = { content: file.content }
    return [{ file: name, format: file.format, ref: pose.poseId, color: colorOfPose(pose.rank) }]
  })
  const first = files[0]
  const scene = dockedScene({
    receptor: receptor ? { file: 'receptor.pdb', format: 'pdb' } : undefined,
    poses: shown,
    native: native ? 'native.sdf' : undefined,
    residues: residuesOf(contacts, atomAt),
    contacts: first?.format === 'sdf' && atomAt ? placed(contacts, first.content, atomAt) : [],
    box,
    labelled,
    dark,
  })
  return { scene, files: given }
}
