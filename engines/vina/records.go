package vina

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	jsonv2 "github.com/go-json-experiment/json" // of the many shards, in a third of the time

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/parallel"
)

// Records are what a docking job has to say to those who keep its science: what its plan holds, and what a shard has found.
// They are read from plans and summaries, so that nobody else needs to know the programs' documents.

// PlannedRun is what all ligands of a planned job have in common.
type PlannedRun struct {
	RankBy             string // vina or cnn
	Exhaustiveness     int    // the most that a ligand gets
	AutoExhaustiveness bool   // each ligand gets as much of it as its search needs to converge
	NumModes           int
	EnergyRangeKcalMol float64
	Seed               int64
	CPUThreads         int // of a docking process
	ShardSize          int
	Library            bool   // it was given as a library, not as one ligand
	PDBID              string // of the receptor; "" for a file of the user's
	Receptor           engines.Object
	ReceptorFormat     string // "" when nobody has stated it
	NativeComponentID  string // of the ligand that is docked again; "" when there is none
	GateRMSDAngstrom   *float64
	Ligands            []PlannedLigand // in the order of the request
}

// PlannedLigand is a ligand of a plan, and the names of the shards that work on it.
type PlannedLigand struct {
	Index        int // its place in the request, from 0
	LigandID     string
	Label        string
	Source       string // ccd, smiles or artifact
	SMILES       string // as given or as its component is defined; "" for a file
	PrepareShard string
	DockShard    string
}

// ReadPlan reads a plan of this engine.
func ReadPlan(plan []engines.Shard) (PlannedRun, error) {
	runs, err := parallel.Runs(plan, func(run []engines.Shard) (work []ligandWork, err error) {
		work = make([]ligandWork, len(run))
		for i, shard := range run {
			if work[i], err = workOf(shard); err != nil {
				return nil, fmt.Errorf("vina: reading the plan of shard %s: %w", shard.Name, err)
			}
		}
		return work, nil
	})
	if err != nil {
		return PlannedRun{}, err
	}
	var run PlannedRun
	for i, work := range slices.Concat(runs...) {
		if err := run.take(plan[i], work); err != nil {
			return PlannedRun{}, fmt.Errorf("vina: reading the plan of shard %s: %w", plan[i].Name, err)
		}
	}
	return run, nil
}

// ligandWork is what a shard does with ligands: it prepares them or docks them.
type ligandWork struct {
	Ligands []ligandParams `json:"ligands"`
	Indices []int          `json:"indices"`
}

func workOf(shard engines.Shard) (work ligandWork, err error) {
	if kind := KindOf(shard.Stage, shard.Name); kind == KindLigands || kind == KindDock {
		err = jsonv2.Unmarshal(shard.Params, &work)
	}
	return work, err
}

func (run *PlannedRun) take(shard engines.Shard, work ligandWork) error {
	switch KindOf(shard.Stage, shard.Name) {
	case KindReceptor:
		params, err := paramsOf[receptorParams](shard)
		if err != nil {
			return err
		}
		run.PDBID, run.ReceptorFormat = params.PDBID, params.DeclaredFormat
		if object := shard.Inputs[0].Object; object != nil {
			run.Receptor = *object
		}
		if params.NativeReference != nil {
			run.NativeComponentID = params.NativeReference.ComponentID
		}
	case KindLigands:
		for _, ligand := range work.Ligands {
			*run.ligand(ligand.Index) = PlannedLigand{
				Index: ligand.Index, LigandID: ligand.LigandID, Label: ligand.Label, Source: ligand.source(), SMILES: ligand.SMILES,
				PrepareShard: shard.Name,
			}
		}
	case KindDock:
		for _, index := range work.Indices {
			run.ligand(index).DockShard = shard.Name
		}
	case KindRank:
		params, err := paramsOf[rankParams](shard)
		if err != nil {
			return err
		}
		run.ShardSize, run.GateRMSDAngstrom, run.Library = params.ShardSize, params.GateRMSDAngstrom, params.Library
		run.RankBy = params.RankBy
		search := params.Search
		run.Exhaustiveness, run.AutoExhaustiveness = mostSearches(search.Exhaustiveness),
			search.Exhaustiveness == mol.AutoExhaustiveness
		run.NumModes, run.EnergyRangeKcalMol = search.NumModes, search.EnergyRangeKcalMol
		run.Seed, run.CPUThreads = search.Seed, search.CPUThreads
	case KindRedock, KindAnalyse, KindOther:
	}
	return nil
}

// paramsOf are the parameters of a shard.
func paramsOf[T any](shard engines.Shard) (params T, err error) {
	err = json.Unmarshal(shard.Params, &params)
	return params, err
}

