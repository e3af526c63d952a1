package vina

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// Members of simulationParams that name something to be found.
const (
	fieldReceptorPDBID    = "receptorPdbId"
	fieldReceptorArtifact = "receptorArtifact"
	fieldBoxLigand        = "boxLigandArtifact"
	fieldPrepared         = "dockingExecution.preparedReceptor"
)

var _ engines.Wanter = Vina{}

// Wants lists the receptor's entry, what the receptor's file and those of the box's ligand and of an only ligand hold,
// the components that are named, and an earlier preparation of the receptor. A request that names neither a receptor nor
// anything to dock, and has no file, wants nothing.
func (Vina) Wants(r engines.Request) (engines.Wants, error) {
	p, err := paramsOfRequest(r)
	if err != nil || p.saysNothing() && r.SceneFile.ByteSize == 0 {
		return engines.Wants{}, err
	}
	receptor := p.receptorOf(r)
	wants := engines.Wants{
		Confirmations: p.wantedConfirmations(), Entries: p.wantedEntries(), Contents: p.wantedContents(receptor),
		Components: p.wantedComponents(r.Found.Contents[p.receptorField()].Structure),
	}
	wants.Preparation, err = p.wantedPreparation(receptor)
	return wants, err
}

func (p *Params) saysNothing() bool {
	return p.ReceptorPDBID == nil && p.ReceptorArtifact == nil &&
		p.LigandIdentity == nil && len(p.LigandLibrary) == 0 && p.DockingValidation == nil
}

// receptorOf is the file that is the receptor; zero for an entry that has not been found.
func (p *Params) receptorOf(r engines.Request) engines.Object {
	switch {
	case p.ReceptorPDBID != nil:
		return r.Found.Structures[strings.ToUpper(*p.ReceptorPDBID)]
	case p.ReceptorArtifact != nil:
		return objectOf(*p.ReceptorArtifact)
	}
	return r.SceneFile
}

func (p *Params) wantedConfirmations() []engines.WantedConfirmation {
	var wanted []engines.WantedConfirmation
	p.eachLigand(func(path func() string, ligand *mol.LigandEntry) {
		if ligand.Confirmation == nil {
			return
		}
		w := engines.WantedConfirmation{
			Path: path(), Token: ligand.Confirmation.Token, Query: ligand.Confirmation.Query,
			SourceID: ligand.Confirmation.SourceID,
		}
		switch {
		case ligand.Source.CCD != nil:
			w.ComponentID = ligand.Source.CCD.ComponentID
		case ligand.Source.SMILES != nil:
			w.SMILES = ligand.Source.SMILES.SMILES
		}
		wanted = append(wanted, w)
	})
	return wanted
}

func (p *Params) wantedEntries() []engines.WantedEntry {
	if p.ReceptorPDBID == nil || p.ReceptorArtifact != nil { // both: Plan refuses it
		return nil
	}
	return []engines.WantedEntry{{
		Path: fieldReceptorPDBID, ID: *p.ReceptorPDBID, Use: "a receptor",
		NoSource: "upload the entry and give it as receptorArtifact",
		TooLarge: "upload the part to dock into and give it as receptorArtifact",
	}}
}

