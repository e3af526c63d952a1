// One ligand of a docking: what it is, how its search went, its poses.

import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { DockingPose, DockingResult } from '@/api/client'
import { Depiction } from '@/depict'
import { buttonClass, Card, Empty, Facts, Failure, Loading, PageHead, State, Table } from '@/design'
import { CopyText } from '@/design/copy'
import { duration } from '@/words'
import { figure } from './columns'
import { Notes } from './facts'
import { keyWords } from './filter'
import { posesQuery, resultQuery, runQuery } from './queries'

export function LigandPage() {
  const { resultId } = useParams({ strict: false }) as { resultId: string }
  const result = useQuery(resultQuery(resultId))
  const ligand = result.data
  const run = useQuery({ ...runQuery(ligand?.runId ?? ''), enabled: ligand !== undefined })
  const poses = useQuery({ ...posesQuery(resultId), enabled: ligand?.status === 'COMPLETED' })
  if (result.error && !ligand)
    return (
      <>
        <PageHead title="Ligand" />
        <Failure error={result.error} retry={() => void result.refetch()} />
      </>
    )
  if (!ligand)
    return (
      <>
        <PageHead title="Ligand" />
        <Loading what="the ligand" />
      </>
    )
  const best = poses.data?.[0]
  return (
    <>
      <PageHead
        title={ligand.label}
        lead={
          <>
            Docked into {run.data?.receptor.name ?? 'a receptor'} in{' '}
            <Link to="/dockings/$runId" params={{ runId: ligand.runId }} search={{ ligand: ligand.resultId }}>
              {run.data?.jobName || 'this docking'}
            </Link>
          </>
        }
        actions={
          best ? (
            <Link to="/poses/$poseId" params={{ poseId: best.poseId }} className={buttonClass('primary')}>
              Best pose in 3D
            </Link>
          ) : null
        }
      />
      {ligand.status === 'FAILED' ? (
        <div className="mb-4">
          <Failure error={`It could not be docked (${(ligand.failureStage ?? '').replaceAll('_', ' ')}). ${ligand.error ?? ''}`} />
        </div>
      ) : null}
      <div className="mb-4 grid gap-4 lg:grid-cols-2">
        <Card title="Structure">
          <Depiction smiles={ligand.canonicalSmiles} name={ligand.label} width={320} height={220} className="mb-3" />
          <div className="grid gap-3">
            {ligand.canonicalSmiles ? <CopyText label="SMILES" text={ligand.canonicalSmiles} /> : null}
            {ligand.dockedSmiles && ligand.dockedSmiles !== ligand.canonicalSmiles ? (
              <CopyText label="SMILES as docked, with its charges" text={ligand.dockedSmiles} />
            ) : null}
          </div>
        </Card>
        <Card title="Result">
          <ResultFacts ligand={ligand} />
          <Notes notes={ligand.notes} />
        </Card>
      </div>
      {ligand.convergence ? <Convergence found={ligand.convergence} /> : null}
      {ligand.interactions?.length ? (
        <Card title="Contacts of the best pose" className="mb-4">
          <ul className="grid gap-x-6 text-sm sm:grid-cols-2">
            {[...new Set(ligand.interactions)].map((key) => (
              <li key={key}>{keyWords(key)}</li>
            ))}
          </ul>
        </Card>
      ) : null}
      {ligand.status === 'COMPLETED' ? (
        <Card title="Poses">
          {poses.error ? (
            <Failure error={poses.error} retry={() => void poses.refetch()} />
          ) : poses.data ? (
            <Poses poses={poses.data} />
          ) : (
            <Loading what="its poses" />
          )}
        </Card>
      ) : ligand.status === 'FAILED' ? null : (
        <Empty title="It is not docked yet">Its poses appear here by themselves.</Empty>
      )}
    </>
  )
}

function ResultFacts({ ligand }: { ligand: DockingResult }) {
  return (
    <Facts
      facts={[
        ['State', <State key="state" status={ligand.status} />],
        ['Rank', ligand.rank ?? '–'],
        ['Best score', `${figure(ligand.bestScoreKcalMol, 2)} kcal/mol`],
        ['Ligand efficiency', `${figure(ligand.ligandEfficiency, 3)} kcal/mol a heavy atom`],
        ['CNN score', figure(ligand.cnnScore, 2)],
        ['CNN affinity', ligand.cnnAffinityPk === null ? '–' : `pK ${figure(ligand.cnnAffinityPk, 2)}`],
        ['Checks', ligand.passedChecks === null ? '–' : ligand.passedChecks ? 'all passed' : 'not all passed'],
        ['Heavy atoms', ligand.heavyAtoms ?? '–'],
        ['Bonds that turn', ligand.rotatableBonds ?? '–'],
        ['Charge', ligand.formalCharge === null ? '–' : figure(ligand.formalCharge, 0)],
        ['InChIKey', ligand.inchiKey ?? '–'],
        ['Id', ligand.ligandId],
        ['Search', ligand.dockCpuSeconds === null ? '–' : `${duration(ligand.dockCpuSeconds)} of one core`],
      ]}
    />
  )
}

function Convergence({ found }: { found: NonNullable<DockingResult['convergence']> }) {
  return (
    <Card title="Did its searches agree?" className="mb-4">
      <p className={`mb-2 text-sm ${found.converged ? 'text-good' : 'text-warn'}`}>
        {found.converged
          ? `Yes: ${found.agreeingRounds} of ${found.rounds.length} found the best pose.`
          : 'No. Dock it with more exhaustiveness before you trust the pose.'}
      </p>
      <Table
        caption="Independent searches"
        head={['Search', 'Exhaustiveness', 'Best score, kcal/mol', 'RMSD to the best, Å', 'Found the best']}
      >
        {found.rounds.map((round, i) => (
          <tr key={round.seed}>
            <td>{i + 1}</td>
            <td>{round.exhaustiveness}</td>
            <td>{figure(round.bestScoreKcalMol, 2)}</td>
            <td>{figure(round.rmsdToBestAngstrom, 2)}</td>
            <td>{round.foundBest ? 'yes' : 'no'}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function Poses({ poses }: { poses: DockingPose[] }) {
  const native = poses.some((pose) => pose.referenceRmsdAngstrom !== null)
  return (
    <Table
      caption="Poses, best first"
      head={[
        'Pose',
        'Score, kcal/mol',
        'CNN score',
        'RMSD to the best, Å',
        ...(native ? ['RMSD to the crystal pose, Å'] : []),
        'Checks',
      ]}
    >
      {poses.map((pose) => (
        <tr key={pose.poseId}>
          <td>
            <Link to="/poses/$poseId" params={{ poseId: pose.poseId }}>
              Pose {pose.rank}
            </Link>
          </td>
          <td>{figure(pose.scoreKcalMol, 2)}</td>
          <td>{figure(pose.cnnScore, 2)}</td>
          <td>
            {figure(pose.rmsdLowerBound, 2)} to {figure(pose.rmsdUpperBound, 2)}
          </td>
          {native ? <td>{figure(pose.referenceRmsdAngstrom, 2)}</td> : null}
          <td>{pose.checks ? (pose.checks.passed ? 'passed' : 'failed') : '–'}</td>
        </tr>
      ))}
    </Table>
  )
}
