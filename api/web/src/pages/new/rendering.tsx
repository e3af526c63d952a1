import { PageHead } from '@/design'

export function NewRendering() {
  return <PageHead title="NewRendering" />
}
