// Draws what is on the stage into a picture of any size.

import { Color } from 'molstar/lib/mol-util/color';
import { type PostprocessingProps } from 'molstar/lib/mol-canvas3d/passes/postprocessing';
import { OutlineParams } from 'molstar/lib/mol-canvas3d/passes/outline';
import { SsaoParams } from 'molstar/lib/mol-canvas3d/passes/ssao';
import { ParamDefinition } from 'molstar/lib/mol-util/param-definition';
import type { GraphicsRenderObject } from 'molstar/lib/mol-gl/render-object';
import { Task } from 'molstar/lib/mol-task';
import { type Answer, Failure } from './channel';
import { settle, type Stage } from './plugin';

export interface Picture {
    widthPixels: number;
    heightPixels: number;
    transparent: boolean;
    background: string | null; // #rrggbb; null for the scene's own
    outline: boolean | null; // null for as the scene says
    ambientOcclusion: boolean | null;
    depthCue?: boolean | null;
    sampleLevel?: number; // 2^level jittered views; left out for MULTI_SAMPLE_LEVEL
}

// 2^3 jittered views a picture: 16 look alike and take twice as long.
const MULTI_SAMPLE_LEVEL = 3;
// The engine's own picture takes 128, which look alike and take six times as long.
const OCCLUSION_SAMPLES = 32;
// Outlines are whole pixels wide; they keep their look when the picture grows.
const PIXELS_PER_OUTLINE = 1200;
const MAX_OUTLINE = 5;
// The image of a background lies on the same machine, if anywhere.
const BACKGROUND_DEADLINE_MS = 30_000;
// Where depth cue is asked for, what lies behind the middle fades at least, and what is farthest is gone.
const DEPTH_CUE_INTENSITY = 50;
const OCCLUSION = ParamDefinition.getDefaultValues(SsaoParams);
const OUTLINE = ParamDefinition.getDefaultValues(OutlineParams);

/** Draws the scene, and its labels over it: they stay legible, and neither outlines nor shadows touch them. */
export async function drawPicture(stage: Stage, picture: Picture): Promise<Answer> {
    setDepthCue(stage, picture);
    const labels = await drawLabels(stage, picture);
    const image = await withHidden(stage, object => object.type === 'text', () => draw(stage, picture, false));
    if (labels) lay(labels.data, image.data);
    return { document: { blank: blank(image) && hasGeometry(stage) },
        bytes: new Uint8Array(image.data.buffer) as Uint8Array<ArrayBuffer> };
}

/** Draws the labels alone on a transparent ground; undefined when the scene has none. */
export async function drawLabels(stage: Stage, picture: Picture): Promise<ImageData | undefined> {
    if (!stage.canvas3d.getRenderObjects().some(object => object.state.visible && object.type === 'text')) return undefined;
    return withHidden(stage, object => object.type !== 'text', () => draw(stage, { ...picture, transparent: true }, true));
}

/** Fades what is far away, or does not, where the request says it. */
export function setDepthCue(stage: Stage, picture: Picture): void {
    const { canvas3d } = stage;
    if (picture.depthCue == null) return;
    const own = canvas3d.props.cameraFog;
    const params = { intensity: Math.max(own.name === 'on' ? own.params.intensity : 0, DEPTH_CUE_INTENSITY) };
    canvas3d.setProps({ cameraFog: picture.depthCue ? { name: 'on', params } : { name: 'off', params: {} } });
    settle(stage);
}

/** Does something while the chosen objects are hidden. */
async function withHidden<T>(stage: Stage, chosen: (object: GraphicsRenderObject) => boolean, work: () => Promise<T>): Promise<T> {
    const hidden = stage.canvas3d.getRenderObjects().filter(object => object.state.visible && chosen(object));
    if (hidden.length === 0) return work();
    try {
        for (const object of hidden) object.state.visible = false;
        stage.canvas3d.syncVisibility();
        return await work();
    } finally {
        for (const object of hidden) object.state.visible = true;
        stage.canvas3d.syncVisibility();
    }
}

