import { PageHead } from '@/design'

export function SignIn() {
  return <PageHead title="SignIn" />
}
