// What a run is: its receptor, its box, its settings, what its validation found.

import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { DockingRun } from '@/api/client'
import { Card, Facts, Progress, State } from '@/design'
import { count, duration, money, when } from '@/words'
import { figure } from './columns'
import { hasEnded } from './queries'

const sources: Record<string, string> = {
  explicit: 'given as numbers',
  ligandFile: 'around a ligand in a file',
  pocketLigand: 'around the bound ligand',
  pocketResidues: 'around residues',
  fpocket: 'the best pocket that fpocket found',
}

const three = (numbers: number[]) => numbers.map((x) => figure(x, 1)).join(', ')

export function RunFacts({ run }: { run: DockingRun }) {
  const { completed, failed, total } = run.counts
  return (
    <div className="mb-4 grid gap-4 lg:grid-cols-3">
      <Card title="Run">
        {hasEnded(run.status) ? null : (
          <div className="mb-3">
            <Progress percent={((completed + failed) / Math.max(1, total)) * 100} label="Ligands with an outcome" />
          </div>
        )}
        <Facts
          facts={[
            ['State', <State key="state" status={run.status} />],
            ['Ligands', `${count(total, 'ligand')}: ${completed} docked, ${failed} failed`],
            [
              'Job',
              <Link key="job" to="/jobs/$jobId" params={{ jobId: run.jobId }}>
                {run.jobName || run.jobId}
              </Link>,
            ],
            [
              'Cost',
              run.cost.final === null
                ? `${money(run.cost.accrued)} so far of ${money(run.cost.held)} set aside`
                : money(run.cost.final),
            ],
            ['Submitted', when(run.createdAt)],
            ['Processor time', run.timing.cpuSeconds ? duration(run.timing.cpuSeconds) : '–'],
            ...(run.reproducesRunId
              ? [
                  [
                    'Repeats',
                    <Link key="repeats" to="/dockings/$runId" params={{ runId: run.reproducesRunId }}>
                      an earlier run
                    </Link>,
                  ] as [string, ReactNode],
                ]
              : []),
            ...(run.reproduction
              ? [
                  [
                    'Compared',
                    `${run.reproduction.verdict.toLowerCase().replaceAll('_', ' ')}${run.reproduction.reasons.length ? ': ' + run.reproduction.reasons.join('; ') : ''}`,
                  ] as [string, string],
                ]
              : []),
          ]}
        />
      </Card>
      <Card title="Receptor and box">
        <Facts
          facts={[
            ['Receptor', run.receptor.name],
            ['Hydrogens', run.receptor.protonation ?? 'not prepared yet'],
            ['Chains', run.receptor.selection?.chains?.join(', ') || 'all'],
            ['Box', run.box ? `${three(run.box.size)} Å around ${three(run.box.center)}` : 'not known yet'],
            ...(run.box ? [['Box from', sources[run.box.source] ?? run.box.source] as [string, string]] : []),
          ]}
        />
        <Notes notes={[...run.receptor.notes, ...(run.box?.notes ?? [])]} />
      </Card>
      <Card title="Settings and validation">
        <Facts
          facts={[
            ['Program', `${run.engine.name} ${run.engine.version ?? ''}`],
            ['Exhaustiveness', run.exhaustivenessAuto ? `until searches agree, ${run.exhaustiveness} at most` : run.exhaustiveness],
            ['Poses a ligand', run.numModes],
            ['Energy range', `${run.energyRangeKcalMol} kcal/mol`],
            ['Seed', run.seed],
            ['Ranked by', run.rankBy === 'cnn' ? 'CNN score' : 'Vina’s score'],
          ]}
        />
        <Validation run={run} />
      </Card>
    </div>
  )
}

function Validation({ run }: { run: DockingRun }) {
  const found = run.validation
  if (!found)
    return (
      <p className="mt-3 text-sm text-soft">
        No native ligand was docked again, so nothing says whether box and search suit this receptor.
      </p>
    )
  const { redockRmsdAngstrom: rmsd, passed } = found
  return (
    <div className="mt-3 border-t border-line pt-3 text-sm">
      <p className="font-medium">Redocking of {found.nativeComponentId}</p>
      {rmsd === null ? (
        <p className="text-soft">{hasEnded(run.status) ? 'It came to no result.' : 'It has not ended yet.'}</p>
      ) : (
        <p>
          <strong className={passed ? 'text-good' : 'text-warn'}>{figure(rmsd, 2)} Å</strong> from the crystal pose:{' '}
          {passed ? 'found again' : 'not found again'}.
          {found.closestRmsdAngstrom !== null ? ` The closest pose is ${figure(found.closestRmsdAngstrom, 2)} Å away.` : ''}
          {found.converged === false ? ' Independent searches do not agree.' : ''}
        </p>
      )}
    </div>
  )
}

export function Notes({ notes: given }: { notes: string[] }) {
  const notes = [...new Set(given)]
  if (notes.length === 0) return null
  return (
    <details className="mt-3 text-sm" open={notes.length < 3}>
      <summary className="w-fit cursor-pointer py-1 text-accent">{count(notes.length, 'note')}</summary>
      <ul className="list-disc pl-5">
        {notes.map((note) => (
          <li key={note} className="wrap-anywhere">
            {note}
          </li>
        ))}
      </ul>
    </details>
  )
}
