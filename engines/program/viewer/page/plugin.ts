// The drawing engine without any user interface, and what the page knows of its scene.

import { MolViewSpec } from 'molstar/lib/extensions/mvs/behavior';
import { PluginContext } from 'molstar/lib/mol-plugin/context';
import { DefaultPluginSpec, PluginSpec } from 'molstar/lib/mol-plugin/spec';
import type { PluginState } from 'molstar/lib/mol-plugin/state';
import { now } from 'molstar/lib/mol-util/now';
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
    const models = { ref: '', count: 0 };
    return { plugin, canvas3d: plugin.canvas3d, models, snapshots: [], durationsMs: [], animation: { kind: 'none', frames: 1, fps: 24 }, cameras: [] };
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
