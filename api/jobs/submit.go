package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/scheduler"
)

// Submit stores a job that will run. With an idempotency key it may be called again and answers with the first receipt.
//
// Errors: fault.PipelineDisabled, fault.UnsupportedSimulator, fault.Validation, fault.IdempotencyKeyMismatch,
// fault.SceneNotFound, fault.ArtifactNotFound, and those of scheduler.Submit.
func (s *Service) Submit(ctx context.Context, caller access.Principal, headerKey string, request SubmitRequest) (scheduler.Receipt, error) {
	key, err := idempotencyKey(headerKey, request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	engine, err := s.engineOf(request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	request.Simulator = engine.Spec().ID
	params, err := completed(request.SimulationParams)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	kept, err := canonical(request, params)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	scene, err := s.resolve(ctx, caller.AccountID, request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	receipt, err := s.deps.Scheduler.Submit(ctx, scheduler.Submission{
		AccountID: caller.AccountID, Plan: caller.Plan, JobType: engines.JobTypeSimulation, Engine: engine, JobName: request.JobName,
		RecoveryMode: recoveryMode(request.Recovery), SceneFile: scene, Params: params, TaskCount: valueOr(request.TaskCount, 0),
		Request: kept, IdempotencyKey: key, RequestID: access.RequestID(ctx),
	})
	return receipt, asValidation(err)
}

// Estimate prices a job without an input file. Errors: fault.UnsupportedSimulator, fault.Validation.
func (s *Service) Estimate(request EstimateRequest) (scheduler.Estimation, error) {
	engine, err := s.engineFor(valueOr(request.JobType, engines.JobTypeRender), request.Simulator)
	if err != nil {
		return scheduler.Estimation{}, err
	}
	params, err := completed(request.SimulationParams)
	if err != nil {
		return scheduler.Estimation{}, err
	}
	estimation, err := s.deps.Scheduler.Estimate(engine, engines.Request{
		SceneFile: engines.Object{StorageKey: unknownScene}, Params: params, TaskCount: valueOr(request.TaskCount, 0),
	})
	return estimation, asValidation(err)
}

// unknownScene stands for the input file of an estimate, which has none: no engine's price depends on its name.
const unknownScene = "estimate"

// engineOf finds the engine of a submission and applies the rules on job types in the order of decisions.md: a disabled type
// first, then the missing scene, then what this deployment can run.
func (s *Service) engineOf(request SubmitRequest) (engines.Engine, error) {
	jobType := valueOr(request.JobType, engines.JobTypeRender)
	if jobType == engines.JobTypePipeline {
		return nil, fault.New(fault.PipelineDisabled, "jobType: pipeline is not enabled in this deployment; submit the simulation and the render as two jobs")
	}
	if request.SceneFile == "" {
		return nil, fault.New(fault.Validation, "sceneFile: is required; give the s3Key that POST /v1/jobs/upload-url returned")
	}
	return s.engineFor(jobType, request.Simulator)
}

// engineFor finds the engine that serves a job type and a simulator name.
func (s *Service) engineFor(jobType, simulator string) (engines.Engine, error) {
	available := strings.Join(s.deps.Engines.IDs(), ", ")
	if jobType != engines.JobTypeSimulation {
		return nil, fault.New(fault.UnsupportedSimulator, "jobType: no engine of this deployment serves %s jobs; it runs simulation jobs with: %s", jobType, available)
	}
	if simulator == "" {
		return nil, fault.New(fault.Validation, "simulator: is required for simulation jobs; one of: %s", available)
	}
	engine, ok := s.deps.Engines.Lookup(simulator)
	if !ok {
		return nil, fault.New(fault.UnsupportedSimulator, "simulator: this deployment has no such simulator; one of: %s", available)
	}
	return engine, nil
}

// completed fills in the defaults of simulationParams, so that a request with a default left out and one that states it are
// the same, and writes them as sorted JSON.
func completed(given *SimulationParams) (json.RawMessage, error) {
	params := valueOr(given, SimulationParams{})
	if params.LigandIdentity != nil {
		params.LigandIdentity = ref(params.LigandIdentity.Completed())
	}
	library := params.LigandLibrary
	params.LigandLibrary = make([]mol.LigandEntry, len(library))
	for i, ligand := range library {
		params.LigandLibrary[i] = ligand.Completed()
	}
	params.ReceptorPreparation = ref(params.ReceptorPreparation.Completed())
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("writing simulationParams: %w", err)
	}
	tree, err := decode(text)
	if err != nil {
		return nil, err
	}
	return encode(tree)
}

// asValidation gives an engine's refusal its place in the request.
func asValidation(err error) error {
	var refused *engines.InvalidError
	if !errors.As(err, &refused) {
		return err
	}
	place := refused.Field
	if place != "sceneFile" {
		place = "simulationParams." + place
	}
	return fault.Wrap(err, fault.Validation, "%s: %s", place, refused.Message)
}
