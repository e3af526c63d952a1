package vina

// unserved refuses the first member that is given and that this engine cannot serve, and says what to do instead. It returns an
// *engines.InvalidError.
func (p Params) unserved() error {
	const (
		asPrepared = "this deployment docks into the whole file that it is given; upload the receptor as it should be docked into, and leave the member out"
		asBox      = "this deployment does not lay a box around a pocket; give boxCenterAngstrom and boxSizeAngstrom instead"
	)
	for _, member := range []struct {
		given          bool
		field, instead string
	}{
		{p.ReceptorPDBID != nil, "receptorPdbId", "this deployment fetches no entries of the Protein Data Bank; upload the structure and give it as sceneFile or receptorArtifact"},
		{p.ReceptorAssemblyID != nil, "receptorAssemblyId", asPrepared},
		{p.ReceptorModel != nil, "receptorModel", asPrepared},
		{len(p.ReceptorChains) > 0, "receptorChains", asPrepared},
		{p.PocketLigand != nil, "pocketLigand", asBox},
		{p.PocketLigandChain != nil, "pocketLigandChain", asBox},
		{p.PocketLigandResidue != nil, "pocketLigandResidue", asBox},
		{len(p.PocketResidues) > 0, "pocketResidues", asBox},
		{p.DockingValidation != nil && p.DockingValidation.NativeReference != nil, "dockingValidation.nativeReference", "this deployment does not dock native ligands again; dock the ligand as one of the library and compare the poses"},
		{p.DockingExecution != nil && p.DockingExecution.PreparedReceptor != nil, "dockingExecution.preparedReceptor", "this deployment prepares every receptor itself; give receptorArtifact and receptorPreparation"},
	} {
		if member.given {
			return invalid(member.field, "cannot be served: %s", member.instead)
		}
	}
	return nil
}
