// Hands the geometry, the camera and the labels of a frame to a ray tracer.

import { GlbExporter } from 'molstar/lib/extensions/geo-export/glb-exporter';
import type { GraphicsRenderObject } from 'molstar/lib/mol-gl/render-object';
import { Box3D } from 'molstar/lib/mol-math/geometry';
import { Structure, StructureElement, StructureProperties, Unit } from 'molstar/lib/mol-model/structure';
import { PluginStateObject } from 'molstar/lib/mol-plugin-state/objects';
import { Task } from 'molstar/lib/mol-task';
import { ValueCell } from 'molstar/lib/mol-util';
import { Color } from 'molstar/lib/mol-util/color';
import { Camera } from 'molstar/lib/mol-canvas3d/camera';
import { Viewport } from 'molstar/lib/mol-canvas3d/camera/util';
import type { Answer } from './channel';
import { drawLabels, setDepthCue, type Picture } from './picture';
import type { Stage } from './plugin';

export interface ExportCommand {
    picture: Picture;
    model: boolean; // whether the geometry is asked for; camera and labels always are
}

/** What a node of the model shows. */
interface Representation {
    mesh: string;
    type: string;
    component: string;
    opacity: number;
    clip: Clip[];
}

/** A region that is cut away: what lies in it, or outside of it where it is inverted. Of a plane it is the side that its normal,
 * the y axis as the rotation turns it, points to. transform is applied to a place before it is looked at. */
interface Clip {
    type: string;
    invert: boolean;
    position: number[];
    rotation: number[]; // a quaternion, x y z w
    scale: number[]; // whole extents
    transform: number[]; // by column
    whole: boolean; // an object is left out whole when its middle lies there, and nothing is cut
}

const CLIPS = ['none', 'plane', 'sphere', 'box', 'cylinder', 'cone'];

// Names of the engine's representations, where they differ from those of scenes.
const TYPES: Record<string, string> = {
    'ball-and-stick': 'ball_and_stick', 'gaussian-surface': 'surface', 'molecular-surface': 'surface', 'gaussian-volume': 'surface',
    'label': 'label', 'putty': 'cartoon', 'backbone': 'backbone', 'point': 'line',
};

export async function exportFrame(stage: Stage, command: ExportCommand): Promise<Answer> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    setDepthCue(stage, command.picture);
    const { postprocessing } = stage.canvas3d.props;
    const document: Record<string, unknown> = {
        occlusion: command.picture.ambientOcclusion ?? postprocessing.occlusion.name === 'on',
        camera: cameraOf(stage, command.picture),
        background: Color.toHexStyle(stage.canvas3d.props.renderer.backgroundColor),
        modelBytes: 0,
        labelBytes: 0,
    };
    if (command.model) {
        const { glb, representations, translation } = await exportModel(stage);
        Object.assign(document, { representations, translation, modelBytes: glb.byteLength });
        parts.push(glb);
    }
    const labels = await drawLabels(stage, command.picture);
    if (labels) {
        document.labelBytes = labels.data.byteLength;
        parts.push(new Uint8Array(labels.data.buffer) as Uint8Array<ArrayBuffer>);
    }
    return { document, bytes: joined(parts) };
}

function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
    let offset = 0;
    for (const part of parts) {
        whole.set(part, offset);
        offset += part.byteLength;
    }
    return whole;
}

/** The camera in Å, with the planes that it has in a picture of the asked shape. */
function cameraOf(stage: Stage, picture: Picture): Record<string, unknown> {
    const camera = new Camera(stage.canvas3d.camera.getSnapshot());
    Viewport.set(camera.viewport, 0, 0, picture.widthPixels, picture.heightPixels);
    camera.update();
    const { state } = camera;
    return {
        position: [...state.position], target: [...state.target], up: [...state.up],
        fovYRadians: state.fov, mode: state.mode, near: camera.near, far: camera.far,
        fog: state.fog > 0 ? { near: camera.fogNear, far: camera.fogFar } : null,
    };
}

