import { PageHead } from '@/design'

export function Projects() {
  return <PageHead title="Projects" />
}
