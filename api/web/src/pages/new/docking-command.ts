// The docking of a draft as a command line.

import { type DockingDraft, ligandsOf, pdbIdForm, words } from './docking-draft'
import { type Ligand, smilesProblem } from './ligands'
import { commandLine } from './shell-word'

/** More ligands than this are a file on the command line. */
const mostFlags = 6

export function dockingCommand(draft: DockingDraft): string | undefined {
  const receptor = draft.receptor === 'pdb' ? draft.pdbId.toUpperCase() : draft.file?.name
  if (!receptor || (draft.receptor === 'pdb' && !pdbIdForm.test(receptor))) return undefined
  const flags: string[][] = []
  const flag = (name: string, value: string) => {
    if (value.trim() !== '') flags.push([name, value.trim()])
  }
  flag('--chains', words(draft.chains).join(','))
  flag('--waters', draft.waters === 'none' ? '' : draft.waters)
  for (const name of words(draft.keep.toUpperCase())) flag('--keep', name)
  for (const name of words(draft.remove.toUpperCase())) flag('--remove', name)
  if (draft.site === 'pocket') flag('--box', 'pocket')
  if (draft.site === 'ligand') flag('--pocket-ligand', draft.siteLigand)
  if (draft.site === 'residues') flag('--pocket-residues', words(draft.residues).join(','))
  if (draft.site === 'numbers') flag('--box', draft.numbers.join(','))
  if (draft.redock) {
    flags.push(['--redock'])
    flag('--gate', draft.gate)
  }
  const { ligands } = ligandsOf(draft)
  const written = ligands.filter((ligand) => ligand.kind === 'smiles')
  if (written.length <= mostFlags) for (const ligand of written) flag('--ligand', ligandFlag(ligand))
  else flag('--ligands', 'ligands.smi')
  for (const one of draft.components) flag('--ligand', `${one.label}=ccd:${one.componentId}`)
  for (const from of new Set(draft.files.map((file) => file.from))) flag(from.endsWith('.sdf') ? '--ligands' : '--ligand-file', from)
  flag('--exhaustiveness', draft.exhaustiveness === 'auto' ? '' : draft.exhaustiveness)
  flag('--num-modes', draft.numModes)
  flag('--seed', draft.seed)
  flag('--rank-by', draft.rankBy)
  flag('--picture', draft.picture === 'molstar' ? '' : draft.picture)
  if (draft.noReuse) flags.push(['--no-reuse'])
  flag('--name', draft.name)
  const line = commandLine(['molfabric', 'dock', receptor], flags)
  return written.length > mostFlags ? `# ligands.smi holds the ${written.length} lines of SMILES and names above\n${line}` : line
}

/** NAME=SMILES; a name that could be a SMILES stands apart from the sign, so that it is read as a name. */
function ligandFlag(ligand: Extract<Ligand, { kind: 'smiles' }>): string {
  return smilesProblem(ligand.label) ? `${ligand.label}=${ligand.smiles}` : `${ligand.label} = ${ligand.smiles}`
}
