import { PageHead } from '@/design'

export function Choose() {
  return <PageHead title="Choose" />
}
