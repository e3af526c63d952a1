import { PageHead } from '@/design'

export function Dashboard() {
  return <PageHead title="Dashboard" />
}
