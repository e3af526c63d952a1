// The rest of a list that comes in pages.

import { Button, Failure } from '.'

interface Pages {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  isFetchNextPageError: boolean
  error: unknown
  fetchNextPage: () => unknown
}

export function MoreOf({ what, list }: { what: string; list: Pages }) {
  if (!list.hasNextPage) return null
  return (
    <div className="mt-3">
      {list.isFetchNextPageError ? <Failure error={list.error} /> : null}
      <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>More {what}</Button>
    </div>
  )
}
