import { PageHead } from '@/design'

export function LigandPage() {
  return <PageHead title="LigandPage" />
}
