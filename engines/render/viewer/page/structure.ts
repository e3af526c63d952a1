// The scene of a plain structure: polymers as cartoon, small molecules as ball and stick, ions, no water, framed as a whole.

import { Structure, StructureElement, StructureProperties, Unit } from 'molstar/lib/mol-model/structure';
import { Color } from 'molstar/lib/mol-util/color';
import { Download } from 'molstar/lib/mol-plugin-state/transforms/data';
import { ModelFromTrajectory } from 'molstar/lib/mol-plugin-state/transforms/model';
import { ModelSymmetry } from 'molstar/lib/mol-model-formats/structure/property/symmetry';
import { SecondaryStructureColors } from 'molstar/lib/mol-theme/color/secondary-structure';
import { frameWhole } from './camera';
import { Failure } from './channel';
import { settle, type Stage } from './plugin';

// Colours that readers with every kind of colour vision tell apart, after Okabe and Ito (2008), softened for large surfaces.
const CHAIN_COLORS = [0x5aa0d6, 0xf2b04c, 0xd58bbd, 0xe3d65c, 0xe07b45, 0x9ad0f0, 0x9aa0aa].map(Color);
const HELIX = Color(0x5aa0d6), SHEET = Color(0xf2b04c), COIL = Color(0xdde0e4), NUCLEIC = Color(0xd58bbd);
// Carbon of small molecules: unlike every chain, and unlike oxygen and nitrogen.
const LIGAND_CARBON = Color(0x2fae6b);
const BARE_CARBON = Color(0x8b9199);

// A peptide that is shorter has no fold that a cartoon would show.
const LEAST_CARTOON_RESIDUES = 8;
// Balls and sticks of more atoms hide each other; spheres of atoms are one object each and stay quick.
const MAX_BALL_AND_STICK_ATOMS = 20_000;
// An assembly is drawn when it is no larger; a virus capsid is shown as its asymmetric unit.
const MAX_ASSEMBLY_ATOMS = 250_000;

const FORMATS: Record<string, { name: string; isBinary: boolean }> = {
    mmcif: { name: 'mmcif', isBinary: false }, bcif: { name: 'mmcif', isBinary: true }, pdb: { name: 'pdb', isBinary: false },
    pdbqt: { name: 'pdbqt', isBinary: false }, sdf: { name: 'sdf', isBinary: false }, mol2: { name: 'mol2', isBinary: false },
    gro: { name: 'gro', isBinary: false }, xyz: { name: 'xyz', isBinary: false },
};

// Brighter than the engine's own light, which makes colours dull on white paper; distance fades only a little.
const LIGHT = {
    renderer: { backgroundColor: Color(0xffffff), ambientIntensity: 0.55, ambientColor: Color(0xffffff) },
    cameraFog: { name: 'on' as const, params: { intensity: 12 } },
};

type Component = { type: string; typeParams?: object; color: string; colorParams?: object };

export async function showStructure(stage: Stage, file: string, format: string): Promise<void> {
    const known = FORMATS[format];
    if (!known) throw new Failure('FORMAT_UNKNOWN', `The format ${format} is not known; ${Object.keys(FORMATS).join(', ')} are.`);
    const { builders } = stage.plugin;
    stage.snapshots = [];
    stage.canvas3d.setProps(LIGHT);
    const structure = await parseStructure(stage, new URL(file, location.href).href, known);
    const parts = await componentsOf(stage, structure.ref);
    if (Object.keys(parts).length === 0) parts.all = await builders.structure.tryCreateComponentStatic(structure.ref, 'all');
    for (const [name, component] of Object.entries(parts)) {
        if (!component?.obj) continue;
        const looks = look(name, component.obj.data as Structure, structure.data, !!parts.polymer);
        await builders.structure.representation.addRepresentation(component, looks as any, { tag: name });
    }
    settle(stage);
    frameWhole(stage, structure.data, structure.data.polymerResidueCount >= LEAST_CARTOON_RESIDUES);
}

/** Puts another of a structure's models, counted from 0, into the place of the one on the stage. The camera stays. */
export async function showModel(stage: Stage, modelIndex: number): Promise<void> {
    const { data } = stage.plugin.state;
    await data.build().to(stage.models.ref).update(ModelFromTrajectory, old => ({ ...old, modelIndex })).commit();
    settle(stage);
}

