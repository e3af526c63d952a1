import { PageHead } from '@/design'

export function Operator() {
  return <PageHead title="Operator" />
}