// wantedContents leaves out files that are no receptor or ligand by their size or name: Plan refuses them.
func (p *Params) wantedContents(receptor engines.Object) []engines.WantedContent {
	var wanted []engines.WantedContent
	isText := !strings.EqualFold(path.Ext(receptor.StorageKey), ".bcif")
	if receptor.StorageKey != "" && receptor.ByteSize <= coordinates.MaxBytes && isText {
		wanted = append(wanted, engines.WantedContent{
			Path: p.receptorField(), File: receptor, As: engines.ReadStructure,
			Model: valueOr(p.ReceptorModel, 0), ModelPath: "receptorModel",
			Whose: "the receptor", IfEmpty: "give a PDB, mmCIF or PDBQT file with atoms",
		})
	}
	ligand := func(path string, a mol.ArtifactReference, as engines.Reading) {
		if a.ByteSize > 0 && a.ByteSize <= maxLigandBytes {
			wanted = append(wanted, engines.WantedContent{Path: path, File: objectOf(a), As: as, Whose: "the ligand"})
		}
	}
	if a := p.BoxLigandArtifact; a != nil {
		ligand(fieldBoxLigand, *a, engines.ReadMolecule)
	}
	// Those of a library fail by their own names, and the others are docked.
	field, only := "ligandIdentity", p.LigandIdentity
	if len(p.LigandLibrary) == 1 {
		field, only = "ligandLibrary[0]", &p.LigandLibrary[0]
	}
	if only != nil && only.Source.Artifact != nil {
		ligand(field+".source.artifact", only.Source.Artifact.Artifact, engines.ReadNothing)
	}
	return wanted
}

// ligandAdvice is for ligands that are given as components.
var ligandAdvice = &engines.ComponentAdvice{
	Unknown:     "look ligands up by name (POST /v1/molecular/docking/ligands/resolve), or give the ligand as smiles",
	NoStructure: "give the ligand as smiles or artifact",
	TooMany:     "give the other ligands as smiles, or cut the library",
}

// wantedComponents are the ligands, and what the receptor's preparation has to understand. receptor is nil where nobody
// has read it.
func (p *Params) wantedComponents(receptor *coordinates.Structure) []engines.WantedComponent {
	var wanted []engines.WantedComponent
	without := func(path, id string) {
		wanted = append(wanted, engines.WantedComponent{Path: path, ID: id})
	}
	if native := p.nativeComponent(receptor); native != "" {
		without("dockingValidation.redockBound", native)
	}
	if p.PocketLigand != nil {
		without("pocketLigand", *p.PocketLigand)
	}
	if v := p.DockingValidation; v != nil && v.NativeReference != nil {
		without("dockingValidation.nativeReference.componentId", v.NativeReference.ComponentID)
	}
	if p.ReceptorPreparation != nil {
		for i, id := range p.ReceptorPreparation.RetainComponents {
			without(fmt.Sprintf("receptorPreparation.retainComponents[%d]", i), id)
		}
	}
	p.eachLigand(func(path func() string, ligand *mol.LigandEntry) {
		if ccd := ligand.Source.CCD; ccd != nil {
			wanted = append(wanted, engines.WantedComponent{
				Path: path() + ".source.componentId", ID: ccd.ComponentID, Needed: ligandAdvice,
			})
		}
	})
	return wanted
}

// wantedPreparation is the one that the request names, or else any of the same receptor in the same way. A file that
// nobody has a digest of might be another one.
func (p *Params) wantedPreparation(receptor engines.Object) (*engines.WantedPreparation, error) {
	wanted := &engines.WantedPreparation{MainFile: outputReceptor}
	for _, file := range preparedFiles {
		wanted.Files = append(wanted.Files, file.output)
	}
	if e := p.DockingExecution; e != nil && e.PreparedReceptor != nil {
		asked := *e.PreparedReceptor
		wanted.Named = &engines.NamedPreparation{
			Path: fieldPrepared, CacheKey: asked.CacheKey, ReceptorIdentitySHA256: asked.ReceptorIdentitySHA256,
			PreparationSHA256: asked.PreparationSHA256, ToolchainSHA256: asked.ToolchainSHA256,
			WorkerImageDigest: asked.WorkerImageDigest,
		}
		if asked.Artifact != nil {
			wanted.Named.File = ref(objectOf(*asked.Artifact))
		}
		return wanted, nil
	}
	if receptor.SHA256 == "" {
		return nil, nil
	}
	var err error
	if wanted.Identity, err = json.Marshal(p.identityOf(receptor.SHA256)); err == nil {
		wanted.How, err = json.Marshal(p.preparationAsUsed())
	}
	if err != nil {
		return nil, fmt.Errorf("vina: writing a receptor's identity: %w", err)
	}
	return wanted, nil
}
