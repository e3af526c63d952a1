import { PageHead } from '@/design'

export function Keys() {
  return <PageHead title="Keys" />
}
