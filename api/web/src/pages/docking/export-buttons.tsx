import { useMutation } from '@tanstack/react-query'
import { Button, Failure } from '@/design'
import { saveBlob } from './save-blob'
import { exported } from './export'

/** All results of a run as a table or as structures. */
export function ExportButtons({ runId }: { runId: string }) {
  const saving = useMutation({
    mutationFn: (format: 'csv' | 'sdf') => exported(runId, format),
    onSuccess: ({ file }, format) => saveBlob(`docking-results.${format}`, file),
  })
  const busy = (format: string) => saving.isPending && saving.variables === format
  return (
    <>
      <Button busy={busy('csv')} onClick={() => saving.mutate('csv')}>
        CSV of all
      </Button>
      <Button busy={busy('sdf')} onClick={() => saving.mutate('sdf')}>
        SDF of all
      </Button>
      {saving.error ? <Failure error={saving.error} /> : null}
      {saving.data?.truncated ? (
        <p role="status" className="text-sm text-warn">
          The file holds the first 10,000 alone.
        </p>
      ) : null}
    </>
  )
}
