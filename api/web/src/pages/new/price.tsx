// What a job would cost, before it is submitted.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { answered, estimateJob, type EstimateRequest, type EstimateResponse } from '@/api/client'
import { Facts, Spinner } from '@/design'
import { duration, money } from '@/words'

const quietMs = 600

/** A value once it has been the same for a while. */
export function useSettled<T>(value: T, ms = quietMs): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

/** The price of a request; none while there is nothing to price. */
export function usePrice(request: EstimateRequest | undefined) {
  const text = useSettled(request ? JSON.stringify(request) : '')
  const query = useQuery({
    queryKey: ['estimate', text],
    queryFn: ({ signal }) => answered(estimateJob({ body: JSON.parse(text) as EstimateRequest, signal })),
    enabled: text !== '',
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  })
  const settling = text !== (request ? JSON.stringify(request) : '')
  return { ...query, data: text ? query.data : undefined, error: text ? query.error : null, settling }
}

/** What an estimate says of the job's file, where it is uploaded, and of what is known. */
export const priced = (sceneFile: string | undefined, noReuse: boolean) => ({
  ...(sceneFile ? { sceneFile } : {}), ...(noReuse ? { noReuse } : {}),
})

export type PriceQuery = ReturnType<typeof usePrice>

/** The time of one processor core that the compute part of a price stands for. */
function coreTime(price: EstimateResponse): string | undefined {
  const { hardwareRate } = price.variableRates
  if (!(hardwareRate > 0 && price.breakdown.compute > 0)) return undefined
  return `, about ${duration((price.breakdown.compute / hardwareRate) * 3600)} of one core`
}

export function Price({ query }: { query: PriceQuery }) {
  const price = query.data
  if (!price) {
    const words = query.error ? 'There is no price yet: something of the request has to change first.'
      : 'The price appears here once there is something to price.'
    return <p className="text-sm text-soft" role="status">{query.isFetching ? <><Spinner /> Working out the price…</> : words}</p>
  }
  const rows: [string, string][] = [
    ['Compute', money(price.breakdown.compute) + (coreTime(price) ?? '')], ['Start', money(price.breakdown.startFee)],
    ['Software', price.hasLicenseFee ? `${money(price.breakdown.software)} for ${price.licenseNames.join(', ')}` : ''],
    ['Storage', money(price.breakdown.storage)], ['Download', price.breakdown.egress > 0 ? money(price.breakdown.egress) : ''],
  ]
  const behind = query.settling || query.isFetching
  return (
    <div aria-busy={behind}>
      <p role="status" className="text-2xl font-semibold tabular-nums">
        {money(price.estimatedCost)}{behind ? <span
          className="ml-2 text-sm font-normal text-soft"
        >working it out anew…</span> : null}
      </p>
      <p className="text-sm">Likely between {money(price.range.low)} and {money(price.range.high)}.</p>
      {price.assumed ? (
        <details className="mt-1 text-sm">
          <summary className="min-h-6 cursor-pointer text-accent">Priced as a typical case</summary>
          <p className="mt-1 text-soft">{price.assumed}</p>
        </details>
      ) : null}
      <details className="mt-2 text-sm">
        <summary className="min-h-6 cursor-pointer text-accent">What it consists of</summary>
        <div className="mt-1"><Facts facts={rows.filter(([, value]) => value !== '')} /></div>
      </details>
      <p
        className="mt-2 text-sm text-soft"
      >An amount above all of this is set aside while the job runs. The job never costs more than that.</p>
    </div>
  )
}
