// A SMILES as a picture: the one place that knows the library which draws structures.

import { CanvasEditor, Molecule } from 'openchemlib'

/** SVG text; undefined for a SMILES that is none. */
export function draw(smiles: string, width: number, height: number): string | undefined {
  try {
    const molecule = Molecule.fromSmiles(smiles)
    if (molecule.getAllAtoms() === 0) return undefined
    return molecule.toSVG(width, height, 'structure', {
      suppressChiralText: true,
      suppressESR: true,
      suppressCIPParity: true,
      noStereoProblem: true,
    })
  } catch {
    return undefined
  }
}

export interface StructureEditor {
  smiles(): string
  close(): void
}

/** Opens a drawing board in an element, which needs a size. */
export function openEditor(place: HTMLElement): StructureEditor {
  const editor = new CanvasEditor(place, { initialMode: 'molecule' })
  return {
    smiles() {
      const molecule = editor.getMolecule()
      return molecule.getAllAtoms() === 0 ? '' : molecule.toIsomericSmiles()
    },
    close: () => editor.destroy(),
  }
}
