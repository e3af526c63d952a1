// The current ligand beside the table.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { DockingResult, DockingRun } from '@/api/client'
import { Depiction } from '@/depict'
import { buttonClass, Facts, Failure } from '@/design'
import { useSettled } from '@/pages/new/price'
import { Viewer } from '@/viewer'
import { figure } from './columns'
import { keyWords } from './filter'
import { posesQuery } from './queries'
import { useDockedView } from './scene'

export function Side({ run, result, position }: { run: DockingRun; result: DockingResult; position: string }) {
  // Somebody who holds the arrow key down is not shown every ligand on the way.
  const settled = useSettled(result.resultId, 250)
  const poses = useQuery({ ...posesQuery(settled), enabled: result.status === 'COMPLETED' })
  const best = settled === result.resultId ? poses.data?.[0] : undefined
  const view = useDockedView({ jobId: run.jobId, poses: best ? [best] : undefined, labelled: false })
  const words = result.status === 'COMPLETED' ? `Best pose of ${result.label} in ${run.receptor.name}` : result.label
  return (
    <section aria-label="Current ligand" className="min-w-0 rounded-xl border border-line bg-card p-4">
      <p aria-live="polite" className="sr-only">
        {result.label}, {position}, best score {figure(result.bestScoreKcalMol, 2)}
      </p>
      <div className="mb-2 flex items-start justify-between gap-2">
        <h2 className="min-w-0 wrap-anywhere">{result.label}</h2>
        <Link to="/ligands/$resultId" params={{ resultId: result.resultId }} className={buttonClass()}>
          Open
        </Link>
      </div>
      {result.status === 'FAILED' ? <p className="text-sm text-bad">{result.error}</p> : null}
      {result.status === 'COMPLETED' ? (
        view.error || poses.error ? (
          <Failure
            error={view.error ?? poses.error}
            retry={() => {
              view.retry()
              void poses.refetch()
            }}
          />
        ) : (
          <Viewer scene={view.scene} files={view.files} framed={result.resultId} label={words} height="h-80" />
        )
      ) : null}
      <div className="mt-3 flex flex-wrap gap-4">
        <Depiction smiles={result.canonicalSmiles} name={result.label} width={180} height={120} />
        <Facts
          facts={[
            ['Rank', result.rank ?? '–'],
            ['Best score', `${figure(result.bestScoreKcalMol, 2)} kcal/mol`],
            ['Efficiency', figure(result.ligandEfficiency, 3)],
            ['CNN score', figure(result.cnnScore, 2)],
            ['Poses', result.poseCount],
          ]}
        />
      </div>
      {result.interactions?.length ? (
        <p className="mt-2 text-sm text-soft">{[...new Set(result.interactions.map(keyWords))].join(', ')}</p>
      ) : null}
      {best ? (
        <p className="mt-2">
          <Link to="/poses/$poseId" params={{ poseId: best.poseId }}>
            All of its best pose
          </Link>
        </p>
      ) : null}
    </section>
  )
}
