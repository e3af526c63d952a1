package docking

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// topResults is how many of its best ligands a batch shows.
	topResults = 10
	engineName = "AutoDock Vina"
	// engineProgram is the engine among a run's programs.
	engineProgram   = "vina"
	scoringFunction = "vina"
)

// studio is the link of a resource (doc/contract.md §9, rule 6); kind is dockingBatch and so on.
func studio(kind, id string) contract.UILinks {
	return contract.UILinks{Studio: "/studio?" + kind + "=" + id}
}

func (r experimentRow) view() (contract.DockingExperiment, error) {
	view := contract.DockingExperiment{
		ExperimentID: r.ID, Name: r.Name, BatchIDs: r.BatchIDs, BatchCount: r.BatchCount, RunCount: r.RunCount,
		CreatedAt: r.CreatedAt.UTC(),
	}
	if err := json.Unmarshal(r.Receptor, &view.Receptor); err != nil {
		return view, fmt.Errorf("reading the receptor of experiment %s: %w", r.ID, err)
	}
	return view, nil
}

func (r batchRow) view(top []topRow) contract.DockingBatch {
	view := contract.DockingBatch{
		BatchID: r.ID, ExperimentID: r.ExperimentID, RunID: wire.TextOrNil(r.RunID), JobID: r.JobID, Status: r.Status,
		Counts: r.counts(r.LigandCount), Progress: r.progress(r.LigandCount), LigandCount: r.LigandCount, ShardSize: r.ShardSize,
		Seed: r.Seed, TopResults: make([]contract.DockingTopResult, len(top)), CreatedAt: r.CreatedAt.UTC(),
		UILinks: studio("dockingBatch", r.ID),
	}
	for i, one := range top {
		view.TopResults[i] = contract.DockingTopResult{
			ResultID: one.ID, Rank: i + 1, LigandID: one.LigandID, Label: one.Label, BestScoreKcalMol: one.BestScoreKcalMol,
			LigandEfficiency: wire.OrNil(one.LigandEfficiency), UILinks: studio("dockingResult", one.ID),
		}
	}
	return view
}

func (t tally) counts(total int) contract.DockingCounts {
	return contract.DockingCounts{Total: total, Completed: t.Completed, Failed: t.Failed}
}

func (t tally) progress(total int) contract.DockingProgress {
	progress := contract.DockingProgress{Preparing: t.Preparing, Docking: t.Docking}
	progress.Pending = max(total-t.Preparing-t.Docking-t.Completed-t.Failed, 0)
	if total > 0 {
		progress.Percent = math.Floor(float64(t.Completed+t.Failed)/float64(total)*1000) / 10
	}
	return progress
}

// boxDocument is a run's box as it is stored.
type boxDocument struct {
	Source         string     `json:"source"`
	CenterAngstrom [3]float64 `json:"centerAngstrom"`
	SizeAngstrom   [3]float64 `json:"sizeAngstrom"`
	Notes          []string   `json:"notes"`
}

// receptorDocument is what is stored of a receptor's preparation.
type receptorDocument struct {
	Protonation *string                  `json:"protonation"`
	Notes       []string                 `json:"notes"`
	Reused      *bool                    `json:"reused"`
	Preparation contract.DockingDocument `json:"preparation"`
	Hashes      struct {
		ReceptorIdentitySHA256 *string `json:"receptorIdentitySha256"`
		PreparationSHA256      *string `json:"preparationSha256"`
		ToolchainSHA256        *string `json:"toolchainSha256"`
		CacheKey               *string `json:"cacheKey"`
	} `json:"hashes"`
	Identity *contract.DockingReceptorSelection `json:"identity"`
}

// validationDocument is what is stored of a redocking.
type validationDocument struct {
	RMSDAngstrom        *float64 `json:"rmsdAngstrom"`
	ClosestRMSDAngstrom *float64 `json:"closestRmsdAngstrom"`
	Passed              *bool    `json:"passed"`
	CNNScore            *float64 `json:"cnnScore"`
	Convergence         *struct {
		Converged *bool `json:"converged"`
	} `json:"convergence"`
}

func (d validationDocument) converged() *bool {
	if d.Convergence == nil {
		return nil
	}
	return d.Convergence.Converged
}

// documents are the stored documents of a run, read. A document that is not there yet is empty.
type documents struct {
	programs   map[string]string
	box        *boxDocument
	receptor   receptorDocument
	input      contract.DockingReceptorInput
	validation validationDocument
}

func (r runRow) documents() (d documents, err error) {
	for _, one := range []struct {
		name string
		text *json.RawMessage
		into any
	}{
		{"programs", &r.Programs, &d.programs}, {"box", r.Box, &d.box}, {"receptor", r.Receptor, &d.receptor},
		{"receptor input", &r.ReceptorInput, &d.input}, {"validation", r.Validation, &d.validation},
	} {
		if one.text == nil {
			continue
		}
		if err := json.Unmarshal(*one.text, one.into); err != nil {
			return d, fmt.Errorf("reading the %s of run %s: %w", one.name, r.ID, err)
		}
	}
	return d, nil
}

