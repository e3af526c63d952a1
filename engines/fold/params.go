package fold

// Canonical simulator ids of doc/contract.md §1, which are the values of foldModel too.
const (
	IDESMFold   = "esmfold"
	IDAlphaFold = "alphafold"
)

// Params are the members of simulationParams that a structure prediction reads (doc/contract.md §2.2). The API embeds the struct,
// so its tags are the rules of the public contract. The seed is the member that every simulator shares.
type Params struct {
	Model     *string  `json:"foldModel,omitempty" enum:"esmfold,alphafold" doc:"The model that predicts; must be the simulator's own, and may be left out."`
	Models    *int     `json:"foldModels,omitempty" minimum:"1" maximum:"5" doc:"alphafold: how many of the five models predict each protein, the best ranked first; 5 when left out."`
	Recycles  *int     `json:"foldRecycles,omitempty" minimum:"0" maximum:"20" doc:"alphafold: passes after the first; 3 when left out."`
	Seeds     *int     `json:"foldSeeds,omitempty" minimum:"1" maximum:"8" doc:"alphafold: seeds that every model predicts with, from seed on; 1 when left out."`
	MSA       *string  `json:"foldMsa,omitempty" enum:"single_sequence,database" doc:"alphafold: database aligns each chain to the deployment's own sequence database; single_sequence predicts without an alignment; left out: database where the deployment has one."`
	Relax     *bool    `json:"foldRelax,omitempty" doc:"alphafold: relax the best model with OpenMM; off when left out."`
	Templates []string `json:"foldTemplates,omitempty" minItems:"1" maxItems:"20" pattern:"^[0-9][A-Za-z0-9]{3}$" patternDescription:"a digit and three letters or digits" doc:"alphafold: entries of the Protein Data Bank that models may take as templates; none when left out."`
	Lengths   []int    `json:"foldLengths,omitempty" minItems:"1" maxItems:"1000" doc:"Of an estimate alone: how many residues each protein has, at most 400 on a processor and 1,024 on a GPU; one protein of 200 when left out."`
}

// Check applies the rule that no schema can state to a prediction with the simulator IDESMFold or IDAlphaFold. It returns an
// *engines.InvalidError.
func (p Params) Check(simulator string) error {
	if p.Model == nil || *p.Model == simulator {
		return p.checkOwn(simulator)
	}
	return Invalid("foldModel", "is %s, but the simulator is %s; make them the same or leave foldModel out", *p.Model, simulator)
}

// checkOwn refuses what only the other model can be told.
func (p Params) checkOwn(simulator string) error {
	if simulator == IDAlphaFold {
		return nil
	}
	for _, one := range []struct {
		field string
		given bool
	}{
		{"foldModels", p.Models != nil}, {"foldRecycles", p.Recycles != nil}, {"foldSeeds", p.Seeds != nil},
		{"foldMsa", p.MSA != nil}, {"foldRelax", p.Relax != nil},
		{"foldTemplates", len(p.Templates) > 0},
	} {
		if one.given {
			return Invalid(one.field, "is of alphafold alone; leave it out, or take the simulator alphafold")
		}
	}
	return nil
}
