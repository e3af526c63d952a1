import { PageHead } from '@/design'

export function RunPage() {
  return <PageHead title="RunPage" />
}