func (r runRow) view(currency string) (contract.DockingRun, error) {
	d, err := r.documents()
	if err != nil {
		return contract.DockingRun{}, err
	}
	return contract.DockingRun{
		RunID: r.ID, RequestID: wire.TextOrNil(r.RequestID), RequestRunID: wire.TextOrNil(r.RequestRunID),
		ExperimentID: r.ExperimentID,
		BatchID:      wire.TextOrNil(r.BatchID), JobID: r.JobID, JobName: r.JobName, Engine: d.engine(), Box: d.box.view(),
		Exhaustiveness: r.Exhaustiveness, ExhaustivenessAuto: r.ExhaustivenessAuto, RankBy: r.RankBy, NumModes: r.NumModes,
		EnergyRangeKcalMol: r.EnergyRangeKcalMol, Seed: r.Seed, CPUThreads: r.CPUThreads, LigandCount: r.LigandCount,
		Counts:   r.counts(r.LigandCount),
		Receptor: d.preparedReceptor(r.ReceptorName), Validation: r.validation(d.validation),
		ReproducesRunID: wire.TextOrNil(r.ReproducesRunID), Timing: r.timing(),
		Cost: r.cost(currency), Status: r.Status, CreatedAt: r.CreatedAt.UTC(), UILinks: studio("dockingRun", r.ID),
	}, nil
}

func (d documents) engine() contract.DockingEngine {
	engine := contract.DockingEngine{Name: engineName, ScoringFunction: scoringFunction, Programs: maps.Clone(d.programs)}
	if engine.Programs == nil {
		engine.Programs = map[string]string{}
	}
	engine.Version = orNull(d.programs[engineProgram])
	if toolchain := d.receptor.Hashes.ToolchainSHA256; toolchain != nil {
		digest := "sha256:" + *toolchain
		engine.WorkerImageDigest = &digest
	}
	return engine
}

func (b *boxDocument) view() *contract.DockingBox {
	if b == nil {
		return nil
	}
	return &contract.DockingBox{Center: b.CenterAngstrom, Size: b.SizeAngstrom, Source: b.Source, Notes: listed(b.Notes)}
}

func (d documents) preparedReceptor(name string) contract.DockingReceptor {
	r := d.receptor
	return contract.DockingReceptor{
		Name:           name,
		IdentitySHA256: r.Hashes.ReceptorIdentitySHA256, PreparationSHA256: r.Hashes.PreparationSHA256,
		ToolchainSHA256: r.Hashes.ToolchainSHA256, CacheKey: r.Hashes.CacheKey, PDBID: d.input.PDBID, Selection: r.Identity,
		Protonation: r.Protonation, Preparation: r.Preparation, Reused: r.Reused, Notes: listed(r.Notes),
	}
}

func (r runRow) validation(found validationDocument) *contract.DockingRunValidation {
	if !r.NativeComponentID.Valid {
		return nil
	}
	return &contract.DockingRunValidation{
		NativeComponentID: r.NativeComponentID.String, RedockRMSDAngstrom: found.RMSDAngstrom,
		ClosestRMSDAngstrom: found.ClosestRMSDAngstrom, GateRMSDAngstrom: wire.OrNil(r.GateRMSDAngstrom), Passed: found.Passed,
		Converged: found.converged(), CNNScore: found.CNNScore,
	}
}

func (r runRow) timing() contract.DockingTiming {
	timing := contract.DockingTiming{
		SubmittedAt: r.SubmittedAt.UTC(), StartedAt: wire.TimeOrNil(r.StartedAt), FinishedAt: wire.TimeOrNil(r.FinishedAt),
		CPUSeconds: secondsOf(r.CPUMicros), ReceptorCPUSeconds: secondsOf(r.ReceptorCPUMicros),
		DockCPUSeconds: secondsOf(r.DockCPUMicros),
	}
	if r.StartedAt.Valid && r.FinishedAt.Valid {
		wall := secondsOf(r.FinishedAt.Time.Sub(r.StartedAt.Time).Microseconds())
		timing.WallSeconds = &wall
	}
	return timing
}

func secondsOf(micros int64) float64 { return (time.Duration(micros) * time.Microsecond).Seconds() }

func (r runRow) cost(currency string) contract.DockingCost {
	accrued := min(billing.Micropence(r.AccruedMicropence).RoundPence(), r.HeldPence)
	cost := contract.DockingCost{Estimated: wire.PoundsOf(r.EstimatedPence), Held: wire.PoundsOf(r.HeldPence),
		Accrued:  wire.PoundsOf(accrued),
		Currency: currency}
	if r.ChargedPence.Valid {
		final := wire.PoundsOf(r.ChargedPence.Int64)
		cost.Held, cost.Accrued, cost.Final = wire.PoundsOf(0), final, &final // nothing is left to hold or to meter
	}
	return cost
}

// listed is the list, and an empty one for nil.
func listed(list []string) []string {
	if list == nil {
		return []string{}
	}
	return slices.Clip(list)
}
