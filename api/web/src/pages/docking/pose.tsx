import { PageHead } from '@/design'

export function PosePage() {
  return <PageHead title="PosePage" />
}
