import { PageHead } from '@/design'

export function Dockings() {
  return <PageHead title="Dockings" />
}
