// Series over time, as simulations write them: state.csv and analysis.csv.

import { csvRows } from '../new/ligands'

/** A plot of one quantity, in the form that the chart takes. */
export interface Plot {
  title: string
  time: { name: string; values: number[] }
  series: { name: string; unit: string; values: number[] }[]
}

/** What is worth a plot, by the column's name; columns that are not there are left out. */
const quantities: { column: RegExp; title: string; unit: string }[] = [
  { column: /^temperature/, title: 'Temperature', unit: 'K' },
  { column: /^potential/, title: 'Potential energy', unit: 'kJ/mol' },
  { column: /^total/, title: 'Total energy', unit: 'kJ/mol' },
  { column: /^density/, title: 'Density', unit: 'g/ml' },
  { column: /^(backbone_)?rmsd/, title: 'Deviation from the first frame (RMSD)', unit: 'nm' },
  { column: /^(radius_of_gyration|rg|gyration)/, title: 'Radius of gyration', unit: 'nm' },
]

/** The plots of a table whose column time_ps is the time. */
export function plotsOf(csv: string): Plot[] {
  const [header = [], ...rows] = csvRows(csv)
  const time = header.indexOf('time_ps')
  if (time < 0) return []
  return quantities.flatMap(({ column, title, unit }) => {
    const at = header.findIndex((name) => column.test(name))
    const measured = rows.filter((row) => at >= 0 && row[time] && row[at])
    if (measured.length < 2) return []
    const values = (place: number) => measured.map((row) => Number(row[place]))
    return [{ title, time: { name: 'time, ps', values: values(time) }, series: [{ name: title, unit, values: values(at) }] }]
  })
}
