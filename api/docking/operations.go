package docking

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/contract"
)

// base is where the operations lie.
const base = "/v1/molecular/docking"

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	huma.Register(api, read("list-docking-experiments", "/experiments", "List docking experiments", experimentsText),
		s.listExperiments)
	huma.Register(api, read("get-docking-experiment", "/experiments/{id}", "Read a docking experiment", experimentText),
		s.getExperiment)
	huma.Register(api, read("list-docking-batches", "/batches", "List docking batches", batchesText), s.listBatches)
	huma.Register(api, orGone(read("get-docking-batch", "/batches/{id}", "Read a docking batch", batchText)), s.getBatch)
	huma.Register(api, read("list-docking-runs", "/runs", "List docking runs", runsText), s.listRuns)
	huma.Register(api, orGone(read("get-docking-run", "/runs/{id}", "Read a docking run", runText)), s.getRun)
	huma.Register(api, orGone(bundleOperation()), s.bundle)
	huma.Register(api, orGone(reproduceOperation()), s.reproduce)
	registerResults(api, s)
	registerPoses(api, s)
	huma.Register(api, read("get-docking-artifact", "/artifacts/{id}", "Read a docking artifact", artifactText), s.getArtifact)
	huma.Register(api, downloadOperation(), s.download)
}

const (
	experimentsText = "Experiments of the account, newest first: every docking into the same receptor belongs to one."
	experimentText  = "A campaign against one receptor."
	batchesText     = "Batches of the account, newest first: each is a library that was docked as one job."
	batchText       = "A library that was docked as one job, with its best ten ligands so far."
	runsText        = "Runs of the account, newest first: each is one docking job, of a single ligand or of a library."
	runText         = "One docking job: receptor, box, search, time and cost. The id may be the caller's own name of the run " +
		"(dockingRequest.runId); of several the newest answers. Of a repetition, reproduction says what it found."
	artifactText = "A file of a docking job. Whether it still is what its SHA-256 says is looked up at most once an hour; FAILED " +
		"means that it is gone or has other bytes."
	downloadText = "A short-lived address of a file of a docking job, made anew for every call; never store it. With " +
		"redirect=true the answer leads there. A file that is gone or has other bytes is 422."
)

// operation is an operation of the group.
func operation(method, id, path, summary, text string, rule access.Rule) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: method, Path: base + path, Summary: summary, Description: text, Tags: []string{"Docking"},
	}, rule)
}

func read(id, path, summary, text string) huma.Operation {
	return operation(http.MethodGet, id, path, summary, text, access.Rule{Scope: access.JobsRead})
}

// orGone adds the answer for a job whose owner had its files deleted.
func orGone(op huma.Operation) huma.Operation {
	op.Errors = append(op.Errors, http.StatusGone)
	return op
}

func (s *Service) listExperiments(ctx context.Context, in *ExperimentQuery) (*wire.Answer[contract.DockingExperimentList], error) {
	return wire.Answered(s.Experiments(ctx, access.From(ctx).AccountID, *in))
}

func (s *Service) getExperiment(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the experiment."`
}) (*wire.Answer[contract.DockingExperiment], error) {
	return wire.Answered(s.Experiment(ctx, access.From(ctx).AccountID, in.ID))
}

func (s *Service) listBatches(ctx context.Context, in *BatchQuery) (*wire.Answer[contract.DockingBatchList], error) {
	return wire.Answered(s.Batches(ctx, access.From(ctx).AccountID, *in))
}

func (s *Service) getBatch(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the batch."`
}) (*wire.Answer[contract.DockingBatch], error) {
	return wire.Answered(s.Batch(ctx, access.From(ctx).AccountID, in.ID))
}

func (s *Service) listRuns(ctx context.Context, in *RunQuery) (*wire.Answer[contract.DockingRunList], error) {
	return wire.Answered(s.Runs(ctx, access.From(ctx).AccountID, *in))
}

func (s *Service) getRun(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the run, or the caller's own name of it."`
}) (*wire.Answer[contract.DockingRun], error) {
	return wire.Answered(s.Run(ctx, access.From(ctx).AccountID, in.ID))
}

func (s *Service) getArtifact(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the artifact."`
}) (*wire.Answer[contract.DockingArtifact], error) {
	return wire.Answered(s.Artifact(ctx, access.From(ctx).AccountID, in.ID))
}

type downloadInput struct {
	ID       string `path:"id" doc:"Id of the artifact."`
	Redirect bool   `query:"redirect" doc:"Lead to the file (302) instead of telling its address."`
}

type downloadOutput struct {
	Status   int
	Location string `header:"Location" doc:"Address of the file, with redirect=true."`
	Body     *contract.DockingDownload
}

func (s *Service) download(ctx context.Context, in *downloadInput) (*downloadOutput, error) {
	made, err := s.Download(ctx, access.From(ctx).AccountID, in.ID)
	if err != nil {
		return nil, err
	}
	out := &downloadOutput{Status: http.StatusOK, Body: &made}
	if in.Redirect {
		out.Status, out.Location = http.StatusFound, made.URL
	}
	return out, nil
}

func downloadOperation() huma.Operation {
	op := read("download-docking-artifact", "/artifacts/{id}/download", "Download a docking artifact", downloadText)
	op.Errors = []int{http.StatusUnprocessableEntity}
	op.Responses = map[string]*huma.Response{"302": {Description: "With redirect=true: Location is the address of the file."}}
	return op
}
