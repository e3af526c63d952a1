// What a simulation has measured, over time.

import { useQuery } from '@tanstack/react-query'
import type { Output } from '@/api/client'
import { TimeSeries } from '@/charts/time-series'
import { Card, Failure, Loading } from '@/design'
import { fetchFile } from './files'
import { type Plot, plotsOf } from './series'

/** Larger tables are left to a download. */
const mostBytes = 50_000_000

/** The tables that are plotted: energies from the finer one, distances from the analysis. */
const tables = ['state.csv', 'analysis.csv']

export function Trajectory({ outputs }: { outputs: Output[] }) {
  const files = tables.flatMap((name) => outputs.find((one) => one.name === name && one.byteSize <= mostBytes) ?? [])
  const query = useQuery({
    queryKey: ['file', 'series', ...files.map((file) => file.artifactId)],
    queryFn: async (): Promise<Plot[]> => {
      const found = (await Promise.all(files.map(async (file) => plotsOf(await (await fetchFile(file)).text())))).flat()
      return found.filter((plot, i) => found.findIndex((other) => other.title === plot.title) === i)
    },
    enabled: files.length > 0,
    staleTime: Infinity,
  })
  if (files.length === 0) return null
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />
  if (!query.data) return <Loading what="the plots" />
  if (query.data.length === 0) return null
  return (
    <Card title="Over time">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-6 xl:grid-cols-2">
        {query.data.map(({ title, time, series }) => (
          <div key={title} className="min-w-0">
            <h3 className="mb-1 text-sm font-medium">{title}</h3>
            <TimeSeries caption={`${title} over time`} time={time} series={series} />
          </div>
        ))}
      </div>
    </Card>
  )
}
