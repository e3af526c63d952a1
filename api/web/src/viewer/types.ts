// What pages and the viewer say to each other.

import type { Ref } from 'react'

/** A node of a MolViewSpec tree, as https://molstar.org/mol-view-spec-docs/ has it. */
export interface MolViewSpecNode {
  kind: string
  params?: Record<string, unknown>
  custom?: Record<string, unknown>
  /** A name by which selectors find a structure. */
  ref?: string
  children?: MolViewSpecNode[]
}

/** A MolViewSpec document: one state, or several. The wire's scenes are just objects, and checked when they are loaded. */
export type MolViewSpec = object

/** A file that a document refers to: where it is, or what it holds. Content keeps its parsed form when a scene changes; an
 *  address that is signed anew is another address, and loads again. */
export type ViewerFile = { url: string } | { content: string | Uint8Array }

/** Atoms, in the words of MolViewSpec. Without a structure those of every structure are meant. */
export interface Selector {
  /** The ref of a structure node. */
  structure?: string
  auth_asym_id?: string
  auth_seq_id?: number
  pdbx_PDB_ins_code?: string
  auth_comp_id?: string
  auth_atom_id?: string
  beg_auth_seq_id?: number
  end_auth_seq_id?: number
  label_asym_id?: string
  label_seq_id?: number
  /** Place of the atom in its file, from 0. */
  atom_index?: number
}

/** The atom that somebody has clicked, in author numbering. */
export interface Picked {
  structure?: string
  chain: string
  residue: number
  insertionCode: string
  residueName: string
  atomName: string
}

export interface ViewerHandle {
  highlight(selectors: Selector[]): void
  focus(selectors: Selector[]): void
  /** Takes every highlight away. */
  clear(): void
}

export interface ViewerProps {
  /** None while it is still being fetched: the engine starts meanwhile. */
  scene: MolViewSpec | undefined
  /** Files by the reference that the scene has for them. References that are not here are addresses. */
  files?: Record<string, ViewerFile>
  /** What the camera of the scene was made for. While it stays the same the reader's own view is kept; when it changes the camera
   *  goes where the scene says. */
  framed?: string
  /** What is seen, in words, for those who do not see it. */
  label: string
  onPick?: (picked: Picked) => void
  /** A picture for browsers that cannot draw. */
  fallback?: { src: string; alt: string }
  /** Height of the picture, as classes. */
  height?: string
  ref?: Ref<ViewerHandle>
}
