// What an API key may do, in words.

import type { CreateRequest } from '@/api/client'

export type Scope = CreateRequest['scopes'][number]

export const scopeWords: Record<Scope, string> = {
  'jobs:read': 'See jobs and fetch their results',
  'jobs:write': 'Submit, cancel and retry jobs, and upload files',
  'credits:read': 'See credit and the ledger',
  convert: 'Convert scenes',
  'molecular:chat': 'Use the Studio',
  'projects:read': 'See projects',
  'projects:write': 'Save, share and delete projects',
}
