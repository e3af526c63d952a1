package vina

import (
	"encoding/json"
	"sync"

	"github.com/molfabric/molfabric/internal/coordinates"
)

// Classes of what a receptor's file holds beside its chains. Those of components are in components.json, which the preparation
// reads too.
const (
	classCofactor = "cofactor"
	classMetal    = "metal"
	classAdditive = "additive"
	classSugar    = "sugar"
	classModified = "modified" // an amino acid or nucleotide of a chain that is no standard one
	classWater    = "water"
	classLigand   = "ligand" // every other small molecule
)

// componentsFile is the table of components beside the programs.
const componentsFile = "programs/components.json"

// listedComponent is a component of the table.
type listedComponent struct {
	Class string `json:"class"`
	Name  string `json:"name"`
}

// listedComponents reads the table, which is part of the program: a test reads it.
var listedComponents = sync.OnceValue(func() map[string]listedComponent {
	text, err := programs.ReadFile(componentsFile)
	table := map[string]listedComponent{}
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		panic(err)
	}
	return table
})

// classOf says what a residue is that is no part of a chain; what the table does not know is a ligand, or a metal when it is an
// atom of one.
func classOf(r coordinates.Residue) string {
	switch class := listedComponents()[r.Name].Class; {
	case coordinates.IsMetal(r.Element) && (class == classMetal || class == ""):
		return classMetal
	case class == classCofactor || class == classAdditive || class == classSugar:
		return class
	}
	return classLigand
}

// isPartOfChain tells whether a residue is one of a protein or nucleic acid. A free amino acid is a molecule of its own.
func isPartOfChain(r coordinates.Residue) bool {
	if r.Member {
		class := listedComponents()[r.Name].Class
		return coordinates.IsStandard(r.Name) || class != classAdditive && class != classSugar
	}
	return coordinates.IsStandard(r.Name) && !r.Het
}

// nameOf is a component's name for people, or "".
func nameOf(component string) string { return listedComponents()[component].Name }
