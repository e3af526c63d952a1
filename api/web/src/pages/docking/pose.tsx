// One pose: in its receptor with its contacts, other poses of the ligand over it, figures and checks beside it.

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { DockingPose, DockingResult, DockingRun } from '@/api/client'
import { Button, Card, Check, Facts, Failure, Loading, PageHead } from '@/design'
import { colorOfPose, nativeColor } from '@/viewer/scenes'
import { type Picked, prepareViewer, Viewer, type ViewerHandle } from '@/viewer'
import { figure } from './columns'
import { ContactsTable, residueKey } from './contacts-table'
import { PoseActions, PoseFiles } from './pose-actions'
import { poseQuery, posesQuery, resultQuery, runQuery } from './queries'
import { useDockedView } from './scene'
import { ShortcutChoice, useShortcuts } from './shortcuts'

export function PosePage() {
  const { poseId } = useParams({ strict: false }) as { poseId: string }
  const pose = useQuery(poseQuery(poseId))
  useEffect(prepareViewer, [])
  const run = useQuery({ ...runQuery(pose.data?.runId ?? ''), enabled: pose.data !== undefined })
  const result = useQuery({ ...resultQuery(pose.data?.resultId ?? ''), enabled: pose.data !== undefined })
  const poses = useQuery({ ...posesQuery(pose.data?.resultId ?? ''), enabled: pose.data !== undefined })
  const failed = [pose, run, poses].find((query) => query.error && !query.data)
  if (failed)
    return (
      <>
        <PageHead title="Pose" />
        <Failure error={failed.error} retry={() => void failed.refetch()} />
      </>
    )
  if (!pose.data || !run.data || !poses.data)
    return (
      <>
        <PageHead title="Pose" />
        <Loading what="the pose" />
      </>
    )
  return <Posed key={pose.data.resultId} pose={pose.data} poses={poses.data} run={run.data} result={result.data} />
}

