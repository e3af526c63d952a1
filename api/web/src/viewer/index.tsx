// A molecule to look at. The library that draws it is large: it comes when a molecule is shown, and not before.

import { lazy, Suspense, useState } from 'react'
import { Loading } from '@/design'
import { NoWebGL } from './no-webgl'
import type { ViewerProps } from './types'

export type { MolViewSpec, MolViewSpecNode, Picked, Selector, ViewerFile, ViewerHandle, ViewerProps } from './types'

const load = () => import('./live')
const Live = lazy(() => load().then((module) => ({ default: module.LiveViewer })))

/** Fetches the library before there is something to show, for pages that will show a molecule for sure. */
export function prepareViewer() {
  void load().catch(() => undefined) // the viewer itself tries again, and says what is wrong
}

function drawsHere(): boolean {
  try {
    return document.createElement('canvas').getContext('webgl2') !== null
  } catch {
    return false
  }
}

/** Shows a MolViewSpec document. Without WebGL it says so and shows the picture that it was given instead. */
export function Viewer(props: ViewerProps) {
  const [able] = useState(drawsHere)
  if (!able) return <NoWebGL label={props.label} fallback={props.fallback} />
  return (
    <Suspense fallback={<Loading what="the viewer" />}>
      <Live {...props} />
    </Suspense>
  )
}
