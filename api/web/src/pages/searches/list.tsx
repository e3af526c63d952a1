import { PageHead } from '@/design'

export function Searches() {
  return <PageHead title="Searches" />
}
