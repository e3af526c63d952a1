package fold

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// Model is what engines that predict structures have in common: how their programs are called, what those print, and what they
// leave. An engine embeds it, and adds what its own model needs.
type Model struct {
	python.Reporting
	python.Saving

	id          string
	folding     python.Program // of the stage "fold"; that of "report" is the same for all
	environment func(engines.Shard) map[string]string
}

// NewModel returns the model of an engine, whose stage "fold" this program runs with what its libraries want in the environment.
func NewModel(folding python.Program, environment func(engines.Shard) map[string]string) Model {
	return Model{id: folding.Engine, folding: folding, environment: environment}
}

// Wants is what the FASTA holds, so that what cannot be folded is known before it costs anything, and the weights.
func (m Model) Wants(r engines.Request) (engines.Wants, error) { return wants(r, m.id) }

// Typical completes a request that has no sequences: proteins of the lengths that it states, or one of UsualTokens
// residues.
func (Model) Typical(r engines.Request) (engines.Request, string, error) { return typical(r) }

// Command runs the shard's Python program. The threads are those of the task's cores: more of them spin and wait for each other.
func (m Model) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	program, err := m.programOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	main, err := program.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	threads := strconv.Itoa(max(shard.Needs.CPUs, 1))
	all := map[string]string{
		"MPLBACKEND": "Agg", "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads,
	}
	maps.Copy(all, m.environment(shard))
	return program.Command(shard, main, python.Environment(all))
}

// programOf is what runs a shard.
func (m Model) programOf(shard engines.Shard) (python.Program, error) {
	switch shard.Stage {
	case StageFold:
		return m.folding, nil
	case StageReport:
		return reporting(m.id), nil
	}
	return python.Program{}, fmt.Errorf("%s: shard %s is of the unknown stage %q", m.id, shard.Name, shard.Stage)
}

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (m Model) Explain(shard engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	if program, err := m.programOf(shard); err == nil {
		return program.Explain(dir, exitCode, logTail)
	}
	return nil
}

// Collect checks that the shard's outputs are there and complete, and lists them.
func (m Model) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	program, err := m.programOf(shard)
	if err != nil {
		return engines.Result{}, err
	}
	return collect(program, shard, dir)
}

// Work is what an engine knows of a shard that folds: the parameters of its program, what it needs and how long it takes.
type Work struct {
	Params     any
	Inputs     []engines.Input // beside the weights
	Needs      engines.Resources
	CPUSeconds float64
	GPUSeconds float64 // 0 on a processor
}

// PlanShards gives the shards that fold, and the one that reports, behind those of an earlier stage. seconds is the processor time
// of one protein, work what a part of them is. A shard that folds is not essential: when one fails, the proteins of the others
// still have results.
func (m Model) PlanShards(
	r engines.Request, q Request, earlier []engines.Shard, seconds func(Sequence) float64, work func(part []Sequence) Work,
	report Report,
) ([]engines.Shard, error) {
	folded, refused := q.sequences()
	parts := q.parts(folded, seconds)
	shards := append(make([]engines.Shard, 0, len(earlier)+len(parts)+1), earlier...)
	if len(earlier) > 0 {
		report.stageIndex = earlier[len(earlier)-1].StageIndex + 1
	}
	report.stageIndex++
	for i, part := range parts {
		one := work(part)
		params, err := json.Marshal(one.Params)
		if err != nil {
			return nil, err
		}
		shards = append(shards, engines.Shard{
			Stage: StageFold, StageIndex: report.stageIndex - 1, Name: shardName(i + 1), Items: len(part),
			Inputs: append(weightsInputs(q.Weights), one.Inputs...), Params: params, Needs: one.Needs,
			ExpectedCPUSeconds: round(one.CPUSeconds), ExpectedGPUSeconds: round(one.GPUSeconds),
		})
	}
	last, err := m.reportShard(r, q, report, parts, folded, refused)
	if err != nil {
		return nil, err
	}
	return append(shards, last), nil
}
