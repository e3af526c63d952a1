// Opens a scene document or a plain structure, and fails when any part of it could not be loaded.

import { loadMVS } from 'molstar/lib/extensions/mvs/load';
import { loadMVSX } from 'molstar/lib/extensions/mvs/components/formats';
import { MVSData } from 'molstar/lib/extensions/mvs/mvs-data';
import { Task } from 'molstar/lib/mol-task';
import { Failure } from './channel';
import { type Animation, setAspect, settle, type Stage } from './plugin';
import { showStructure } from './structure';

export interface LoadCommand {
    file: string; // address of the scene
    format: string;
    references: Record<string, string>; // reference as the scene has it → address of the file that it means
    animation: Animation;
    widthPixels: number;
    heightPixels: number;
}

// Transitions are worked out for every moment when a scene is loaded; more than these would fill the memory first.
const MAX_TRANSITION_FRAMES = 36_000;
const MAX_NAMED_FAILURES = 10;

export async function loadScene(stage: Stage, command: LoadCommand): Promise<Record<string, unknown>> {
    setAspect(stage, command.widthPixels, command.heightPixels);
    stage.animation = command.animation;
    const content = new Uint8Array(await (await fetch(command.file)).arrayBuffer());
    if (command.format === 'mvsj') {
        await loadStates(stage, parse(new TextDecoder().decode(content)), command, undefined);
    } else if (command.format === 'mvsx') {
        const archive = await stage.plugin.runTask(Task.create('Open archive', context => loadMVSX(stage.plugin, context, content)))
            .catch(error => { throw new Failure('SCENE_UNREADABLE', `The archive cannot be read: ${text(error)}.`); });
        await loadStates(stage, archive.mvsData, command, archive.sourceUrl);
    } else {
        await showStructure(stage, command.file, command.format);
    }
    check(stage, command);
    settle(stage);
    return { states: Math.max(stage.snapshots.length, 1), renderer: rendererName(stage) };
}

function parse(document: string): MVSData {
    try {
        return MVSData.fromMVSJ(document);
    } catch (error) {
        throw new Failure('SCENE_UNREADABLE', `The scene cannot be read: ${text(error)}.`);
    }
}

async function loadStates(stage: Stage, data: MVSData, command: LoadCommand, archive: string | undefined): Promise<void> {
    const states: any[] = data.kind === 'multiple' ? data.snapshots : [data];
    for (const state of states) {
        checkTransitions(state.animation);
        resolve(stage, state.root, command.references, archive);
    }
    try {
        await loadMVS(stage.plugin, data, { sanityChecks: true, sourceUrl: archive, doNotReportErrors: true });
    } catch (error) {
        check(stage, command);
        throw new Failure('SCENE_INVALID', `The scene cannot be shown: ${text(error)}`);
    }
    await stage.plugin.managers.animation.stop();
    stage.durationsMs = durations(states);
    stage.snapshots = stage.plugin.managers.snapshot.state.entries.toArray().map(entry => entry.snapshot);
    if (stage.snapshots.length === 0) throw new Failure('SCENE_EMPTY', 'The scene has no state to show.');
}

/** Puts the address of the job's own file in the place of every reference. One that means none of them is a failure. */
function resolve(stage: Stage, node: any, references: Record<string, string>, archive: string | undefined): void {
    for (const name of ['url', 'uri']) {
        const reference = node.params?.[name];
        if (typeof reference !== 'string') continue;
        if (Object.hasOwn(references, reference)) {
            node.params[name] = new URL(references[reference], location.href).href;
        } else if (!archive || !withinArchive(stage, reference, archive)) {
            throw new Failure('REFERENCE_MISSING', `The scene refers to "${reference}", which is no file of the job.`);
        }
    }
    for (const child of node.children ?? []) resolve(stage, child, references, archive);
}

function withinArchive(stage: Stage, reference: string, archive: string): boolean {
    const address = new URL(reference, archive).href;
    return stage.plugin.managers.asset.tryFindUrl(address) !== undefined;
}

/** How long each state is shown: what its metadata say, or where its animation ends, whichever is later. */
function durations(states: any[]): number[] {
    return states.map((state, i) => {
        const passing = i > 0 ? states[i - 1].metadata?.transition_duration_ms ?? 0 : 0;
        const { linger_duration_ms: linger, duration_ms: stated } = state.metadata ?? {};
        return Math.max((linger ?? 0) + passing, stated ?? 0, animationEnd(state.animation));
    });
}

function animationEnd(animation: any): number {
    if (!animation?.children?.length) return 0;
    const ends = animation.children.map((child: any) => (child.params?.start_ms ?? 0) + (child.params?.duration_ms ?? 0));
    return Math.max(animation.params?.duration_ms ?? 0, ...ends);
}

function checkTransitions(animation: any): void {
    const moments = animationEnd(animation) / (animation?.params?.frame_time_ms ?? 1000 / 60);
    if (!(moments <= MAX_TRANSITION_FRAMES)) {
        throw new Failure('SCENE_TOO_LONG',
            `An animation of the scene has ${Math.ceil(moments)} moments; at most ${MAX_TRANSITION_FRAMES} are allowed.`);
    }
}

/** Throws when any part of the scene has failed: a part that is missing must never become a picture without it. */
export function check(stage: Stage, command?: LoadCommand): void {
    const broken: string[] = [];
    for (const cell of stage.plugin.state.data.cells.values()) {
        if (cell.status !== 'error' || !cell.errorText || cell.errorText === 'Parent') continue;
        broken.push(`${named(cell, command)}: ${cell.errorText}`);
    }
    if (broken.length === 0) return;
    const listed = [...new Set(broken)].slice(0, MAX_NAMED_FAILURES).join('; ');
    throw new Failure('SCENE_INCOMPLETE', `Parts of the scene could not be loaded: ${listed}`);
}

function named(cell: any, command?: LoadCommand): string {
    const what = cell.transform.transformer.definition.display?.name ?? cell.transform.transformer.id;
    const given = cell.transform.params?.url;
    const address = typeof given === 'string' ? given : given?.url;
    if (!address) return what;
    const known = Object.entries(command?.references ?? {}).find(([, file]) => new URL(file, location.href).href === address);
    return `${what} "${known ? known[0] : address}"`;
}

function rendererName(stage: Stage): string {
    const gl = stage.canvas3d.webgl.gl;
    const info = gl.getExtension('WEBGL_debug_renderer_info');
    return info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : 'unknown';
}

function text(error: unknown): string {
    return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
}
