// The drawing engine without any user interface, and what the page knows of its scene.

import { MolViewSpec } from 'molstar/lib/extensions/mvs/behavior';
import { PluginContext } from 'molstar/lib/mol-plugin/context';
import { DefaultPluginSpec, PluginSpec } from 'molstar/lib/mol-plugin/spec';
import type { PluginState } from 'molstar/lib/mol-plugin/state';
import { now } from 'molstar/lib/mol-util/now';
import { deepClone } from 'molstar/lib/mol-util/object';
import type { Canvas3DProps } from 'molstar/lib/mol-canvas3d/canvas3d';
import type { Camera } from 'molstar/lib/mol-canvas3d/camera';
import type { ImagePass } from 'molstar/lib/mol-canvas3d/passes/image';
import { Failure } from './channel';

/** Which frames there are. frames is the length of the whole animation. */
export interface Animation {
    kind: 'none' | 'states' | 'timeline' | 'turntable';
    frames: number;
    fps: number;
}

export interface Stage {
    plugin: PluginContext;
    canvas3d: NonNullable<PluginContext['canvas3d']>;
    snapshots: PluginState.Snapshot[]; // one of each state; none for a plain structure
    durationsMs: number[]; // how long each of them is shown in a timeline
    animation: Animation;
    cameras: (Camera.Snapshot | undefined)[]; // of each state at its beginning, where it has been shown
    models: { ref: string; count: number }; // of a plain structure, its first on the stage: each is a state
    turning?: Camera.Snapshot; // where a turntable begins: the whole turn fits the picture
    shown?: string; // which moment is on the stage
    pass?: ImagePass;
    empty: { props: Canvas3DProps; camera: Camera.Snapshot }; // settings before any scene
}

// Longest side of the canvas that is never drawn to; only its aspect ratio matters.
const CANVAS_SIDE_PX = 256;

export async function openStage(lost: () => void): Promise<Stage> {
    const spec = DefaultPluginSpec();
    const plugin = new PluginContext({ ...spec, behaviors: [...spec.behaviors, PluginSpec.Behavior(MolViewSpec)] });
    await plugin.init();
    const canvas = document.getElementById('canvas') as HTMLCanvasElement;
    canvas.addEventListener('webglcontextlost', lost);
    shape(1, 1);
    if (!await plugin.initViewerAsync(canvas, document.getElementById('scene') as HTMLDivElement) || !plugin.canvas3d) {
        throw new Failure('NO_WEBGL', 'The browser offers no WebGL 2 here; the worker lacks the Mesa drivers.', false);
    }
    plugin.animationLoop.stop({ noDraw: true });
    const { canvas3d } = plugin;
    const empty = { props: deepClone(canvas3d.props), camera: canvas3d.camera.getSnapshot() };
    return { plugin, canvas3d, empty, ...nothingShown() };
}

/** What a stage knows of its scene before it has one. */
function nothingShown() {
    return { snapshots: [], durationsMs: [], cameras: [], models: { ref: '', count: 0 }, turning: undefined, shown: undefined,
        animation: { kind: 'none' as const, frames: 1, fps: 24 } };
}

/** Takes the scene off the stage, with its files, its settings and its camera. What the engine has learnt of drawing stays, so the
 *  next scene is drawn at once. Fails when anything of the scene is left. */
export async function clearStage(stage: Stage): Promise<void> {
    const { plugin, canvas3d, empty } = stage;
    await plugin.managers.animation.stop();
    plugin.managers.snapshot.clear();
    await plugin.clear();
    plugin.managers.asset.clear();
    Object.assign(stage, nothingShown());
    canvas3d.setProps(deepClone(empty.props));
    canvas3d.camera.setState(empty.camera, 0);
    settle(stage);
    const left = { cells: plugin.state.data.cells.size - 1, objects: canvas3d.getRenderObjects().length,
        files: plugin.managers.asset.assets.length, states: plugin.managers.snapshot.state.entries.size };
    if (Object.values(left).some(count => count > 0)) {
        throw new Failure('STAGE_NOT_EMPTY', `The scene could not be taken off the stage: ${JSON.stringify(left)} is left.`, false);
    }
}

function shape(widthPixels: number, heightPixels: number): void {
    const scale = CANVAS_SIDE_PX / Math.max(widthPixels, heightPixels);
    for (const name of ['scene', 'canvas']) {
        const style = document.getElementById(name)!.style;
        style.width = `${Math.max(1, Math.round(widthPixels * scale))}px`;
        style.height = `${Math.max(1, Math.round(heightPixels * scale))}px`;
    }
}

/** Gives the canvas, and so the camera, the aspect ratio of the pictures. */
export function setAspect(stage: Stage, widthPixels: number, heightPixels: number): void {
    shape(widthPixels, heightPixels);
    stage.plugin.handleResize();
    stage.canvas3d.handleResize();
}

/** Brings everything that was changed onto the stage: geometry, camera and settings. Draws nothing. */
export function settle(stage: Stage): void {
    stage.canvas3d.commit(true);
    stage.canvas3d.tick(now(), { isSynchronous: true, manualDraw: true });
}