// foundIn is what the request's names of public data stood for when the plan was made, for a request that is planned again. Of the
// components of ligands it has no names, which no plan needs. Shards that dock may be left out of the plan.
func foundIn(plan []engines.Shard) (engines.Found, error) {
	found := engines.Found{Structures: map[string]engines.Object{}, Components: map[string]engines.Component{}}
	for _, shard := range plan {
		if shard.Stage != stagePrepare && shard.Stage != stageNative {
			continue
		}
		var params struct {
			receptorParams
			Ligands []ligandParams `json:"ligands"`
		}
		if err := json.Unmarshal(shard.Params, &params); err != nil {
			return engines.Found{}, fmt.Errorf("vina: reading the plan of shard %s: %w", shard.Name, err)
		}
		if params.PDBID != "" && len(shard.Inputs) > 0 && shard.Inputs[0].Object != nil {
			found.Structures[params.PDBID] = *shard.Inputs[0].Object
		}
		maps.Copy(found.Components, params.Components)
		for _, ligand := range params.Ligands {
			if _, known := found.Components[ligand.ComponentID]; ligand.ComponentID != "" && !known {
				found.Components[ligand.ComponentID] = engines.Component{SMILES: ligand.SMILES}
			}
		}
	}
	return found, nil
}

// Repeat makes the parameters those of a request that is planned again, with a seed and what its first plan has chosen: where the
// box lies that nothing in the request places, and which ligand is docked again. It returns what was found for the first plan, of
// which shards that dock may be left out.
func (p *Params) Repeat(plan []engines.Shard, seed int64) (engines.Found, error) {
	p.Seed = &seed
	if err := p.pin(plan); err != nil {
		return engines.Found{}, err
	}
	return foundIn(plan)
}

func (p *Params) pin(plan []engines.Shard) error {
	for _, shard := range plan {
		if shard.Name != shardReceptor {
			continue
		}
		first, err := paramsOf[receptorParams](shard)
		if err != nil {
			return fmt.Errorf("vina: reading the plan of shard %s: %w", shard.Name, err)
		}
		if p.DockingValidation != nil && valueOr(p.DockingValidation.RedockBound, false) && first.NativeReference != nil {
			validation := *p.DockingValidation
			validation.RedockBound, validation.NativeReference = nil, first.NativeReference
			p.DockingValidation = &validation
		}
		if p.BoxCenterAngstrom == nil && p.BoxLigandArtifact == nil && p.PocketLigand == nil && len(p.PocketResidues) == 0 {
			p.pinBox(first.Box)
		}
	}
	return nil
}

func (p *Params) pinBox(first boxRequest) {
	switch first.Source {
	case boxFpocket:
		source := sourceFpocket
		p.BoxSource = &source
	case boxPocketLigand:
		p.BoxSource, p.PocketLigand, p.PocketLigandResidue = nil, &first.ComponentID, first.Residue
		if first.Chain != "" {
			p.PocketLigandChain = &first.Chain
		}
	}
}

// ligand makes room for a ligand's place. An index of our own plan is below the library's bound.
func (run *PlannedRun) ligand(index int) *PlannedLigand {
	for len(run.Ligands) <= index {
		run.Ligands = append(run.Ligands, PlannedLigand{})
	}
	return &run.Ligands[index]
}

func (l ligandParams) source() string {
	switch {
	case l.File != "" && l.Format != formatNative:
		return "artifact"
	case l.ComponentID != "":
		return "ccd"
	}
	return "smiles"
}

// Kind is what a shard of this engine is about.
type Kind int

// The kinds of shard whose results are kept.
const (
	KindOther Kind = iota
	KindReceptor
	KindLigands
	KindRedock
	KindDock
	KindAnalyse
	KindRank
)

// KindOf tells what a shard is about by its stage and its name.
func KindOf(stage, name string) Kind {
	switch stage {
	case stagePrepare:
		if name == shardReceptor {
			return KindReceptor
		}
		return KindLigands
	case stageNative:
		return KindLigands
	case stageRedock:
		return KindRedock
	case stageDock:
		return KindDock
	case stageAnalyse:
		if name == shardRedock {
			return KindRedock
		}
		return KindAnalyse
	case stageRank:
		return KindRank
	}
	return KindOther
}

