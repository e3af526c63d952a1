import type { ViewerProps } from './types'

/** What stands in the place of a molecule where none can be drawn. */
export function NoWebGL({ label, fallback }: Pick<ViewerProps, 'label' | 'fallback'>) {
  return (
    <figure className="rounded-md border border-line p-3">
      {fallback ? <img src={fallback.src} alt={fallback.alt} className="mb-2 max-h-[60vh] max-w-full" /> : null}
      <figcaption className="text-sm">
        <p className="font-medium">{label}</p>
        <p className="mt-1 text-soft">
          This browser cannot draw molecules: it offers no WebGL 2. Turn on hardware acceleration in its settings, or use another
          browser. All figures on this page are also there as text.
        </p>
      </figcaption>
    </figure>
  )
}
