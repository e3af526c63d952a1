import { PageHead } from '@/design'

export function NewPockets() {
  return <PageHead title="NewPockets" />
}
