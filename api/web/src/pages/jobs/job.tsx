import { PageHead } from '@/design'

export function JobPage() {
  return <PageHead title="JobPage" />
}
