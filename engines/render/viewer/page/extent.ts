// Where what is shown lies: places with how far it reaches around each.

import { Structure, Unit } from 'molstar/lib/mol-model/structure';
import { PluginStateObject } from 'molstar/lib/mol-plugin-state/objects';
import type { Stage } from './plugin';

/** Four numbers for each place, in Å: its coordinates, and how far what is drawn reaches around it. */
export type Extent = number[];

// What is drawn around the centres of atoms: half a ribbon, half a stick or a ball; of other kinds the largest atom and a probe.
const REACH_ANGSTROM: Record<string, number> = { cartoon: 2, backbone: 1, 'ball-and-stick': 0.7, line: 0.2, label: 0 };
const OTHER_REACH_ANGSTROM = 3.5;

/** All that is shown: the atoms of structures, and of other shapes the sphere that holds them. */
export function extentOf(stage: Stage): Extent {
    const extent: Extent = [];
    for (const cell of stage.plugin.state.data.cells.values()) {
        if (!cell.obj || cell.state.isHidden || !PluginStateObject.isRepresentation3D(cell.obj)) continue;
        const { sourceData, repr } = cell.obj.data;
        const kind = cell.transform.params?.type?.name;
        if (sourceData instanceof Structure) addAtoms(extent, sourceData, kind);
        else if (kind !== 'label') addSpheres(extent, repr.renderObjects);
    }
    return extent;
}

function addAtoms(extent: Extent, structure: Structure, kind: string): void {
    const place = [0, 0, 0] as any, reach = REACH_ANGSTROM[kind] ?? OTHER_REACH_ANGSTROM;
    for (const unit of structure.units) {
        // A cartoon follows the trace; side chains are no part of it.
        const traced = kind === 'cartoon' && Unit.isAtomic(unit) && unit.polymerElements.length > 0;
        const elements = traced ? unit.polymerElements : unit.elements;
        for (let i = 0; i < elements.length; i++) {
            unit.conformation.position(elements[i], place);
            extent.push(place[0], place[1], place[2], reach);
        }
    }
}

function addSpheres(extent: Extent, objects: readonly any[]): void {
    for (const { type, values } of objects) {
        const { center, radius } = values.boundingSphere.ref.value;
        if (type !== 'text' && radius > 0) extent.push(center[0], center[1], center[2], radius);
    }
}
