// Buying credit, where the deployment has payments. The checkout is a page of the payment provider.

import { useMutation, useQuery } from '@tanstack/react-query'
import { answered, getPricing, topUp, type TopUpRequest } from '@/api/client'
import { Button, Card, Failure, Loading } from '@/design'
import { pence } from '@/words'

export function TopUp() {
  const pricing = useQuery({ queryKey: ['pricing'], queryFn: () => answered(getPricing()), staleTime: 600_000 })
  const buy = useMutation({
    mutationFn: (tierId: TopUpRequest['tierId']) => {
      const back = (outcome: string) => `${window.location.origin}/credits?topup=${outcome}`
      return answered(topUp({ body: { tierId, successUrl: back('success'), cancelUrl: back('cancelled') } }))
    },
    onSuccess: (checkout) => window.location.assign(checkout.url),
  })
  return (
    <Card title="Buy credit">
      {pricing.isPending ? <Loading what="the prices" /> : null}
      <Failure error={pricing.error} retry={() => void pricing.refetch()} />
      <div className="flex flex-wrap gap-2">
        {pricing.data?.tiers.map((tier) => (
          <Button key={tier.id} busy={buy.isPending && buy.variables === tier.id} disabled={buy.isPending}
            onClick={() => buy.mutate(tier.id as TopUpRequest['tierId'])}>
            {pence(tier.pricePence)}{tier.bonusPence ? ` and ${pence(tier.bonusPence)} on top` : ''}
          </Button>
        ))}
      </div>
      <p className="mt-2 text-sm text-soft">You pay on the page of the payment provider. Bought credit does not expire.</p>
      {buy.error ? <div className="mt-3"><Failure error={buy.error} /></div> : null}
    </Card>
  )
}
