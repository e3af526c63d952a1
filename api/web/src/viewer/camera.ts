// The camera by buttons: what a pointer does by dragging, without one.

import { Quat, Vec3 } from 'molstar/lib/mol-math/linear-algebra.js'
import type { Engine } from './engine'

export type Move = 'reset' | 'closer' | 'farther' | 'left' | 'right' | 'up' | 'down'

const turnRadians = Math.PI / 12
const zoomFactor = 1.25

const turns: Partial<Record<Move, readonly [across: boolean, angle: number]>> = {
  left: [false, turnRadians],
  right: [false, -turnRadians],
  up: [true, turnRadians],
  down: [true, -turnRadians],
}

/** Moves the camera over so many milliseconds. */
export function moveCamera({ plugin, canvas3d, home }: Engine, move: Move, durationMs: number) {
  if (move === 'reset') {
    if (home) canvas3d.camera.setState(home, durationMs)
    else plugin.managers.camera.reset(undefined, durationMs)
    return
  }
  const { position, target, up, radius, radiusMax } = canvas3d.camera.getSnapshot()
  const eye = Vec3.sub(Vec3(), position, target)
  const turn = turns[move]
  if (!turn) {
    const factor = move === 'closer' ? 1 / zoomFactor : zoomFactor
    const moved = Vec3.scaleAndAdd(Vec3(), target, eye, factor)
    canvas3d.camera.setState({ position: moved, radius: Math.min(radius * factor, radiusMax) }, durationMs)
    return
  }
  const [across, angle] = turn
  const axis = across ? Vec3.cross(Vec3(), up, eye) : Vec3.clone(up)
  const rotation = Quat.setAxisAngle(Quat(), Vec3.normalize(axis, axis), angle)
  const turned = Vec3.transformQuat(Vec3(), eye, rotation)
  canvas3d.camera.setState({ position: Vec3.add(Vec3(), target, turned), up: Vec3.transformQuat(Vec3(), up, rotation) }, durationMs)
}
