// Where the camera stands: for a plain structure such that the whole of it fills the picture, around the target for a turntable.

import type { Camera } from 'molstar/lib/mol-canvas3d/camera';
import { Mat3, Quat, Vec3 } from 'molstar/lib/mol-math/linear-algebra';
import { PrincipalAxes } from 'molstar/lib/mol-math/linear-algebra/matrix/principal-axes';
import { Structure, StructureElement, StructureProperties, Unit } from 'molstar/lib/mol-model/structure';
import { extentOf, type Extent } from './extent';
import { settle, type Stage } from './plugin';

// Part of the picture's width and height that stays free on each side.
const MARGIN = 0.05, TURN_MARGIN = 0.02;
// What is drawn is wider than the centres of its atoms: half a ribbon, or a ball.
const CARTOON_RADIUS_ANGSTROM = 2, BALL_RADIUS_ANGSTROM = 0.6;

/** Looks at a structure along its shortest axis, its longest one across the longer side of the picture, and fills the
 *  picture with it. */
export function frameWhole(stage: Stage, structure: Structure, cartoon: boolean): void {
    const atoms = positions(structure, cartoon);
    if (atoms.length === 0) return;
    const { camera } = stage.canvas3d;
    const wide = camera.viewport.width >= camera.viewport.height;
    const basis = laid(atoms, wide);
    const { center, distance, radius } = fit(atoms, cartoon ? CARTOON_RADIUS_ANGSTROM : BALL_RADIUS_ANGSTROM, basis, camera);
    const position = Vec3.scaleAndAdd(Vec3(), center, basis[2], distance);
    setCamera(stage, { position, target: center, up: basis[1], radius });
}

/** Right, up and towards the viewer, such that the longest extent of the atoms lies across the longer side of the picture. */
function laid(atoms: number[], wide: boolean): [Vec3, Vec3, Vec3] {
    const { dirA, dirB } = PrincipalAxes.calculateMomentsAxes(atoms);
    const long = normalized(dirA, Vec3.create(1, 0, 0));
    // Atoms in a line or at one place have no second axis.
    const spare = Math.abs(long[0]) < 0.9 ? Vec3.create(1, 0, 0) : Vec3.create(0, 1, 0);
    const short = normalized(Vec3.cross(Vec3(), Vec3.cross(Vec3(), long, normalized(dirB, spare)), long),
        Vec3.orthogonalize(Vec3(), long, spare));
    const [right, up] = wide ? [long, short] : [Vec3.negate(Vec3(), short), long];
    return [right, up, Vec3.cross(Vec3(), right, up)];
}

function normalized(vector: Vec3, otherwise: Vec3): Vec3 {
    const length = Vec3.magnitude(vector);
    return length > 1e-6 ? Vec3.scale(Vec3(), vector, 1 / length) : Vec3.normalize(Vec3(), otherwise);
}

/** The nearest camera, straight before the middle of the box, that sees every atom. */
function fit(atoms: number[], atomRadius: number, basis: readonly [Vec3, Vec3, Vec3], camera: Camera) {
    const tall = Math.tan(camera.state.fov / 2) * (1 - 2 * MARGIN);
    const wide = tall * camera.viewport.width / camera.viewport.height;
    const least = [Infinity, Infinity, Infinity], most = [-Infinity, -Infinity, -Infinity];
    const atom = Vec3();
    for (let i = 0; i < atoms.length; i += 3) {
        Vec3.fromArray(atom, atoms, i);
        basis.forEach((axis, k) => {
            const along = Vec3.dot(atom, axis);
            least[k] = Math.min(least[k], along);
            most[k] = Math.max(most[k], along);
        });
    }
    const center = Vec3();
    basis.forEach((axis, k) => Vec3.scaleAndAdd(center, center, axis, (least[k] + most[k]) / 2));
    let distance = 0, radius = 0;
    for (let i = 0; i < atoms.length; i += 3) {
        Vec3.sub(atom, Vec3.fromArray(atom, atoms, i), center);
        const [x, y, z] = basis.map(axis => Vec3.dot(atom, axis));
        const side = Math.max((Math.abs(x) + atomRadius) / wide, (Math.abs(y) + atomRadius) / tall);
        distance = Math.max(distance, z + atomRadius + side);
        radius = Math.max(radius, Vec3.magnitude(atom) + 2 * atomRadius);
    }
    return { center, distance, radius };
}

