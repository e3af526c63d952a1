// Which moment of the scene a frame shows, and bringing that moment onto the stage. Every frame can be shown without those before
// it, so frames may be shared out among processes in any way.

import { Canvas3DParams } from 'molstar/lib/mol-canvas3d/canvas3d';
import { Camera } from 'molstar/lib/mol-canvas3d/camera';
import { CameraTransitionManager } from 'molstar/lib/mol-canvas3d/camera/transition';
import { PluginState } from 'molstar/lib/mol-plugin/state';
import { ParamDefinition } from 'molstar/lib/mol-util/param-definition';
import { degToRad } from 'molstar/lib/mol-math/misc';
import { fitTurn, setCamera, turned } from './camera';
import { Failure } from './channel';
import { withLabels } from './labels';
import { settle, type Stage } from './plugin';
import { check } from './scene';
import { showModel } from './structure';

/** A moment of a scene: a state, the time since that state began, and how far a turntable has turned. */
interface Moment {
    state: number;
    timeMs: number;
    turnRad: number;
}

export async function showFrame(stage: Stage, frame: number): Promise<void> {
    const moment = momentOf(stage, frame);
    const key = `${moment.state}/${moment.timeMs}`;
    if (stage.shown !== key) {
        stage.shown = undefined;
        if (stage.snapshots.length > 0) await showMoment(stage, moment);
        else {
            stage.cameras[0] ??= stage.canvas3d.camera.getSnapshot();
            if (stage.models.count > 1) await showModel(stage, moment.state);
            check(stage);
        }
        stage.shown = key;
    }
    if (stage.animation.kind === 'turntable') turn(stage, moment.turnRad);
}

function momentOf({ animation, snapshots, durationsMs, models }: Stage, frame: number): Moment {
    const first = { state: 0, timeMs: 0, turnRad: 0 };
    if (animation.kind === 'none') return first;
    if (animation.kind === 'turntable') return { ...first, turnRad: 2 * Math.PI * (frame - 1) / animation.frames };
    if (animation.kind === 'states' || snapshots.length === 0) return { ...first,
        state: within(frame - 1, snapshots.length || models.count, frame) };
    const lengths = durationsMs.map(duration => Math.max(1, Math.round(duration / 1000 * animation.fps)));
    let before = 0, state = 0;
    while (state < lengths.length && frame > before + lengths[state]) before += lengths[state++];
    within(state, snapshots.length, frame);
    return { ...first, state, timeMs: 1000 * (frame - 1 - before) / animation.fps };
}

function within(state: number, states: number, frame: number): number {
    if (state >= 0 && state < Math.max(states, 1)) return state;
    throw new Failure('NO_SUCH_FRAME', `The animation has no frame ${frame}.`);
}

async function showMoment(stage: Stage, moment: Moment): Promise<void> {
    const snapshot = stage.snapshots[moment.state];
    const passing = snapshot.camera?.transitionDurationInMs ?? 0;
    const arriving = stage.animation.kind === 'timeline' && moment.state > 0 && moment.timeMs < passing;
    if (arriving) stage.cameras[moment.state - 1] ??= await lastCamera(stage, moment.state - 1);
    await apply(stage, snapshot, snapshot);
    stage.cameras[moment.state] = stage.canvas3d.camera.getSnapshot();
    const step = PluginState.getStateTransitionFrameIndex(snapshot, moment.timeMs);
    if (step !== undefined) await apply(stage, snapshot.transition!.frames[step], snapshot);
    if (moment.timeMs > 0) spin(stage, moment.timeMs);
    if (arriving) arrive(stage, stage.cameras[moment.state - 1]!, moment.timeMs / passing);
    check(stage);
}

async function lastCamera(stage: Stage, state: number): Promise<Camera.Snapshot> {
    await apply(stage, stage.snapshots[state], stage.snapshots[state]);
    return stage.canvas3d.camera.getSnapshot();
}

type Part = Pick<PluginState.Snapshot, 'data' | 'canvas3d' | 'camera'>;

/** Applies a state, or a moment of its animation, at once: what the engine itself would do over time. */
async function apply(stage: Stage, part: Part, whole: PluginState.Snapshot): Promise<void> {
    const { plugin, canvas3d } = stage;
    if (part.data) await plugin.runTask(plugin.state.data.setSnapshot(withLabels(part.data)));
    if (part.canvas3d?.props) {
        const props = ParamDefinition.normalizeParams(Canvas3DParams, part.canvas3d.props, 'children');
        canvas3d.setProps({ ...props, camera: undefined, cameraClipping: undefined });
    }
    settle(stage);
    const camera = part.camera ?? (part === whole ? whole.camera : undefined);
    if (camera?.current) setCamera(stage, camera.current);
    else if (camera?.focus) {
        plugin.managers.camera.focusObject({ ...camera.focus, durationMs: 0 });
        settle(stage);
    }
}

/** Turns the camera as far as the scene's own camera movement would have by a time. */
function spin(stage: Stage, timeMs: number): void {
    const { animate } = stage.canvas3d.props.trackball;
    if (animate.name === 'off') return;
    const turns = animate.params.speed * timeMs / 1000;
    const angle = animate.name === 'spin' ? 2 * Math.PI * turns : degToRad(animate.params.angle) * Math.sin(2 * Math.PI * turns);
    const camera = stage.canvas3d.camera.getSnapshot();
    setCamera(stage, { ...camera, ...turned(camera, animate.params.axis, angle) });
}

function arrive(stage: Stage, from: Camera.Snapshot, part: number): void {
    const between = Camera.createDefaultSnapshot();
    CameraTransitionManager.defaultTransition(between, part, from, stage.canvas3d.camera.getSnapshot());
    setCamera(stage, between);
}

/** Carries the camera once around its target. The scene turns to the right, as on a table that is turned anticlockwise. */
function turn(stage: Stage, angleRad: number): void {
    const camera = stage.turning ??= { ...stage.cameras[0]!, ...fitTurn(stage, stage.cameras[0]!) };
    const { center, radius } = stage.canvas3d.boundingSphereVisible;
    const offset = Math.hypot(...center.map((value, k) => value - camera.target[k]));
    // Nothing may be cut off on the far side of a target that is not the middle of the scene.
    const whole = Math.max(camera.radius, radius + offset);
    stage.canvas3d.setProps({ sceneRadiusFactor: Math.max(1, whole / Math.max(stage.canvas3d.boundingSphere.radius, 0.01)) });
    setCamera(stage, { ...camera, ...turned(camera, [0, 1, 0], -angleRad), radius: whole });
}
