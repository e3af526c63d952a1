import { PageHead } from '@/design'

export function NewDocking() {
  return <PageHead title="NewDocking" />
}
