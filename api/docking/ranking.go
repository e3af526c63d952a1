package docking

import (
	"context"
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

// Ranking is a docking job's best ligands so far and those that failed, in few words: for readers that cannot page.
type Ranking struct {
	JobID    string                 `json:"jobId"`
	Status   job.Status             `json:"status"`
	Complete bool                   `json:"complete"` // the job has ended
	Engine   contract.DockingEngine `json:"engine"`
	Box      *contract.DockingBox   `json:"box,omitempty"`
	Seed     int64                  `json:"seed"`
	Counts   contract.DockingCounts `json:"counts"`
	Ligands  []RankedLigand         `json:"ligands"`  // best first by what the run ranks by
	Failures []FailedLigand         `json:"failures"` // in the order of the request
}

// RankedLigand is a ligand of a Ranking.
type RankedLigand struct {
	Rank             int               `json:"rank"`
	LigandID         string            `json:"ligandId"`
	Label            string            `json:"label"`
	BestScoreKcalMol float64           `json:"bestScoreKcalMol"`
	LigandEfficiency *float64          `json:"ligandEfficiency"`
	PoseCount        int               `json:"poseCount"`
	Files            map[string]string `json:"files"` // names of the job's files with its poses, by format
}

// FailedLigand is a ligand of a Ranking without a result.
type FailedLigand struct {
	LigandID     string `json:"ligandId"`
	Label        string `json:"label"`
	FailureStage string `json:"failureStage"`
	Error        string `json:"error"`
}

// Ranking reads the ranking of one of the account's jobs, with at most limit ranked and at most limit failed ligands. What it
// returns is a Ranking; nil for a job that docks nothing.
func (s *Service) Ranking(ctx context.Context, accountID, jobID string, limit int) (fmt.Stringer, error) {
	row, err := s.store.runOfJob(ctx, accountID, jobID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	run, err := row.view(s.deps.Currency)
	if err != nil {
		return nil, err
	}
	ranking := Ranking{
		JobID: jobID, Status: run.Status, Complete: run.Status.Terminal(), Engine: run.Engine, Box: run.Box,
		Seed: run.Seed, Counts: run.Counts, Ligands: []RankedLigand{}, Failures: []FailedLigand{},
	}
	failed, err := s.store.results(ctx, accountID, resultFilter{RunID: run.RunID, Statuses: []string{statusFailed}}, sorts["index"],
		nil, limit)
	if err != nil {
		return nil, err
	}
	for _, r := range failed {
		ranking.Failures = append(ranking.Failures, FailedLigand{r.LigandID, r.Label, r.FailureStage.String, r.Error.String})
	}
	ranking.Ligands, err = s.rankedLigands(ctx, accountID, run, limit)
	return ranking, err
}

func (s *Service) rankedLigands(ctx context.Context, accountID string, run contract.DockingRun, limit int) ([]RankedLigand, error) {
	rows, err := s.store.results(ctx, accountID, resultFilter{RunID: run.RunID, Statuses: []string{statusCompleted}},
		sorts[bestFirst(run.RankBy)], nil, limit)
	if err != nil {
		return nil, err
	}
	files, err := s.filesOfBest(ctx, accountID, rows)
	if err != nil {
		return nil, err
	}
	ligands := []RankedLigand{}
	for _, r := range rows {
		if r.Rank.Valid {
			view, err := r.view()
			if err != nil {
				return nil, err
			}
			ligands = append(ligands, RankedLigand{*view.Rank, r.LigandID, r.Label, r.BestScoreKcalMol.V, view.LigandEfficiency,
				r.PoseCount, files[r.ID]})
		}
	}
	return ligands, nil
}

// filesOfBest are the names of the files that the best poses of results are in, by result and format.
func (s *Service) filesOfBest(ctx context.Context, accountID string, results []resultRow) (map[string]map[string]string, error) {
	names := make(map[string]map[string]string, len(results))
	if len(results) == 0 {
		return names, nil
	}
	filter := poseFilter{BestOf: make([]string, len(results))}
	for i, r := range results {
		names[r.ID], filter.BestOf[i] = map[string]string{}, r.ID
	}
	rows, err := s.store.poses(ctx, accountID, filter, byRank, nil, len(results))
	if err != nil {
		return nil, err
	}
	poses, err := s.showPoses(ctx, accountID, rows)
	if err != nil {
		return nil, err
	}
	for _, pose := range poses {
		for format, file := range map[string]*contract.DockingPoseArtifact{"sdf": pose.Artifacts.SDF, "pdbqt": pose.Artifacts.PDBQT,
			"complex": pose.Artifacts.ComplexPDB} {
			if file != nil {
				names[pose.ResultID][format] = file.Name
			}
		}
	}
	return names, nil
}

// String is the ranking as people read it.
func (r Ranking) String() string {
	var said strings.Builder
	fmt.Fprintf(&said, "Job %s is %s: %d of %d ligands docked.\n\nrank | ligand | best score (kcal/mol) | poses\n", r.JobID,
		r.Status, r.Counts.Completed, r.Counts.Total)
	for _, ligand := range r.Ligands {
		fmt.Fprintf(&said, "%d | %s (%s) | %.2f | %d\n", ligand.Rank, ligand.Label, ligand.LigandID, ligand.BestScoreKcalMol,
			ligand.PoseCount)
	}
	if more := r.Counts.Completed - len(r.Ligands); more > 0 {
		fmt.Fprintf(&said, "… and %d more\n", more)
	}
	for _, ligand := range r.Failures {
		fmt.Fprintf(&said, "failed: %s (%s) at %s: %s\n", ligand.Label, ligand.LigandID, ligand.FailureStage, ligand.Error)
	}
	if more := r.Counts.Failed - len(r.Failures); more > 0 {
		fmt.Fprintf(&said, "… and %d more failed\n", more)
	}
	return said.String()
}
