import { PageHead } from '@/design'

export function Settings() {
  return <PageHead title="Settings" />
}