async function exportModel(stage: Stage) {
    const exporter = new NamedExporter(Box3D.fromSphere3D(Box3D(), stage.canvas3d.boundingSphereVisible));
    const representations: Representation[] = [];
    const { webgl } = stage.canvas3d;
    for (const { type, component, objects } of drawn(stage)) {
        for (const object of objects) {
            for (const mesh of await stage.plugin.runTask(Task.create('Export',
                context => exporter.addNamed(object, webgl, context)))) {
                representations.push({ mesh, type, component, opacity: object.values.uAlpha.ref.value, clip: clipsOf(object) });
            }
        }
    }
    const { glb } = await exporter.getData();
    return { glb: glb as Uint8Array<ArrayBuffer>, representations, translation: exporter.translation };
}

/** The regions that are cut away from an object. */
function clipsOf(object: GraphicsRenderObject): Clip[] {
    const { values } = object as any;
    const whole = values.dClipVariant.ref.value === 'instance';
    const of = (name: string, i: number, width: number): number[] => [...values[name].ref.value.slice(i * width, (i + 1) * width)];
    return Array.from({ length: values.dClipObjectCount.ref.value }, (_, i) => ({
        type: CLIPS[values.uClipObjectType.ref.value[i]], invert: !!values.uClipObjectInvert.ref.value[i],
        position: of('uClipObjectPosition', i, 3), rotation: of('uClipObjectRotation', i, 4), scale: of('uClipObjectScale', i, 3),
        transform: of('uClipObjectTransform', i, 16), whole,
    }));
}

function drawn(stage: Stage): { type: string; component: string; objects: GraphicsRenderObject[] }[] {
    const found = [];
    for (const cell of stage.plugin.state.data.cells.values()) {
        if (!cell.obj || cell.state.isHidden || !PluginStateObject.isRepresentation3D(cell.obj)) continue;
        const name = cell.transform.params?.type?.name ?? 'other';
        const source = cell.obj.data.sourceData;
        found.push({
            type: TYPES[name] ?? String(name).replaceAll('-', '_'),
            component: source instanceof Structure ? componentOf(source) : 'other',
            objects: cell.obj.data.repr.renderObjects
                .filter((object: GraphicsRenderObject) => object.type !== 'text') as GraphicsRenderObject[],
        });
    }
    return found;
}

/** What most atoms of a structure are: polymer, ligand, ion, carbohydrate or water. */
function componentOf(structure: Structure): string {
    const atoms = new Map<string, number>();
    for (const unit of structure.units) {
        if (unit.elements.length === 0) continue;
        const location = StructureElement.Location.create(structure, unit, unit.elements[0]);
        const type = StructureProperties.entity.type(location);
        const name = type === 'branched' ? 'carbohydrate' : type === 'non-polymer' ? small(unit) : type;
        atoms.set(name, (atoms.get(name) ?? 0) + unit.elements.length);
    }
    const [most] = [...atoms].sort((a, b) => b[1] - a[1]);
    return most?.[0] ?? 'other';
}

function small(unit: Unit): string {
    if (!Unit.isAtomic(unit)) return 'ligand';
    const residues = new Set(Array.from({ length: unit.elements.length }, (_, i) => unit.residueIndex[unit.elements[i]]));
    return residues.size === unit.elements.length ? 'ion' : 'ligand';
}

/** The engine's exporter with a name for each node, by which a reader knows what it shows. */
class NamedExporter extends GlbExporter {
    private get named(): { name?: string; mesh: number; matrix: number[] }[] {
        return (this as any).nodes;
    }

    /** From the scene's coordinates to the model's, whose middle is its origin. */
    get translation(): number[] {
        return [...(this as any).centerTransform.slice(12, 15)];
    }

    async addNamed(object: GraphicsRenderObject, webgl: any, context: any): Promise<string[]> {
        const before = this.named.length;
        await this.add(counted(object), webgl, context);
        return this.named.slice(before).map((node, i) => node.name = `object-${object.id}-${i}`);
    }
}

/** The engine's exporter counts the spheres of all instances as those of each of them, and would read beyond their end. */
function counted(object: GraphicsRenderObject): GraphicsRenderObject {
    const { values } = object as any;
    const instances = values.instanceCount.ref.value;
    if (object.type !== 'spheres' || instances < 2) return object;
    return { ...object, values: { ...values, uVertexCount: ValueCell.create(values.uVertexCount.ref.value / instances) } } as any;
}
