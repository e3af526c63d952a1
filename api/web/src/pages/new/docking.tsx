// The form of a docking: receptor, site, ligands, settings, review, on one page.

import { useSearch } from '@tanstack/react-router'
import { dockingCommand } from './docking-command'
import { dockingPlan, emptyDocking, ligandsOf, receptorTitle } from './docking-draft'
import { LigandsStep } from './docking-ligands'
import { ReceptorStep } from './docking-receptor'
import { SettingsStep } from './docking-settings'
import { SiteStep } from './docking-site'
import { useDraft } from './draft'
import { fieldErrors } from './fields'
import { NewJob, useSubmission } from './frame'
import { usePrice } from './price'
import { ReceptorView } from './receptor-view'
import { count } from '@/words'

const draftName = 'docking'

/** The members that a field of the form makes. */
const known = ['receptorPdbId', 'sceneFile', 'receptorArtifact', 'receptorChains', 'receptorPreparation.retainComponents',
  'receptorPreparation.removeComponents', 'receptorPreparation.waters', 'pocketLigand', 'pocketLigandChain', 'pocketLigandResidue',
  'pocketResidues', 'boxCenterAngstrom', 'boxSizeAngstrom', 'boxSource', 'box', 'ligandLibrary', 'ligandIdentity', 'exhaustiveness',
  'rankBy', 'numModes', 'seed', 'dockingReport', 'jobName']

export function NewDocking() {
  const { structure } = useSearch({ strict: false }) as { structure?: string }
  const { draft, set, clear } = useDraft(draftName, emptyDocking, structure ? { receptor: 'pdb' as const, pdbId: structure } : {})
  const { plan, estimate } = dockingPlan(draft)
  const price = usePrice(estimate)
  const submission = useSubmission(draftName, plan, clear)
  const errors = fieldErrors(submission.error ?? price.error, draft.redock ? [...known, 'dockingValidation'] : known)
  const steps = { draft, set, errors, forecast: price.data?.receptor }
  return (
    <NewJob
      title="New docking" lead="Docks ligands into a receptor with AutoDock Vina, checks the poses and ranks them."
      plan={plan} price={price} submission={submission} error={errors.rest} command={dockingCommand(draft)} onClear={clear}
      again={{ noReuse: draft.noReuse, set }}
      summary={[
        ['Receptor', receptorTitle(draft) || 'none yet'],
        ['Ligands', count(ligandsOf(draft).ligands.length, 'ligand') + (draft.redock ? ', and the bound one' : '')],
      ]}
    >
      <ReceptorStep {...steps} />
      <SiteStep {...steps} view={<ReceptorView draft={draft} forecast={steps.forecast} />} />
      <LigandsStep {...steps} />
      <SettingsStep {...steps} />
    </NewJob>
  )
}
