// What somebody sees who has no jobs yet: three that are worth a try.

import { Link } from '@tanstack/react-router'
import { buttonClass, Card } from '@/design'

const examples = [
  {
    title: 'Dock imatinib into its kinase', to: '/new/docking', search: { structure: '1IEP' }, action: 'Set the docking up',
    text: 'The crystal structure 1IEP shows the drug imatinib in the kinase ABL. Dock the bound ligand again and see how near the best pose comes.',
  },
  {
    title: 'Find the pockets of a protein', to: '/new/pockets', search: {}, action: 'Choose a protein',
    text: 'fpocket lists the places where a ligand may bind, with their volumes and a box to dock into. It takes seconds.',
  },
  {
    title: 'Make a picture', to: '/new/rendering', search: {}, action: 'Choose a structure',
    text: 'Give a structure and get a figure with a good view, by Mol* in seconds or ray-traced with soft light and shadows.',
  },
] as const

export function Examples() {
  return (
    <section aria-labelledby="examples">
      <h2 id="examples">You have no jobs yet</h2>
      <p
        className="mt-1 mb-4 text-soft"
      >A job is a docking, a search, a simulation or a rendering. Begin with one of these; you see its price before you submit.</p>
      <ul className="grid gap-4 md:grid-cols-3">
        {examples.map((one) => (
          <li key={one.to} className="grid">
            <Card title={one.title} className="flex flex-col">
              <p className="mb-4 text-sm">{one.text}</p>
              <p className="mt-auto"><Link
                to={one.to} search={one.search as never} className={buttonClass('primary')}
              >{one.action}</Link></p>
            </Card>
          </li>
        ))}
      </ul>
    </section>
  )
}