function Posed({
  pose,
  poses,
  run,
  result,
}: {
  pose: DockingPose
  poses: DockingPose[]
  run: DockingRun
  result: DockingResult | undefined
}) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const viewer = useRef<ViewerHandle>(null)
  const [over, setOver] = useState<Record<string, boolean>>({})
  const [native, setNative] = useState(pose.referenceRmsdAngstrom !== null)
  const [labelled, setLabelled] = useState(true)
  const [picked, setPicked] = useState<Picked>()
  const others = poses.filter((one) => over[one.poseId] && one.poseId !== pose.poseId)
  const view = useDockedView({ jobId: run.jobId, poses: [pose, ...others], native, labelled })

  const at = poses.findIndex((one) => one.poseId === pose.poseId)
  const go = (by: number) => {
    const next = poses[at + by]
    if (!next) return
    queries.setQueryData(poseQuery(next.poseId).queryKey, next) // it is known from the list: the viewer stays
    void navigate({ to: '/poses/$poseId', params: { poseId: next.poseId }, replace: true, resetScroll: false })
  }
  const shortcuts = useShortcuts({ '[': () => go(-1), ']': () => go(1) })
  const title = `${pose.label} in ${run.receptor.name}`
  const words = `Pose ${pose.rank} of ${title}${view.contacts?.length ? `, with ${view.contacts.length} contacts that the table lists` : ''}`
  return (
    <>
      <PageHead
        title={
          <>
            {pose.label}, pose {pose.rank}
          </>
        }
        lead={
          <>
            Of{' '}
            <Link to="/ligands/$resultId" params={{ resultId: pose.resultId }}>
              {pose.label}
            </Link>
            , docked into{' '}
            <Link to="/dockings/$runId" params={{ runId: pose.runId }} search={{ ligand: pose.resultId }}>
              {run.receptor.name}
            </Link>
          </>
        }
        actions={<PoseActions pose={pose} title={title} />}
      />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-4">
          <Card className="min-w-0">
            {view.error ? (
              <Failure error={view.error} retry={view.retry} />
            ) : (
              <Viewer ref={viewer} scene={view.scene} files={view.files} framed={pose.resultId} label={words} onPick={setPicked}
                height="h-[60dvh] min-h-72 lg:h-[calc(100dvh-17rem)] lg:min-h-120" />
            )}
            <p role="status" className="mt-2 min-h-6 text-sm">
              {picked
                ? `Clicked: ${picked.residueName} ${picked.residue}${picked.insertionCode}, chain ${picked.chain}, atom ${picked.atomName}`
                : ''}
            </p>
            <div className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-2">
              <Button disabled={at <= 0} onClick={() => go(-1)}>
                Previous pose
              </Button>
              <Button disabled={at < 0 || at >= poses.length - 1} onClick={() => go(1)}>
                Next pose
              </Button>
              <Check label="Names and distances" checked={labelled} onChange={(event) => setLabelled(event.target.checked)} />
              <ShortcutChoice shortcuts={shortcuts} words="Keys [ and ] change the pose" />
            </div>
          </Card>
          <Card title="Contacts">
            {!pose.analysed ? (
              <p className="text-soft">This pose is not analysed: that is done for the best ten of each ligand, after the docking.</p>
            ) : !view.contacts ? (
              <Loading what="the contacts" />
            ) : view.contacts.length === 0 ? (
              <p className="text-soft">No contact was found.</p>
            ) : (
              <ContactsTable
                contacts={view.contacts}
                poseId={pose.poseId}
                viewer={viewer}
                picked={picked && residueKey(picked.chain, picked.residue, picked.insertionCode)}
              />
            )}
          </Card>
        </div>
        <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-4">
          <Card title="Poses over each other">
            <fieldset className="grid gap-1">
              <legend className="sr-only">What else is shown</legend>
              {poses.map((one) => (
                <PoseChoice
                  key={one.poseId}
                  pose={one}
                  current={one.poseId === pose.poseId}
                  checked={over[one.poseId] ?? false}
                  onChange={(on) => setOver((now) => ({ ...now, [one.poseId]: on }))}
                />
              ))}
              {view.hasNative ? (
                <Check
                  checked={native}
                  onChange={(event) => setNative(event.target.checked)}
                  label={
                    <Swatch color={nativeColor}>
                      Native ligand{run.validation ? `, ${run.validation.nativeComponentId}` : ''}
                    </Swatch>
                  }
                  hint={
                    pose.referenceRmsdAngstrom !== null
                      ? `This pose is ${figure(pose.referenceRmsdAngstrom, 2)} Å from it.`
                      : 'Another molecule: there is no RMSD to it.'
                  }
                />
              ) : null}
            </fieldset>
          </Card>
          <Card title="Score">
            <Facts
              facts={[
                ['Score', `${figure(pose.scoreKcalMol, 2)} kcal/mol`],
                ['Between ligand and receptor', figure(pose.terms.inter, 2)],
                ['Within the ligand', figure(pose.terms.intra, 2)],
                ['Bonds that turn', figure(pose.terms.torsional, 2)],
                ['Ligand alone', figure(pose.terms.unbound, 2)],
                ['CNN score', figure(pose.cnnScore, 2)],
                ['CNN affinity', pose.cnnAffinityPk === null ? '–' : `pK ${figure(pose.cnnAffinityPk, 2)}`],
                ['RMSD to the best pose', `${figure(pose.rmsdLowerBound, 2)} to ${figure(pose.rmsdUpperBound, 2)} Å`],
                [
                  'RMSD to the crystal pose',
                  pose.referenceRmsdAngstrom === null ? '–' : `${figure(pose.referenceRmsdAngstrom, 2)} Å`,
                ],
                ['Rank of the ligand', result?.rank ?? '–'],
              ]}
            />
          </Card>
          <Checks pose={pose} />
          <Card title="Files">
            <PoseFiles pose={pose} />
          </Card>
        </div>
      </div>
    </>
  )
}

function PoseChoice({
  pose,
  current,
  checked,
  onChange,
}: {
  pose: DockingPose
  current: boolean
  checked: boolean
  onChange: (on: boolean) => void
}) {
  const words = `Pose ${pose.rank}, ${figure(pose.scoreKcalMol, 2)} kcal/mol`
  return (
    <Check
      checked={checked || current}
      disabled={current}
      onChange={(event) => onChange(event.target.checked)}
      label={<Swatch color={colorOfPose(pose.rank)}>{current ? <strong>{words}, this one</strong> : words}</Swatch>}
    />
  )
}

function Swatch({ color, children }: { color: string; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-2">
      <span aria-hidden="true" className="size-3 shrink-0 rounded-full border border-line" style={{ background: color }} />
      <span>{children}</span>
    </span>
  )
}

function Checks({ pose }: { pose: DockingPose }) {
  const { checks } = pose
  return (
    <Card title="Checks">
      {!checks ? (
        <p className="text-sm text-soft">None were made of this pose.</p>
      ) : (
        <>
          <p className={`text-sm ${checks.passed ? 'text-good' : 'text-bad'}`}>
            {checks.passed ? '✓ All passed' : '✗ Not all passed'}, by {checks.tool}
          </p>
          <details className="mt-1 text-sm" open={!checks.passed}>
            <summary className="w-fit cursor-pointer py-1 text-accent">{Object.keys(checks.tests).length} tests</summary>
            <ul>
              {Object.entries(checks.tests)
                .sort(([, a], [, b]) => Number(a) - Number(b))
                .map(([name, passed]) => (
                  <li key={name} className={passed ? '' : 'text-bad'}>
                    {passed ? '✓' : '✗'} {name.replaceAll('_', ' ')}
                    {passed ? '' : ': failed'}
                  </li>
                ))}
            </ul>
          </details>
        </>
      )}
    </Card>
  )
}
