import { PageHead } from '@/design'

export function SearchPage() {
  return <PageHead title="SearchPage" />
}
