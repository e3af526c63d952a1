import { PageHead } from '@/design'

export function SessionPage() {
  return <PageHead title="SessionPage" />
}
