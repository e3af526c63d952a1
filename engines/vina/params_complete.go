package vina

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/sortedjson"
)

var (
	_ engines.Completer = (*Params)(nil)
	_ engines.FileNamer = (*Params)(nil)
)

// Complete fills in the defaults of ligands, and of a docking those of its objects. Of a job of another simulator they
// are filled in where the objects stand.
func (p *Params) Complete(simulator string) {
	if p.LigandIdentity != nil {
		p.LigandIdentity = ref(p.LigandIdentity.Completed())
	}
	p.LigandLibrary = slices.Clone(p.LigandLibrary)
	for i, ligand := range p.LigandLibrary {
		p.LigandLibrary[i] = ligand.Completed()
	}
	docks := simulator == ID
	if p.ReceptorPreparation != nil || docks {
		p.ReceptorPreparation = ref(p.ReceptorPreparation.Completed())
	}
	if p.DockingExecution != nil || docks {
		p.DockingExecution = ref(p.DockingExecution.Completed())
	}
	if p.DockingReport != nil || docks {
		p.DockingReport = ref(p.DockingReport.Completed())
	}
}

// NamedFiles lists the receptor, the ligands and what else is given as a file.
func (p *Params) NamedFiles() []engines.NamedFile {
	var files []engines.NamedFile
	add := func(path string, a *mol.ArtifactReference) {
		if a != nil {
			files = append(files, engines.NamedFile{Path: path, Object: objectOf(*a)})
		}
	}
	add(fieldReceptorArtifact, p.ReceptorArtifact)
	add(fieldBoxLigand, p.BoxLigandArtifact)
	p.eachLigand(func(path func() string, ligand *mol.LigandEntry) {
		if ligand.Source.Artifact != nil {
			add(path()+".source.artifact", &ligand.Source.Artifact.Artifact)
		}
	})
	if p.DockingExecution != nil && p.DockingExecution.PreparedReceptor != nil {
		add(fieldPrepared+".artifact", p.DockingExecution.PreparedReceptor.Artifact)
	}
	return files
}

// eachLigand visits the ligands of a request with their places; few of 10,000 are named by them.
func (p *Params) eachLigand(visit func(path func() string, ligand *mol.LigandEntry)) {
	if p.LigandIdentity != nil {
		visit(func() string { return "ligandIdentity" }, p.LigandIdentity)
	}
	for i := range p.LigandLibrary {
		visit(func() string { return fmt.Sprintf("ligandLibrary[%d]", i) }, &p.LigandLibrary[i])
	}
}

// TakeLarge takes the library out of the parameters, which may be most of a request, and writes it as JSON with sorted
// members: those of a ligand are declared in their order.
func (p *Params) TakeLarge() (name string, text json.RawMessage, err error) {
	library := p.LigandLibrary
	p.LigandLibrary = nil
	if len(library) == 0 {
		return "", nil, nil
	}
	text, err = sortedjson.EncodeList(library)
	return "ligandLibrary", text, err
}

func ref[T any](value T) *T { return &value }
