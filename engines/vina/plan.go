package vina

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// The stages of a docking job, and the outputs that pass from one to the next.
const (
	stagePrepare = "prepare"
	stageDock    = "dock"
	stageRank    = "rank"

	shardReceptor = "receptor"
	shardRank     = "rank"

	outputReceptor       = "receptor.pdbqt"
	outputReceptorReport = "receptor.json"
	outputLigands        = "ligands.json"
	outputDocked         = "dock.json"
)

const (
	// maxChunkLigands bounds a preparation shard. Starting Python with RDKit and Meeko costs about 1.2 s, preparing a ligand
	// about 0.1 s: a chunk of 50 keeps the start below a fifth of the work and still spreads a library over the workers.
	maxChunkLigands = 50
	// maxChunkParamsBytes keeps a chunk of very long SMILES below engines.MaxShardParamsBytes.
	maxChunkParamsBytes = 512 << 10
	// maxThreads bounds the threads of one docking process, so that a task fits on ordinary workers; the result does not
	// depend on their number.
	maxThreads = 8
)

// The parameters of the four kinds of shard, which their Python programs read as request.json.
type (
	receptorParams struct {
		Program        string                  `json:"program"`
		DeclaredFormat string                  `json:"declaredFormat,omitempty"`
		Preparation    mol.ReceptorPreparation `json:"preparation"`
		Box            box                     `json:"box"`
	}
	ligandsParams struct {
		Program string         `json:"program"`
		Seed    int64          `json:"seed"`
		Ligands []ligandParams `json:"ligands"`
	}
	ligandParams struct {
		Index         int     `json:"index"` // place in the request, from 0
		LigandID      string  `json:"ligandId"`
		Label         string  `json:"label"`
		SMILES        string  `json:"smiles,omitempty"`
		File          string  `json:"file,omitempty"`
		Format        string  `json:"format,omitempty"`
		ProtonationPh float64 `json:"protonationPh"`
	}
	searchParams struct {
		Exhaustiveness     int     `json:"exhaustiveness"`
		NumModes           int     `json:"numModes"`
		EnergyRangeKcalMol float64 `json:"energyRangeKcalMol"`
		Seed               int64   `json:"seed"`
		EngineSeed         int64   `json:"engineSeed"`
		CPUThreads         int     `json:"cpuThreads"`
	}
	dockParams struct {
		Program string       `json:"program"`
		Indices []int        `json:"indices"`
		Box     box          `json:"box"`
		Search  searchParams `json:"search"`
	}
	rankParams struct {
		Program             string                  `json:"program"`
		LigandCount         int                     `json:"ligandCount"`
		ShardSize           int                     `json:"shardSize"`
		CPUThreadsAsked     int                     `json:"cpuThreadsAsked"`
		ReceptorPreparation mol.ReceptorPreparation `json:"receptorPreparation"`
		Box                 box                     `json:"box"`
		Search              searchParams            `json:"search"`
		Citations           []engines.Citation      `json:"citations"`
	}
)

// The programs of the shards, by the file that holds them.
const (
	programReceptor = "prepare_receptor.py"
	programLigands  = "prepare_ligands.py"
	programDock     = "dock.py"
	programRank     = "rank.py"
)

// Plan cuts a docking request into its shards: receptor, ligand chunks, docking shards, ranking.
func (Vina) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	plan := planner{request: q}
	plan.receptorShard()
	chunks := plan.ligandShards()
	plan.dockShards(chunks)
	plan.rankShard()
	if plan.err != nil {
		return nil, plan.err
	}
	return plan.shards, nil
}

type planner struct {
	request
	shards []engines.Shard
	err    error
}

// chunk is a run of ligands that one preparation shard handles.
type chunk struct {
	name        string
	first, last int // ligand indices, last excluded
}

func (p *planner) add(shard engines.Shard, params any) {
	text, err := json.Marshal(params)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("vina: writing the parameters of shard %s: %w", shard.Name, err)
	}
	shard.Params = text
	p.shards = append(p.shards, shard)
}

func (p *planner) receptorShard() {
	receptor := p.receptor
	p.add(engines.Shard{
		Stage: stagePrepare, StageIndex: 0, Name: shardReceptor, Essential: true, Items: 1,
		Inputs:             []engines.Input{{Name: "receptor", Object: &receptor}},
		Needs:              prepareNeeds(30 * time.Minute),
		ExpectedCPUSeconds: receptorCPUSeconds,
	}, receptorParams{Program: programReceptor, DeclaredFormat: p.receptorFormat, Preparation: p.preparation, Box: p.box})
}

