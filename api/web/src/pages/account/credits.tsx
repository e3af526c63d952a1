import { PageHead } from '@/design'

export function Credits() {
  return <PageHead title="Credits" />
}
