// A docking run: what it is, and its ligands.

import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Button, buttonClass, Card, Failure, Loading, PageHead } from '@/design'
import { Viewer } from '@/viewer'
import { RunFacts } from './facts'
import { runQuery } from './queries'
import { Results } from './results'
import { useDockedView } from './scene'
import type { DockingRun } from '@/api/client'

export function RunPage() {
  const { runId } = useParams({ strict: false }) as { runId: string }
  const run = useQuery(runQuery(runId))
  if (run.error && !run.data)
    return (
      <>
        <PageHead title="Docking" />
        <Failure error={run.error} retry={() => void run.refetch()} />
      </>
    )
  if (!run.data)
    return (
      <>
        <PageHead title="Docking" />
        <Loading what="the docking" />
      </>
    )
  return (
    <>
      <PageHead
        title={run.data.jobName || `Docking into ${run.data.receptor.name}`}
        lead={`AutoDock Vina into ${run.data.receptor.name}`}
        actions={
          <Link to="/dockings" search={run.data.batchId ? { batch: run.data.batchId } : {}} className={buttonClass('quiet')}>
            {run.data.batchId ? 'Its batch' : 'All dockings'}
          </Link>
        }
      />
      <RunFacts run={run.data} />
      <Results run={run.data} />
      {run.data.box ? (
        <Card title="Receptor and box in 3D" className="mt-4">
          <BoxView run={run.data} />
        </Card>
      ) : null}
    </>
  )
}

/** The receptor with its box, when somebody wants to see it: one molecule at a time is enough for most machines. */
function BoxView({ run }: { run: DockingRun }) {
  const [shown, setShown] = useState(false)
  if (!shown) return <Button onClick={() => setShown(true)}>Show the receptor and its box</Button>
  return <BoxScene run={run} />
}

function BoxScene({ run }: { run: DockingRun }) {
  const { center, size } = run.box!
  const view = useDockedView({ jobId: run.jobId, native: true, box: { center, size } })
  if (view.error) return <Failure error={view.error} retry={view.retry} />
  if (!view.scene) return <Loading what="the receptor" />
  return (
    <Viewer
      scene={view.scene}
      files={view.files}
      framed={run.runId}
      label={`${run.receptor.name} with the box that is searched${view.hasNative ? ' and its own ligand' : ''}`}
    />
  )
}
