import { PageHead } from '@/design'

export function QueryPage() {
  return <PageHead title="QueryPage" />
}
