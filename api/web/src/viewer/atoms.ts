// From what is seen to names of atoms, and from names of atoms to what is seen.

import { rowsToExpression } from 'molstar/lib/extensions/mvs/helpers/selections.js'
import { EmptyLoci, type Loci } from 'molstar/lib/mol-model/loci.js'
import { StructureElement, StructureProperties as Properties, type Structure } from 'molstar/lib/mol-model/structure.js'
import { PluginStateObject } from 'molstar/lib/mol-plugin-state/objects.js'
import type { PluginContext } from 'molstar/lib/mol-plugin/context.js'
import type { Picked, Selector } from './types'

const refTag = 'mvs-ref:'

interface Named {
  ref: string | undefined
  structure: Structure
}

/** The whole structures that are on the stage, with the names that the scene gave them. */
function structures(plugin: PluginContext): Named[] {
  const found: Named[] = []
  for (const cell of plugin.state.data.cells.values()) {
    if (!cell.obj || !PluginStateObject.Molecule.Structure.is(cell.obj) || cell.obj.data.root !== cell.obj.data) continue
    const tag = cell.transform.tags?.find((one) => one.startsWith(refTag))
    const structure = cell.obj.data
    const known = found.find((one) => one.structure === structure)
    if (known) known.ref ??= tag?.slice(refTag.length)
    else found.push({ ref: tag?.slice(refTag.length), structure })
  }
  return found
}

/** The atoms that selectors mean, one loci a structure. */
export function lociOf(plugin: PluginContext, selectors: Selector[]): Loci[] {
  const found: Loci[] = []
  for (const { ref, structure } of structures(plugin)) {
    const rows = selectors
      .filter((one) => one.structure === undefined || one.structure === ref)
      .map(({ structure: _, ...row }) => row)
    if (rows.length === 0) continue
    const loci = StructureElement.Loci.fromExpression(structure, rowsToExpression(rows))
    if (!StructureElement.Loci.isEmpty(loci)) found.push(loci)
  }
  return found
}

/** The first atom of what was clicked; undefined for the ground and for shapes. */
export function pickedOf(plugin: PluginContext, loci: Loci): Picked | undefined {
  if (loci === EmptyLoci || !StructureElement.Loci.is(loci) || StructureElement.Loci.isEmpty(loci)) return undefined
  const location = StructureElement.Loci.getFirstLocation(loci)
  if (!location) return undefined
  return {
    structure: structures(plugin).find((one) => one.structure.root === location.structure.root)?.ref,
    chain: Properties.chain.auth_asym_id(location),
    residue: Properties.residue.auth_seq_id(location),
    insertionCode: Properties.residue.pdbx_PDB_ins_code(location),
    residueName: Properties.atom.auth_comp_id(location),
    atomName: Properties.atom.auth_atom_id(location),
  }
}
