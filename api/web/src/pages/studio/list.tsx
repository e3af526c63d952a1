import { PageHead } from '@/design'

export function Sessions() {
  return <PageHead title="Sessions" />
}
