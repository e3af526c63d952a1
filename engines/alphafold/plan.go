package alphafold

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/internal/alignments"
)

// What a request leaves out. With three recycles the models were trained; ColabFold runs all five.
const (
	usualModels   = 5
	usualRecycles = 3
	usualSeeds    = 1
)

// Ways to align.
const (
	singleSequence  = "single_sequence"
	toDatabase      = "database"
	alignmentSuffix = ".a3m" // the alignment that a protein's models saw
)

// request is a request with its sequences judged.
type request struct {
	fold.Request

	models, recycles, seeds int
	relax                   bool
	templates               []template
	// database is what each chain is aligned to; nil where the models see single sequences.
	database *alignments.Database
}

// foldParams are the parameters of a shard that folds, as fold.py reads them.
type foldParams struct {
	Program   string          `json:"program"`
	Sequences []fold.Sequence `json:"sequences"`
	settings
	Seed    int64        `json:"seed"`
	Device  string       `json:"device"`
	Memory  fold.Memory  `json:"memory"`
	Weights fold.Weights `json:"weights"`
}

// settings decide what the models do, beside their weights and the seed.
type settings struct {
	Models   int  `json:"models"`
	Recycles int  `json:"recycles"`
	Seeds    int  `json:"seeds"`
	Relax    bool `json:"relax"`
	// Templates are in the order of the request.
	Templates []template `json:"templates,omitempty"`
	MSA       alignment  `json:"msa"`
}

// alignment says how the chains were aligned, and by what.
type alignment struct {
	Mode     string               `json:"mode"`
	Database *alignments.Database `json:"database,omitempty"`
	Programs map[string]string    `json:"programs,omitempty"`
}

func (q request) settings() settings {
	done := settings{Models: q.models, Recycles: q.recycles, Seeds: q.seeds, Relax: q.relax, Templates: q.templates,
		MSA: alignment{Mode: singleSequence}}
	if q.database != nil {
		done.MSA = alignment{toDatabase, q.database, aligningPrograms()}
	}
	return done
}

func resolve(r engines.Request) (request, error) {
	common, err := fold.Resolve(r, ID)
	if err != nil {
		return request{}, err
	}
	q := request{Request: common, models: or(common.Params.Models, usualModels),
		recycles: or(common.Params.Recycles, usualRecycles), seeds: or(common.Params.Seeds, usualSeeds),
		relax: or(common.Params.Relax, false)}
	if aligns(common.Params) {
		q.database = r.Found.Alignment
	}
	if q.database == nil && or(common.Params.MSA, "") == toDatabase {
		return request{}, fold.Invalid(msaField, "is %s, and this deployment has no sequence database to align to, which its "+
			"operator names in MOLFABRIC_FOLD_DATABASE; say %s", toDatabase, singleSequence)
	}
	q.templates, err = templatesOf(common.Params.Templates, r.Found.Structures)
	return q, err
}

// aligns says whether a request wants its chains aligned where the deployment can.
func aligns(params fold.Params) bool { return or(params.MSA, toDatabase) == toDatabase }

// Wants adds the database that chains are aligned to, and the entries that are templates.
func (a AlphaFold) Wants(r engines.Request) (engines.Wants, error) {
	wants, err := a.Model.Wants(r)
	if err != nil {
		return engines.Wants{}, err
	}
	params, err := engines.ParamsOf[fold.Params](r)
	if err != nil {
		return engines.Wants{}, fold.Invalid("simulationParams", "cannot be read: %v", err)
	}
	if aligns(params) {
		wants.Alignment = &engines.WantedAlignment{Path: msaField}
	}
	wants.Entries = wantedTemplates(params.Templates)
	return wants, nil
}

func or[T any](given *T, usual T) T {
	if given == nil {
		return usual
	}
	return *given
}

// Plan gives the shards that fold, and the one that reports.
func (a AlphaFold) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	chains := q.chains()
	if q.database != nil && len(chains) > maxChains {
		return nil, fold.Invalid(fold.SceneFile, "has %d different chains; a job may align at most %d. Cut it into several jobs, "+
			"or say %s in %s", len(chains), maxChains, singleSequence, msaField)
	}
	searches, err := q.searches(chains)
	if err != nil {
		return nil, err
	}
	seconds := func(one fold.Sequence) float64 { return q.foldSeconds(residues(one)) }
	return a.PlanShards(r, q.Request, searches, seconds, func(part []fold.Sequence) fold.Work { return q.work(part, chains) },
		fold.Report{
			Predictor: title, Recycles: q.recycles, Settings: q.settings(), Citations: citations(),
			Optional: []string{alignmentSuffix},
		})
}

// residues is the length of a protein; AlphaFold needs no linkers.
func residues(one fold.Sequence) int {
	count := 0
	for _, chain := range one.Chains {
		count += len(chain)
	}
	return count
}

// work is what folding these proteins in one process takes; chains are those of all.
func (q request) work(part []fold.Sequence, chains []string) fold.Work {
	longest, seconds, device := 0, startCPUSeconds, gpuStartSeconds
	for _, one := range part {
		count := residues(one)
		longest = max(longest, count)
		seconds += q.foldSeconds(count)
		device += q.deviceSeconds(count)
	}
	done := fold.Work{CPUSeconds: seconds, Inputs: append(q.aligned(part, chains), q.templateInputs()...), Params: foldParams{
		Program: programFold, Sequences: part, settings: q.settings(), Seed: q.Seed, Device: q.Device, Memory: q.memory(longest),
		Weights: fold.WeightsOf(q.Weights),
	}}
	if q.Device == fold.DeviceCUDA {
		done.CPUSeconds, done.GPUSeconds = device, device
	}
	done.Needs = q.foldNeeds(part, done.CPUSeconds)
	return done
}
