// One predicted structure, coloured by how sure the model is, beside the errors that it expects of every pair of residues.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'
import type { Output } from '@/api/client'
import { Matrix } from '@/charts'
import { Button, buttonClass, Card, Failure, Loading } from '@/design'
import { fetchFile, saveAs } from '@/pages/jobs/files'
import { type Picked, type Selector, Viewer, type ViewerHandle } from '@/viewer'
import { foldScene } from '@/viewer/scenes'
import { bands, type FoldRow, type FoldScores, residueAt, residueWords, runsOf, sharesOf } from './confidence'

const modelFile = 'model.cif'

/** A larger matrix is left to a download: a browser would stand still over it. */
const mostScoreBytes = 30_000_000

export function Fold({ row, outputs }: { row: FoldRow; outputs: Output[] }) {
  const has = (suffix: string) => outputs.find((one) => one.name === row.file + suffix)
  const model = has('.cif'),
    numbers = has('.scores.json')
  const fold = useQuery({
    queryKey: ['file', 'fold', model?.artifactId, numbers?.artifactId],
    queryFn: async () => {
      const [structure, scores] = await Promise.all([fetchFile(model!), fetchFile(numbers!)])
      return { structure: await structure.text(), scores: JSON.parse(await scores.text()) as FoldScores }
    },
    enabled: model !== undefined && numbers !== undefined && numbers.byteSize <= mostScoreBytes,
    staleTime: Infinity,
  })
  if (!model || !numbers || numbers.byteSize > mostScoreBytes) {
    const words = 'It is too large for a page, or its files are not among the newest of the job. Download it.'
    return <Card title={row.name}><p className="text-soft">{words}</p></Card>
  }
  if (fold.error) return <Failure error={fold.error} retry={() => void fold.refetch()} />
  if (!fold.data) return <Loading what="the structure" />
  return <Shown row={row} {...fold.data} model={model} pdb={has('.pdb')} />
}

interface ShownProps {
  row: FoldRow
  structure: string
  scores: FoldScores
  model: Output
  pdb: Output | undefined
}

function Shown({ row, structure, scores, model, pdb }: ShownProps) {
  const viewer = useRef<ViewerHandle>(null)
  const [picked, setPicked] = useState<Picked>()
  const files = useMemo(() => ({ [modelFile]: { content: structure } }), [structure])
  const scene = useMemo(() => foldScene(modelFile, runsOf(scores)), [scores])
  const { chains, plddt, paeAngstrom, maxPaeAngstrom } = scores
  const words = (index: number) => residueWords(chains, index)
  const selector = (index: number): Selector => {
    const { chain, number } = residueAt(chains, index)!
    return { label_asym_id: chain, label_seq_id: number }
  }
  const download = async (file: Output) => saveAs(await fetchFile(file), file.name)
  return (
    <Card
      title={row.name}
      actions={
        <div className="flex flex-wrap gap-2">
          <Link to="/studio/sessions" search={{ source: `artifact:${model.artifactId}` }} className={buttonClass('primary')}>
            Open in the Studio
          </Link>
          {pdb ? <Button onClick={() => void download(pdb)}>Download PDB</Button> : null}
          <Button onClick={() => void download(model)}>Download ModelCIF</Button>
        </div>
      }
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0">
          <Viewer
            ref={viewer} scene={scene} files={files} framed={row.file} onPick={setPicked} height="h-[55dvh] min-h-72"
            label={`The predicted structure of ${row.name}, coloured by confidence; mean pLDDT ${row.meanPlddt.toFixed(1)}`}
          />
          <p role="status" className="mt-2 min-h-6 text-sm">{picked ? pickedWords(picked, scores) : ''}</p>
          <Legend plddt={plddt} />
        </div>
        <div className="min-w-0">
          <h3 className="mb-1 text-sm font-medium">Predicted aligned error</h3>
          <Matrix
            values={paeAngstrom} low={0} high={maxPaeAngstrom} what="Expected position error, Å"
            words={(at, other, value) => `${words(other)} when ${words(at)} lies on the truth: ${value.toFixed(1)} Å`}
            onChoose={(at, other) => {
              viewer.current?.highlight([selector(at), selector(other)])
              viewer.current?.focus([selector(at), selector(other)])
            }}
          />
          <p className="mt-1 text-sm text-soft">
            Choose a point, or press Enter, to see both residues. Two domains have a predicted arrangement only where it is dark
            between them, both ways.
          </p>
        </div>
      </div>
    </Card>
  )
}

function pickedWords(picked: Picked, { chains, plddt }: FoldScores): string {
  let before = 0
  for (const { id, sequence } of chains) {
    const value = id === picked.chain ? plddt[before + picked.residue - 1] : undefined
    if (value !== undefined) return `Clicked: ${picked.residueName} ${picked.residue} of chain ${id}, pLDDT ${value.toFixed(1)}`
    before += sequence.length
  }
  return ''
}

function rangeWords(i: number): string {
  const { least } = bands[i]!
  if (i === 0) return `≥ ${least}`
  const most = bands[i - 1]!.least
  return i === bands.length - 1 ? `< ${most}` : `${least} to ${most}`
}

function Legend({ plddt }: { plddt: number[] }) {
  const shares = sharesOf(plddt)
  return (
    <ul aria-label="Confidence, pLDDT" className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {bands.map((band, i) => (
        <li key={band.name} className="inline-flex items-center gap-2">
          <span aria-hidden="true" className="size-3 shrink-0 rounded-full border border-line" style={{ background: band.color }} />
          {band.name} ({rangeWords(i)}): {Math.round(100 * shares[i]!)} %
        </li>
      ))}
    </ul>
  )
}
