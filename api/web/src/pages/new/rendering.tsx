// The form of a rendering.

import { Button, Card, Check, Select, TextField } from '@/design'
import { extensionOf, upload } from '@/uploads'
import { useDraft } from './draft'
import { fieldErrors } from './fields'
import { FileField, storing } from './file-field'
import { NewJob, useSubmission } from './frame'
import { usePrice } from './price'
import { emptyRendering, isBlend, isScene, renderingCommand, type RenderingDraft, renderingPlan, sceneFormats } from './rendering-draft'

const draftName = 'rendering'
const known = ['sceneFile', 'attachments', 'metadata.resolution', 'metadata.samples', 'metadata.fps', 'parameters.Frames',
  'parameters.TurntableFrames',
  'parameters.Animation', 'parameters.Background', 'parameters.Video', 'jobName']

export function NewRendering() {
  const { draft, set, clear } = useDraft(draftName, emptyRendering)
  const { plan, estimate } = renderingPlan(draft)
  const price = usePrice(estimate)
  const submission = useSubmission(draftName, plan, clear)
  const errors = fieldErrors(submission.error ?? price.error, known)
  const blend = isBlend(draft)
  return (
    <NewJob
      title="New rendering"
      lead="Makes pictures and films: of molecules with Mol* or ray-traced with Cycles, of Blender scenes with Cycles."
      plan={plan} price={price} submission={submission} error={errors.rest} command={renderingCommand(draft)} onClear={clear}
      again={{ noReuse: draft.noReuse, set }}
    >
      <Card title="1. Scene">
        <div className="grid gap-4 sm:grid-cols-2">
          <FileField
            label="Scene or structure" accept={[...sceneFormats, 'gz'].map((one) => '.' + one).join(',')} chosen={draft.file}
            error={errors.at('sceneFile')}
            hint="A MolViewSpec scene, a Blender scene, or a structure alone, which gets a good view by itself."
            onRemove={() => set({ file: undefined })}
            take={storing((file) => set({ file }), (name) => {
              if (sceneFormats.includes(extensionOf(name))) return
              throw new Error(`${name}: choose a scene (.mvsj, .mvsx, .blend) or a structure (.cif, .pdb, .sdf and others).`)
            })}
          />
          {blend || isScene(draft) ? (
            <div>
              <FileField
                label="Files that the scene refers to" accept="" several
                hint="Textures, structures. The scene finds them by their file names." error={errors.at('attachments')}
                take={async ({ name, content }, signal, onProgress) => {
                  const stored = { name, ...(await upload(content, name, { signal, onProgress })) }
                  set((before) => ({ assets: [...before.assets.filter((asset) => asset.name !== name), stored] }))
                }}
              />
              <ul className="mt-2 grid gap-1 text-sm">
                {draft.assets.map((asset) => (
                  <li key={asset.name} className="flex flex-wrap items-center justify-between gap-2">
                    <span className="wrap-anywhere">{asset.name}</span>
                    <Button
                      kind="quiet" aria-label={`Take it out: ${asset.name}`}
                      onClick={() => set({ assets: draft.assets.filter((other) => other !== asset) })}
                    >Take it out</Button>
                  </li>
                ))}
              </ul>
            </div>
          ) : null}
        </div>
      </Card>
      <Card title="2. Picture">
        <div className="grid gap-4 sm:grid-cols-2">
          {blend ? null : (
            <Select
              label="Drawn by" value={draft.engine} hint="Cycles traces rays: soft light and shadows, ten times the work."
              onChange={(event) => set({ engine: event.target.value as RenderingDraft['engine'] })}
            >
              <option value="molstar">Mol*, fast</option>
              <option value="cycles">Cycles, ray-traced</option>
            </Select>
          )}
          <TextField
            label="Size in pixels" value={draft.size} error={errors.at('metadata.resolution')}
            hint={blend ? 'Empty: the scene’s own.' : 'Width x height, 16 to 8192 each.'}
            onChange={(event) => set({ size: event.target.value })}
          />
          {blend || draft.engine === 'cycles' ? (
            <TextField
              label="Samples a pixel" inputMode="numeric" value={draft.samples} placeholder={blend ? 'the scene’s own' : '64'}
              error={errors.at('metadata.samples')}
              hint="More take longer and leave less noise." onChange={(event) => set({ samples: event.target.value })}
            />
          ) : null}
          {blend ? null : <Look draft={draft} set={set} error={errors.at('parameters.Background')} />}
          <TextField
            label="Name of the job" value={draft.name} maxLength={512} placeholder="made from the file" error={errors.at('jobName')}
            onChange={(event) => set({ name: event.target.value })}
          />
        </div>
      </Card>
      <Card title="3. Motion">
        <div className="grid gap-4 sm:grid-cols-2">
          {blend ? (
            <TextField
              label="Frames" value={draft.frames} error={errors.at('parameters.Frames')} hint="Such as 1-48, 1-100:10 or 1,3,5-9."
              onChange={(event) => set({ frames: event.target.value })}
            />
          ) : (
            <Select
              label="What moves" value={draft.motion} error={errors.at('parameters.Animation')}
              onChange={(event) => set({ motion: event.target.value as RenderingDraft['motion'] })}
            >
              <option value="still">Nothing: one picture</option>
              <option value="turntable">The view turns once around</option>
              <option value="timeline" disabled={!isScene(draft)}>The scene’s states play</option>
              <option value="states" disabled={!isScene(draft)}>A picture for each state of the scene</option>
            </Select>
          )}
          {!blend && draft.motion === 'turntable' ? (
            <TextField
              label="Frames of the turn" inputMode="numeric" value={draft.turntableFrames} hint="2 to 3600; 48 are two seconds."
              error={errors.at('parameters.TurntableFrames')}
              onChange={(event) => set({ turntableFrames: event.target.value })}
            />
          ) : null}
          {blend || draft.motion !== 'still' ? (
            <>
              <Select
                label="Film" value={draft.video} error={errors.at('parameters.Video')}
                onChange={(event) => set({ video: event.target.value as RenderingDraft['video'] })}
              >
                <option value="">{blend ? 'None' : 'As it suits'}</option>
                <option value="mp4">MP4</option>
                <option value="webm">WebM</option>
              </Select>
              <TextField
                label="Frames a second" inputMode="decimal" value={draft.fps} error={errors.at('metadata.fps')}
                onChange={(event) => set({ fps: event.target.value })}
              />
              <Check
                label="Keep each finished frame when a machine fails" checked={draft.resumable}
                onChange={(event) => set({ resumable: event.target.checked })}
              />
            </>
          ) : null}
        </div>
      </Card>
    </NewJob>
  )
}

function Look({ draft, set, error }: { draft: RenderingDraft; set: (changes: Partial<RenderingDraft>) => void; error?: string }) {
  return (
    <>
      <TextField
        label="Background" value={draft.background} placeholder="the scene’s, else white" hint="Such as #ffffff." error={error}
        disabled={draft.transparent} onChange={(event) => set({ background: event.target.value })}
      />
      <div className="grid content-start gap-2">
        <Check
          label="Transparent background" checked={draft.transparent}
          onChange={(event) => set({ transparent: event.target.checked, ...(event.target.checked ? { background: '' } : {}) })}
        />
        {draft.engine === 'molstar' ? <Check
          label="Outlines" checked={draft.outline} onChange={(event) => set({ outline: event.target.checked })}
        /> : null}
      </div>
    </>
  )
}