// ligandShards cuts the library into chunks whose length is a multiple of shardSize, so that the ligands of a docking shard
// always come from one chunk.
func (p *planner) ligandShards() []chunk {
	var chunks []chunk
	most := max(maxChunkLigands/p.shardSize, 1) * p.shardSize
	for first := 0; first < len(p.ligands); {
		params := ligandsParams{Program: programLigands, Seed: p.seed}
		var inputs []engines.Input
		last, bytes := first, 0
		for last < len(p.ligands) && last-first < most {
			group := min(last+p.shardSize, len(p.ligands))
			size := 0
			for i := last; i < group; i++ {
				size += paramsBytes(p.ligands[i])
			}
			if last > first && bytes+size > maxChunkParamsBytes {
				break
			}
			for i := last; i < group; i++ {
				ligand, input := p.ligandParams(i)
				params.Ligands = append(params.Ligands, ligand)
				if input != nil {
					inputs = append(inputs, *input)
				}
			}
			bytes += size
			last = group
		}
		c := chunk{name: fmt.Sprintf("ligands-%04d", len(chunks)), first: first, last: last}
		p.add(engines.Shard{
			Stage: stagePrepare, StageIndex: 0, Name: c.name, Items: last - first, Inputs: inputs,
			Needs:              prepareNeeds(10*time.Minute + time.Duration(last-first)*2*time.Minute),
			ExpectedCPUSeconds: pythonStartCPUSeconds + float64(last-first)*ligandCPUSeconds,
		}, params)
		chunks = append(chunks, c)
		first = last
	}
	return chunks
}

// paramsBytes bounds what a ligand takes in a shard's parameters; JSON may write a character in six bytes.
func paramsBytes(ligand mol.LigandEntry) int {
	size := 256 + len(ligand.LigandID) + 6*len(ligand.Label)
	if ligand.Source.SMILES != nil {
		size += 6 * len(ligand.Source.SMILES.SMILES)
	}
	return size
}

func (p *planner) ligandParams(index int) (ligandParams, *engines.Input) {
	entry := p.ligands[index]
	params := ligandParams{Index: index, LigandID: entry.LigandID, Label: entry.Label, ProtonationPh: *entry.Preparation.ProtonationPh}
	if entry.Source.SMILES != nil {
		params.SMILES = entry.Source.SMILES.SMILES
		return params, nil
	}
	artifact := entry.Source.Artifact.Artifact
	object := objectOf(artifact)
	params.Format = artifact.Format
	params.File = fmt.Sprintf("ligand-%05d.%s", index+1, artifact.Format)
	return params, &engines.Input{Name: params.File, Object: &object}
}

func (p *planner) search() searchParams {
	return searchParams{
		Exhaustiveness: p.exhaustiveness, NumModes: p.numModes, EnergyRangeKcalMol: p.energyRangeKcalMol,
		Seed: p.seed, EngineSeed: engineSeed(p.seed), CPUThreads: p.threads,
	}
}

func (p *planner) dockShards(chunks []chunk) {
	number := 0
	for _, c := range chunks {
		for first := c.first; first < c.last; first += p.shardSize {
			params := dockParams{Program: programDock, Box: p.box, Search: p.search()}
			expected, atoms := mapsCPUSeconds(p.box), 0.0
			for i := first; i < min(first+p.shardSize, c.last); i++ {
				params.Indices = append(params.Indices, i)
				heavy := heavyAtomsGuess(p.ligands[i].Source)
				expected += searchCPUSeconds(heavy, p.exhaustiveness)
				atoms = max(atoms, heavy)
			}
			p.add(engines.Shard{
				Stage: stageDock, StageIndex: 1, Name: fmt.Sprintf("dock-%05d", number), Items: len(params.Indices),
				Inputs: []engines.Input{
					{Name: outputReceptor, From: &engines.From{Stage: stagePrepare, Shard: shardReceptor, Output: outputReceptor}},
					{Name: outputLigands, From: &engines.From{Stage: stagePrepare, Shard: c.name, Output: outputLigands}},
				},
				Needs:              dockNeeds(p.threads, p.box, atoms, expected),
				ExpectedCPUSeconds: roundCPUSeconds(expected),
			}, params)
			number++
		}
	}
}

func (p *planner) rankShard() {
	count := len(p.ligands)
	p.add(engines.Shard{
		Stage: stageRank, StageIndex: 2, Name: shardRank, Essential: true, Items: count,
		Inputs: []engines.Input{
			{Name: outputReceptorReport, From: &engines.From{Stage: stagePrepare, Shard: shardReceptor, Output: outputReceptorReport}},
			{Name: "ligands", From: &engines.From{Stage: stagePrepare, Output: outputLigands}},
			{Name: "docked", From: &engines.From{Stage: stageDock, Output: outputDocked}},
		},
		Needs:              rankNeeds(count),
		ExpectedCPUSeconds: roundCPUSeconds(pythonStartCPUSeconds + float64(count)*rankCPUSeconds),
	}, rankParams{
		Program: programRank, LigandCount: count, ShardSize: p.shardSize, CPUThreadsAsked: p.threadsAsked,
		ReceptorPreparation: p.preparation, Box: p.box, Search: p.search(), Citations: citations(),
	})
}

// heavyAtomsGuess estimates a ligand's heavy atoms before anybody has read it, for time and memory only: the atom letters of
// a SMILES, or a file's size at about 80 bytes an atom.
func heavyAtomsGuess(source mol.LigandSource) float64 {
	atoms := 0.0
	if source.SMILES != nil {
		atoms = float64(strings.Count(source.SMILES.SMILES, "") - 1)
		for _, c := range source.SMILES.SMILES {
			if !strings.ContainsRune("BCNOPSFIbcnops", c) {
				atoms--
			}
		}
	} else if source.Artifact != nil {
		atoms = max(float64(source.Artifact.Artifact.ByteSize)/160, 25)
	}
	return math.Min(math.Max(atoms, 5), maxHeavyAtoms)
}
