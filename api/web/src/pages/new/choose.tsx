// Which kind of job to make.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { answered, listSimulators, type PublicSimulator } from '@/api/client'
import { buttonClass, Card, Failure, Loading, PageHead } from '@/design'

interface Kind {
  title: string
  text: string
  /** Simulators that do it, by id; none for renderings, which every deployment makes. */
  by: string[]
  to?: '/new/docking' | '/new/pockets' | '/new/dynamics' | '/new/search' | '/new/rendering' | '/new/folding'
}

const kinds: Kind[] = [
  {
    title: 'Docking', text: 'Find how ligands lie in a receptor, and rank them. Poses are checked, and each has its contacts.',
    by: ['autodock-vina'], to: '/new/docking',
  },
  { title: 'Pockets', text: 'Find the places of a protein where a ligand may bind, each with a box to dock into.', by: ['fpocket'], to: '/new/pockets' },
  {
    title: 'Simulation', text: 'Let a molecule move in water, and see what settles: temperature, energy, deviation from the start.',
    by: ['openmm'], to: '/new/dynamics',
  },
  {
    title: 'Sequence search', text: 'Find sequences like yours in a database, with alignments and E-values.',
    by: ['blastp', 'blastn'], to: '/new/search',
  },
  { title: 'Rendering', text: 'Make a picture or a film for publication of a molecule or a Blender scene.', by: [], to: '/new/rendering' },
  { title: 'Folding', text: 'Predict a protein’s structure from its sequence.', by: ['esmfold'], to: '/new/folding' },
  { title: 'Waves', text: 'Predict the waves of a coast or an ocean from wind, depth and boundary.', by: ['swan', 'wavewatch3'] },
]

/** Whether a kind is taken here, and whether it starts at once. */
function service(kind: Kind, simulators: PublicSimulator[]): { taken: boolean; words: string } {
  if (kind.by.length === 0) return { taken: true, words: 'Served here.' }
  const accepted = simulators.filter((one) => kind.by.includes(one.id) && one.accepted)
  const names = accepted.map((one) => one.title).join(', ')
  if (accepted.length === 0) return { taken: false, words: 'Not served here.' }
  const waits = accepted.some((one) => one.available) ? '' : ' No worker is there now; a job waits for one.'
  return { taken: true, words: `With ${names}.${waits}` }
}

/** The kinds that have a form or are served; of others nobody needs to hear. */
const served = (simulators: PublicSimulator[]) =>
  kinds.map((kind) => ({ kind, ...service(kind, simulators) })).filter(({ kind, taken }) => taken || kind.to)

export function Choose() {
  const list = useQuery({ queryKey: ['simulators'], queryFn: () => answered(listSimulators()), staleTime: 60_000 })
  return (
    <>
      <PageHead title="New job" lead="You see the price before you submit." />
      {list.error ? <Failure error={list.error} retry={() => void list.refetch()} /> : null}
      {list.isPending ? <Loading what="what is served here" /> : null}
      {list.data ? (
        <ul className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
          {served(list.data.simulators).map(({ kind, taken, words }) => (
            <li key={kind.title} className="grid">
              <Card title={kind.title} className="flex flex-col">
                <p className="text-sm">{kind.text}</p>
                <p className="mt-2 mb-4 text-sm text-soft">{words}</p>
                <p className="mt-auto">
                  {kind.to && taken ? <Link
                    to={kind.to} className={buttonClass('primary')} aria-label={`Begin: ${kind.title}`}
                  >Begin</Link> : null}
                  {!kind.to ? <span
                    className="text-sm"
                  >Submit it with <code>molfabric submit</code> or <a href="/docs">the API</a>.</span> : null}
                </p>
              </Card>
            </li>
          ))}
        </ul>
      ) : null}
    </>
  )
}
