package vina

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// The parameters of the kinds of shard, which their Python programs read as request.json.
type (
	receptorParams struct {
		Program string `json:"program"`
		selection
		Preparation     mol.ReceptorPreparation      `json:"preparation"`
		Box             boxRequest                   `json:"box"`
		NativeReference *NativeReference             `json:"nativeReference,omitempty"`
		Components      map[string]engines.Component `json:"components,omitempty"`
		Prepared        *preparedParams              `json:"prepared,omitempty"`
	}
	preparedParams struct {
		Required               bool   `json:"required"`
		CacheKey               string `json:"cacheKey"`
		ReceptorIdentitySHA256 string `json:"receptorIdentitySha256"`
		PreparationSHA256      string `json:"preparationSha256"`
		ToolchainSHA256        string `json:"toolchainSha256"`
	}
	ligandsParams struct {
		Program string `json:"program"`
		Seed    int64  `json:"seed"`
		// LigandCPUSeconds is the processor time after which a ligand is given up; so it is in the other programs.
		LigandCPUSeconds int            `json:"ligandCpuSeconds"`
		Ligands          []ligandParams `json:"ligands"`
	}
	ligandParams struct {
		Index         int     `json:"index"` // place in the request, from 0
		LigandID      string  `json:"ligandId"`
		Label         string  `json:"label"`
		SMILES        string  `json:"smiles,omitempty"`
		ComponentID   string  `json:"componentId,omitempty"`
		File          string  `json:"file,omitempty"`
		Format        string  `json:"format,omitempty"`
		ProtonationPh float64 `json:"protonationPh"`
	}
	searchParams struct {
		Exhaustiveness     mol.Exhaustiveness `json:"exhaustiveness"`
		Auto               *autoSearch        `json:"auto,omitempty"` // of the exhaustiveness "auto"
		NumModes           int                `json:"numModes"`
		EnergyRangeKcalMol float64            `json:"energyRangeKcalMol"`
		Seed               int64              `json:"seed"`
		EngineSeed         int64              `json:"engineSeed"`
		CPUThreads         int                `json:"cpuThreads"`
	}
	dockParams struct {
		Program string       `json:"program"`
		Indices []int        `json:"indices"`
		Search  searchParams `json:"search"`
	}
	redockParams struct {
		Program           string       `json:"program"`
		Search            searchParams `json:"search"`
		ThresholdAngstrom float64      `json:"thresholdAngstrom"`
		Seed              int64        `json:"seed"`
		ProtonationPh     float64      `json:"protonationPh"`
		LigandCPUSeconds  int          `json:"ligandCpuSeconds"`
		RankBy            string       `json:"rankBy"`
		LigandIndex       *int         `json:"ligandIndex,omitempty"` // of the job's ligand that is the native one, docked already
	}
	gateParams struct {
		Program          string  `json:"program"`
		GateRMSDAngstrom float64 `json:"gateRmsdAngstrom"`
	}
	analyseParams struct {
		Program           string `json:"program"`
		Indices           []int  `json:"indices"`
		MostPosesAnalysed int    `json:"mostPosesAnalysed"`
		InternalEnergy    bool   `json:"internalEnergy"`
		LigandCPUSeconds  int    `json:"ligandCpuSeconds"`
		RankBy            string `json:"rankBy"`
	}
	rankParams struct {
		Program             string                  `json:"program"`
		Title               string                  `json:"title"`
		Library             bool                    `json:"library"`
		LigandCount         int                     `json:"ligandCount"`
		ShardSize           int                     `json:"shardSize"`
		CPUThreadsAsked     int                     `json:"cpuThreadsAsked"`
		ReceptorPreparation mol.ReceptorPreparation `json:"receptorPreparation"`
		Search              searchParams            `json:"search"`
		RankBy              string                  `json:"rankBy"`
		GateRMSDAngstrom    *float64                `json:"gateRmsdAngstrom,omitempty"`
		Depicted            bool                    `json:"depicted,omitempty"` // a pipeline draws the best complex, outputBest
		Picture             string                  `json:"picture"`
		Citations           []engines.Citation      `json:"citations"`
	}
)

// The programs of the shards, by the file that holds them.
const (
	programReceptor = "prepare_receptor.py"
	programLigands  = "prepare_ligands.py"
	programRedock   = "redock.py"
	programGate     = "gate.py"
	programDock     = "dock.py"
	programAnalyse  = "analyse.py"
	programRank     = "rank.py"
)
