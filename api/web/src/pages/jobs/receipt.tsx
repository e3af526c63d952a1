// The signed statement of a job that has ended.

import { useMutation } from '@tanstack/react-query'
import { answered, getJobReceipt, type Job } from '@/api/client'
import { Button, Card, Failure } from '@/design'
import { saveText } from '@/design/save'

export function ReceiptCard({ job }: { job: Job }) {
  const name = `${job.jobId}-receipt.json`
  const get = useMutation({
    // As it was signed, byte for byte.
    mutationFn: async () => String(await answered(getJobReceipt({ path: { id: job.jobId }, parseAs: 'text' }))),
    onSuccess: (text) => saveText(name, 'application/json', text),
  })
  if (job.filesDeletedAt) return <Card title="Receipt"><p className="text-sm text-soft">It went with the job’s files.</p></Card>
  return (
    <Card title="Receipt" actions={<Button busy={get.isPending} onClick={() => get.mutate()}>Download the receipt</Button>}>
      <div className="grid gap-2 text-sm">
        <p>A receipt is the service’s signed statement of what a job was given, what it has made and what it cost.</p>
        <p>Check it, and the job’s files in a folder, with <code className="wrap-anywhere">molfabric verify {name} --dir
          results</code>.</p>
        <Failure error={get.error} />
        <p role="status" className="sr-only">{get.isSuccess ? 'The receipt was downloaded.' : ''}</p>
      </div>
    </Card>
  )
}