/** Coordinates in Å, three numbers each, of what is drawn: the trace of a cartoon, and all atoms of everything else. */
function positions(structure: Structure, cartoon: boolean): number[] {
    const found: number[] = [];
    const place = Vec3();
    for (const unit of structure.units) {
        if (unit.elements.length === 0) continue;
        const type = StructureProperties.entity.type(StructureElement.Location.create(structure, unit, unit.elements[0]));
        if (cartoon && type === 'water') continue;
        const elements = cartoon && type === 'polymer' && Unit.isAtomic(unit) ? unit.polymerElements : unit.elements;
        for (let i = 0; i < elements.length; i++) {
            unit.conformation.position(elements[i], place);
            found.push(place[0], place[1], place[2]);
        }
    }
    return found;
}

export function setCamera(stage: Stage, snapshot: Partial<Camera.Snapshot>): void {
    stage.canvas3d.requestCameraReset({ snapshot, durationMs: 0 });
    settle(stage);
}

/** Where a camera stands for a turn about its target, the axis up through it: as far back along its view as is needed for every
 * frame to hold what is shown. A camera whose own picture cuts something off is a close-up, and stays. */
export function fitTurn(stage: Stage, camera: Camera.Snapshot): Partial<Camera.Snapshot> {
    const extent = extentOf(stage);
    const { width, height } = stage.canvas3d.camera.viewport;
    const half = Math.tan(camera.fov / 2);
    const eye = Vec3.sub(Vec3(), camera.position, camera.target), distance = Vec3.magnitude(eye);
    const back = Vec3.normalize(Vec3(), eye), up = Vec3.orthogonalize(Vec3(), back, camera.up);
    const right = Vec3.cross(Vec3(), up, back);
    const perspective = camera.mode === 'perspective';
    if (!holds(extent, [right, up, back], camera.target, distance, half * width / height, half, perspective)) return {};
    const tall = half * (1 - 2 * TURN_MARGIN), wide = tall * width / height;
    let needed = distance;
    const place = Vec3();
    for (let i = 0; i < extent.length; i += 4) {
        Vec3.sub(place, Vec3.fromArray(place, extent, i), camera.target);
        const reach = extent[i + 3], high = Math.abs(Vec3.dot(place, up)) + reach;
        const around = Math.sqrt(Math.max(Vec3.squaredMagnitude(place) - Vec3.dot(place, up) ** 2, 0));
        // What goes round at a distance looks widest where the line of sight touches its circle, and tallest where it is nearest.
        const across = perspective ? around * Math.sqrt(1 + 1 / wide ** 2) + reach * (1 + 1 / wide) : (around + reach) / wide;
        needed = Math.max(needed, across, perspective ? around + reach + high / tall : high / tall);
    }
    return { position: Vec3.scaleAndAdd(Vec3(), camera.target, back, needed) };
}

/** Whether a picture holds the middle of everything that is shown. */
function holds(extent: Extent, basis: Vec3[], target: Vec3, distance: number, wide: number, tall: number,
    perspective: boolean): boolean {
    const place = Vec3();
    for (let i = 0; i < extent.length; i += 4) {
        Vec3.sub(place, Vec3.fromArray(place, extent, i), target);
        const [x, y, z] = basis.map(axis => Vec3.dot(place, axis));
        const depth = perspective ? distance - z : distance;
        if (Math.abs(x) > wide * depth || Math.abs(y) > tall * depth) return false;
    }
    return true;
}

/** A camera turned by an angle in radians about its target. The axis is in the camera's space: right, up, towards the viewer. */
export function turned(camera: Camera.Snapshot, axis: readonly number[], angle: number): Partial<Camera.Snapshot> {
    const eye = Vec3.sub(Vec3(), camera.position, camera.target);
    const back = Vec3.normalize(Vec3(), eye), up = Vec3.normalize(Vec3(), camera.up);
    const side = Vec3.normalize(Vec3(), Vec3.cross(Vec3(), up, back));
    const straightUp = Vec3.cross(Vec3(), back, side);
    const about = Vec3.transformMat3(Vec3(), Vec3.create(axis[0], axis[1], axis[2]),
        Mat3.fromColumns(Mat3(), side, straightUp, back));
    const rotation = Quat.setAxisAngle(Quat(), Vec3.normalize(about, about), angle);
    return {
        position: Vec3.add(Vec3(), camera.target, Vec3.transformQuat(Vec3(), eye, rotation)),
        up: Vec3.transformQuat(Vec3(), straightUp, rotation),
    };
}
