import { PageHead } from '@/design'

export function NewDynamics() {
  return <PageHead title="NewDynamics" />
}