/** Lays one picture over another; alpha is not multiplied into the colours of either. */
function lay(over: Uint8ClampedArray, under: Uint8ClampedArray): void {
    for (let i = 0; i < over.length; i += 4) {
        if (over[i + 3] === 0) continue;
        const front = over[i + 3] / 255, back = under[i + 3] / 255 * (1 - front), whole = front + back;
        for (let k = i; k < i + 3; k++) under[k] = (over[k] * front + under[k] * back) / whole;
        under[i + 3] = 255 * whole;
    }
}

async function draw(stage: Stage, picture: Picture, plain: boolean): Promise<ImageData> {
    const { canvas3d } = stage;
    const { widthPixels: width, heightPixels: height } = picture;
    checkSize(stage, width, height);
    if (picture.background) canvas3d.setProps({ renderer: { backgroundColor: Color.fromHexStyle(picture.background) } });
    const settings = {
        transparentBackground: picture.transparent,
        cameraHelper: { axes: { name: 'off' as const, params: {} } },
        multiSample: { mode: 'on' as const, sampleLevel: picture.sampleLevel ?? MULTI_SAMPLE_LEVEL, reduceFlicker: false,
            reuseOcclusion: true },
        postprocessing: postprocessing(stage, picture, plain),
        marking: { ...canvas3d.props.marking, enabled: false },
        illumination: { ...canvas3d.props.illumination, enabled: false },
        dpoitIterations: canvas3d.props.dpoitIterations,
    };
    stage.pass ??= canvas3d.getImagePass(settings);
    stage.pass.setProps(settings);
    const { pass } = stage;
    await Promise.race([pass.updateBackground(), backgroundMissing()]);
    return stage.plugin.runTask(Task.create('Draw', context => pass.getImageData(context, width, height)));
}

/** The engine never tells that the image of a background could not be had. */
function backgroundMissing(): Promise<never> {
    const failure = new Failure('BACKGROUND_MISSING', 'The background image of the scene could not be loaded.');
    return new Promise((_, reject) => setTimeout(reject, BACKGROUND_DEADLINE_MS, failure));
}

function checkSize(stage: Stage, width: number, height: number): void {
    const { webgl } = stage.canvas3d;
    const most = Math.min(webgl.maxTextureSize, webgl.maxRenderbufferSize);
    if (width <= most && height <= most) return;
    throw new Failure('PICTURE_TOO_LARGE',
        `A picture of ${width} × ${height} cannot be drawn here; at most ${most} pixels a side can.`, false);
}

function postprocessing(stage: Stage, picture: Picture, plain: boolean): PostprocessingProps {
    const { postprocessing: own } = stage.canvas3d.props;
    const off = { name: 'off' as const, params: {} };
    const occlusion = picture.ambientOcclusion ?? own.occlusion.name === 'on';
    const outline = picture.outline ?? own.outline.name === 'on';
    const scale = Math.min(MAX_OUTLINE,
        Math.max(1, Math.round(Math.hypot(picture.widthPixels, picture.heightPixels) / 2 / PIXELS_PER_OUTLINE)));
    const occlusionParams = { ...OCCLUSION, ...own.occlusion.params, samples: OCCLUSION_SAMPLES };
    const outlineParams = { ...OUTLINE, ...own.outline.params, scale };
    // The types of these settings do not fit themselves: all of their members are there.
    return {
        ...own,
        occlusion: occlusion && !plain ? { name: 'on', params: occlusionParams } : off,
        outline: outline && !plain ? { name: 'on', params: outlineParams } : off,
        shadow: plain ? off : own.shadow,
        dof: plain ? off : own.dof,
        bloom: plain ? off : own.bloom,
        antialiasing: off, // the jittered views do this better
    } as PostprocessingProps;
}

function hasGeometry(stage: Stage): boolean {
    return stage.canvas3d.getRenderObjects().some(({ state, values }: any) =>
        state.visible && values.drawCount?.ref.value > 0 && values.instanceCount?.ref.value > 0 &&
            (values.uAlpha?.ref.value ?? 1) > 0);
}

function blank(image: ImageData): boolean {
    const pixels = new Uint32Array(image.data.buffer);
    const first = pixels[0];
    return pixels.every(pixel => pixel === first);
}