async function parseStructure(stage: Stage, url: string, format: { name: string; isBinary: boolean }) {
    try {
        return await firstModel(stage, url, format);
    } catch (error) {
        const said = [...stage.plugin.state.data.cells.values()].find(cell => cell.status === 'error' && cell.errorText)?.errorText;
        const reason = said ?? (error instanceof Failure ? error.message : 'no molecule was found in it');
        throw new Failure('STRUCTURE_UNREADABLE', `The structure cannot be read as ${format.name}: ${reason.replace(/\.$/, '')}.`);
    }
}

async function firstModel(stage: Stage, url: string, format: { name: string; isBinary: boolean }) {
    const { builders, state } = stage.plugin;
    const data = await state.data.build().toRoot().apply(Download, { url, isBinary: format.isBinary }).commit();
    const trajectory = await builders.structure.parseTrajectory(data, format.name as any);
    const model = await builders.structure.createModel(trajectory, { modelIndex: 0 });
    stage.models = { ref: model.ref, count: trajectory.data?.frameCount ?? 1 };
    const symmetry = model.data && ModelSymmetry.Provider.get(model.data);
    const deposited = { name: 'model' as const, params: {} };
    let structure = await builders.structure.createStructure(model, symmetry?.assemblies.length ? undefined : deposited);
    if (structure.data && structure.data.elementCount > MAX_ASSEMBLY_ATOMS && structure.data.units.length > 1) {
        await state.data.build().delete(structure.ref).commit();
        structure = await builders.structure.createStructure(model, deposited);
    }
    if (!structure.data || structure.data.elementCount === 0) throw new Failure('STRUCTURE_EMPTY', 'it holds no atoms');
    return { ref: structure, data: structure.data };
}

async function componentsOf(stage: Stage, structure: any): Promise<Record<string, any>> {
    const found: Record<string, any> = {};
    for (const name of ['polymer', 'ligand', 'branched', 'ion', 'lipid', 'coarse'] as const) {
        const component = await stage.plugin.builders.structure.tryCreateComponentStatic(structure, name);
        if (component) found[name] = component;
    }
    return found;
}

function look(name: string, part: Structure, whole: Structure, besidePolymer: boolean): Component {
    const elements = (carbon: Color) => ({
        color: 'element-symbol',
            colorParams: { carbonColor: { name: 'uniform', params: { value: carbon, saturation: 0, lightness: 0 } } },
    });
    if (name === 'polymer' && part.polymerResidueCount >= LEAST_CARTOON_RESIDUES) return { type: 'cartoon',
        typeParams: { quality: 'high' }, ...polymerColor(whole) };
    if (name === 'ion') return { type: 'spacefill', typeParams: { sizeFactor: 0.55 }, color: 'element-symbol' };
    if (name === 'coarse') return { type: 'spacefill', color: 'chain-id', colorParams: chainColors() };
    if (part.elementCount > MAX_BALL_AND_STICK_ATOMS) return { type: 'spacefill', ...elements(BARE_CARBON) };
    const sizes = besidePolymer ? { sizeFactor: 0.32, sizeAspectRatio: 0.73 } : { sizeFactor: 0.24, sizeAspectRatio: 0.6 };
    const hydrogens = besidePolymer ? { ignoreHydrogens: true, ignoreHydrogensVariant: 'non-polar' } : {};
    return { type: 'ball-and-stick', typeParams: { ...sizes, ...hydrogens, quality: 'high' },
        ...elements(besidePolymer ? LIGAND_CARBON : BARE_CARBON) };
}

function polymerColor(whole: Structure): Pick<Component, 'color' | 'colorParams'> {
    if (polymerChains(whole) > 1) return { color: 'chain-id', colorParams: chainColors() };
    const custom = {
        ...SecondaryStructureColors, alphaHelix: HELIX, threeTenHelix: HELIX, piHelix: HELIX, betaStrand: SHEET,
        betaTurn: COIL, coil: COIL, bend: COIL, turn: COIL, dna: NUCLEIC, rna: NUCLEIC,
    };
    return { color: 'secondary-structure',
        colorParams: { saturation: 0, lightness: 0, colors: { name: 'custom', params: custom } } };
}

function chainColors(): object {
    return { asymId: 'auth', palette: { name: 'colors', params: { list: { kind: 'set', colors: CHAIN_COLORS } } } };
}

function polymerChains(structure: Structure): number {
    const chains = new Set<string>();
    for (const unit of structure.units) {
        if (!Unit.isAtomic(unit) || unit.elements.length === 0) continue;
        const location = StructureElement.Location.create(structure, unit, unit.elements[0]);
        if (StructureProperties.entity.type(location) === 'polymer') chains.add(StructureProperties.chain.auth_asym_id(location));
    }
    return chains.size;
}
