// How sure a model is of a fold: the bands of pLDDT, as the AlphaFold database names and colours them, and what a job's files say.

import type { FoldChain, ShownBand } from '@/viewer/scenes'

/** A row of results.json (engines/esmfold): a protein that was folded. */
export interface FoldRow {
  /** What its files are called, without what follows. */
  file: string
  name: string
  chains: number
  residues: number
  meanPlddt: number
  /** Share of residues with a pLDDT of at least 70. */
  confidentFraction: number
  ptm: number
  /** Of a complex alone. */
  iptm: number | null
  meanPaeAngstrom: number
}

/** results.json, as far as pages read it. */
export interface FoldResults {
  untrained: boolean
  sequences: FoldRow[]
  failures: { item: string; message: string }[]
}

/** <file>.scores.json, as far as pages read it. */
export interface FoldScores {
  chains: FoldChain[]
  /** 0 to 100, of the residues of all chains in their order. */
  plddt: number[]
  /** Å; a row is what is laid on the truth, a column what is looked at. */
  paeAngstrom: number[][]
  maxPaeAngstrom: number
}

interface Band {
  least: number
  color: string
  name: string
}

/** From the top. */
export const bands: Band[] = [
  { least: 90, color: '#0053d6', name: 'very high' },
  { least: 70, color: '#65cbf3', name: 'confident' },
  { least: 50, color: '#ffdb13', name: 'low' },
  { least: 0, color: '#ff7d45', name: 'very low' },
]

export const bandOf = (plddt: number) => bands.find((band) => plddt >= band.least) ?? bands.at(-1)!

/** Where a residue of all chains is: its chain, its number in it from 1, its letter. */
export function residueAt(chains: FoldChain[], index: number): { chain: string; number: number; letter: string } | undefined {
  let before = 0
  for (const { id, sequence } of chains) {
    if (index < before + sequence.length) return { chain: id, number: index - before + 1, letter: sequence[index - before]! }
    before += sequence.length
  }
  return undefined
}

/** "K 12", with its chain where there are several. */
export function residueWords(chains: FoldChain[], index: number): string {
  const found = residueAt(chains, index)
  if (!found) return `residue ${index + 1}`
  return `${found.letter} ${found.number}${chains.length > 1 ? ` of chain ${found.chain}` : ''}`
}

/** Runs of residues of one band. */
export function runsOf({ chains, plddt }: Pick<FoldScores, 'chains' | 'plddt'>): ShownBand[] {
  const runs: ShownBand[] = []
  let place = 0
  for (const { id, sequence } of chains) {
    for (let number = 1; number <= sequence.length; number++, place++) {
      const { color } = bandOf(plddt[place]!)
      const last = runs.at(-1)
      if (last?.chain === id && last.color === color) last.end = number
      else runs.push({ chain: id, begin: number, end: number, color })
    }
  }
  return runs
}

/** The share of residues in each band, in the order of bands. */
export const sharesOf = (plddt: number[]) =>
  bands.map((band) => plddt.filter((value) => bandOf(value) === band).length / (plddt.length || 1))
