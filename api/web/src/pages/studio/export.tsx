// The scene as an open file.

import { useMutation } from '@tanstack/react-query'
import { answered, exportStudioScene, type StudioExportRequest } from '@/api/client'
import { Button, Dialog, Failure } from '@/design'
import { saveFrom } from '@/design/save'
import { size } from '@/words'

const formats: [StudioExportRequest['format'], string, string][] = [
  ['mvsx', 'With its structures (.mvsx)',
  'One file that Mol* and other viewers open, and that opens here again as the same scene.'],
  ['mvsj', 'The scene alone (.mvsj)', 'Readable text that names its structures.'],
]

export function ExportDialog({ sessionId, done }: { sessionId: string; done: () => void }) {
  const write = useMutation({
    mutationFn: (format: StudioExportRequest['format']) =>
    answered(exportStudioScene({ body: { source: `session:${sessionId}`, format } })),
    onSuccess: ({ artifact }) => saveFrom(artifact.url, artifact.name),
  })
  return (
    <Dialog open onOpenChange={(open) => !open && done()} title="Export the scene">
      <div className="grid grid-cols-1 gap-4">
        {formats.map(([format, words, hint]) => (
          <div key={format}>
            <Button busy={write.isPending && write.variables === format} disabled={write.isPending}
              onClick={() => write.mutate(format)}>
              {words}
            </Button>
            <p className="mt-1 text-sm text-soft">{hint}</p>
          </div>
        ))}
        <Failure error={write.error} />
        {write.data ? (
          <div role="status" className="text-sm">
            <p>
              <a href={write.data.artifact.url} download={write.data.artifact.name}>{write.data.artifact.name}</a>{' '}
              ({size(write.data.artifact.byteSize)}) is written. Its link is good for a quarter of an hour.
            </p>
            {write.data.issues.length > 0
              ? <ul className="mt-1 list-disc pl-5 text-warn">{write.data.issues.map((issue) => <li key={issue}>{issue}</li>)}</ul>
              : null}
          </div>
        ) : null}
      </div>
    </Dialog>
  )
}
