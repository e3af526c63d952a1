import { PageHead } from '@/design'

export function SignUp() {
  return <PageHead title="SignUp" />
}
