import { PageHead } from '@/design'

export function NewSearch() {
  return <PageHead title="NewSearch" />
}
