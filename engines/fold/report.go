package fold

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/fasta"
)

// Stages, and the name of the one shard that reports.
const (
	StageFold   = "fold"
	StageReport = "report"
	shardReport = "report"

	programReport = "report.py"
	inputScores   = "scores"
)

// What the report takes on one core of a busy machine.
const (
	reportStartCPUSeconds      = 4.0
	reportCPUSecondsPerProtein = 3.0
	reportSecondsPerPair       = 2e-6 // of residues: reading and drawing the expected errors
	reportBaseBytes            = 2 << 30
	reportFileBytes            = 512 * mebibyte
	reportScratchBytes         = 1 << 30
	bytesPerPair               = 8 // of scores.json
	maxLogBytes                = 4 * mebibyte
	maxProcesses               = 64
)

// reporting is the program of the stage "report" for an engine.
func reporting(engine string) python.Program {
	return python.Program{
		Engine: engine, Sources: []python.Source{Sources}, Mains: []string{programReport},
		Name: "The report", Requirements: "engines/openmm/requirements.lock", LessMemory: "fewer sequences",
	}
}

// Report describes the shard that reports.
type Report struct {
	Predictor string // as people call the model: "ESMFold"
	Settings  any    // of the model, for the provenance
	Recycles  int
	Citations []engines.Citation
	// Optional are what a protein's further files end in that the report reads where they are.
	Optional []string

	stageIndex int
}

// reportParams are the parameters of the shard, as report.py reads them.
type reportParams struct {
	Program    string             `json:"program"`
	Engine     string             `json:"engine"`
	Predictor  string             `json:"predictor"`
	Title      string             `json:"title"`
	Sequences  []Sequence         `json:"sequences"` // in the order of the FASTA
	Refused    []Refused          `json:"refused"`
	Recycles   int                `json:"recycles"`
	Seed       int64              `json:"seed"`
	Device     string             `json:"device"`
	Settings   any                `json:"settings"`
	InputSHA   string             `json:"inputSha256"`
	Weights    Weights            `json:"weights"`
	Citations  []engines.Citation `json:"citations"`
	MostTokens int                `json:"mostTokens"`
}

// shardName is what the n-th shard that folds is called, from 1.
func shardName(number int) string { return fmt.Sprintf("fold-%03d", number) }

// reportShard plans the one shard that draws the plots, the scenes, the table and the report of proteins: parts are those of the
// shards that fold, in their order, folded and refused those of the FASTA, in its own.
func (m Model) reportShard(
	r engines.Request, q Request, report Report, parts [][]Sequence, folded []Sequence, refused []Refused,
) (engines.Shard, error) {
	shard := engines.Shard{Stage: StageReport, StageIndex: report.stageIndex, Name: shardReport, Essential: true,
		Items: len(folded)}
	expected, written := reportStartCPUSeconds, int64(reportScratchBytes)
	for i, part := range parts {
		for _, one := range part {
			count := fasta.Tokens(one.Chains)
			expected += reportCPUSecondsPerProtein + reportSecondsPerPair*float64(count*count)
			written += 2*mebibyte + bytesPerPair*int64(count*count)
			for _, suffix := range append([]string{ScoresSuffix, CIFSuffix}, report.Optional...) {
				name := one.File + suffix
				shard.Inputs = append(shard.Inputs, engines.Input{Name: inputScores + "/" + name, From: &engines.From{
					Stage: StageFold, Shard: shardName(i + 1), Output: name, Optional: true}})
			}
		}
	}
	// The rows of the table are what the shards that succeeded have left.
	shard.Inputs = append(shard.Inputs, engines.Input{Name: "rows", From: &engines.From{Stage: StageFold, Output: rowsFile}})
	shard.ExpectedCPUSeconds = round(expected)
	shard.Needs = engines.Resources{
		CPUs: 1, MemoryBytes: reportBaseBytes, FileBytes: reportFileBytes, Processes: maxProcesses, TimeLimit: Limit(expected),
		MaxLogBytes: maxLogBytes, ScratchBytes: written,
	}
	var err error
	shard.Params, err = json.Marshal(reportParams{
		Program: programReport, Engine: m.id, Predictor: report.Predictor, Title: r.JobName, Sequences: folded,
		Refused: refused, Recycles: report.Recycles, Seed: q.Seed, Device: q.Device, Settings: report.Settings,
		InputSHA: r.SceneFile.SHA256, Weights: WeightsOf(q.Weights), Citations: report.Citations, MostTokens: q.Most,
	})
	return shard, err
}
