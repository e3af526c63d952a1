import { PageHead } from '@/design'

export function ProjectPage() {
  return <PageHead title="ProjectPage" />
}