// ReceptorFound is the summary of a prepared receptor. Members that are kept as they are stay JSON.
type ReceptorFound struct {
	Box    json.RawMessage `json:"box"`
	Hashes struct {
		ReceptorIdentitySHA256 string `json:"receptorIdentitySha256"`
		PreparationSHA256      string `json:"preparationSha256"`
		ToolchainSHA256        string `json:"toolchainSha256"`
		CacheKey               string `json:"cacheKey"`
	} `json:"hashes"`
	Identity    json.RawMessage `json:"identity"`
	Preparation json.RawMessage `json:"preparation"`
	Reused      bool            `json:"reused"`
}

// LigandsFound is the summary of a preparation chunk, of a docking shard and of an analysis alike: what became of each ligand.
type LigandsFound struct {
	Ligands []LigandFound `json:"ligands"`
}

// LigandFound is what one shard has found of a ligand; members that are not its business are absent. Energies in kcal/mol.
type LigandFound struct {
	Index           int         `json:"index"`
	Status          string      `json:"status"` // PREPARED or COMPLETED, or FAILED
	FailureStage    string      `json:"failureStage"`
	Error           string      `json:"error"`
	CanonicalSMILES *string     `json:"canonicalSmiles"`
	DockedSMILES    *string     `json:"dockedSmiles"`
	InChIKey        *string     `json:"inchiKey"`
	FormalCharge    *int        `json:"formalCharge"`
	HeavyAtoms      *int        `json:"heavyAtoms"`
	RotatableBonds  *int        `json:"rotatableBonds"`
	Notes           []string    `json:"notes"`
	CPUSeconds      *float64    `json:"cpuSeconds"`
	PDBQT           string      `json:"pdbqt"` // Artifact.Name
	SDF             string      `json:"sdf"`   // Artifact.Name; "" when there is none
	Poses           []PoseFound `json:"poses"`
	// Convergence is how the independent searches of the ligand agreed; null for a search of a fixed length.
	Convergence json.RawMessage `json:"convergence"`
}

// Failed tells whether the ligand's way ended here.
func (l LigandFound) Failed() bool { return l.Status == statusFailed }

// PoseFound is a pose of a ligand, as it was docked or as it was analysed.
type PoseFound struct {
	Rank           int     `json:"rank"`
	ScoreKcalMol   float64 `json:"scoreKcalMol"`
	RMSDLowerBound float64 `json:"rmsdLowerBound"`
	RMSDUpperBound float64 `json:"rmsdUpperBound"`
	Terms          struct {
		Inter     float64 `json:"inter"`
		Intra     float64 `json:"intra"`
		Torsional float64 `json:"torsional"`
		Unbound   float64 `json:"unbound"`
	} `json:"terms"`
	ReferenceRMSDAngstrom *float64        `json:"referenceRmsdAngstrom"`
	VinaRank              int             `json:"vinaRank"`      // its model in the PDBQT; 0 in what a docking has found
	CNNScore              *float64        `json:"cnnScore"`      // null where the network has not seen it
	CNNAffinityPk         *float64        `json:"cnnAffinityPk"` // likewise
	Checks                json.RawMessage `json:"checks"`        // null when it was not checked
	Interactions          json.RawMessage `json:"interactions"`  // null when they were not looked for
}

// RankedAgain tells whether the pose has another rank than Vina gave it.
func (p PoseFound) RankedAgain() bool { return p.VinaRank != 0 && p.VinaRank != p.Rank }

// PassedChecks is the verdict of the pose's checks; nil when there is none.
func (p PoseFound) PassedChecks() *bool {
	var checks struct {
		Passed *bool `json:"passed"`
	}
	if err := json.Unmarshal(orNull(p.Checks), &checks); err != nil {
		return nil
	}
	return checks.Passed
}

// InteractionKeys names the pose's interactions as filters do: chain, residue name, residue number with its insertion code, and
// type, e.g. "A:ASP:381:hydrogen_bond"; each once. It is nil when nobody has looked for them.
func (p PoseFound) InteractionKeys() []string {
	var interactions []struct {
		Type     string `json:"type"`
		Receptor struct {
			Chain         string `json:"chain"`
			Residue       int    `json:"residue"`
			InsertionCode string `json:"insertionCode"`
			ResidueName   string `json:"residueName"`
		} `json:"receptor"`
	}
	if err := json.Unmarshal(orNull(p.Interactions), &interactions); err != nil || interactions == nil {
		return nil
	}
	keys := []string{}
	seen := map[string]bool{}
	for _, i := range interactions {
		key := fmt.Sprintf("%s:%s:%d%s:%s", i.Receptor.Chain, i.Receptor.ResidueName, i.Receptor.Residue, i.Receptor.InsertionCode,
			i.Type)
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}

// ComplexName is the artifact with the receptor and the best pose of a ligand.
func ComplexName(index int) string { return fmt.Sprintf("complexes/%05d.pdb", index+1) }
