package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/jobs/lookup"
	"github.com/molfabric/molfabric/api/jobs/parameters"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/frames"
	"github.com/molfabric/molfabric/scheduler"
)

// submission is a job on its way to the scheduler.
type submission struct {
	SubmitRequest
	reproducesRunID string         // the run that the job repeats; "" for every other
	first           *engines.Found // what was found for that run
}

// Submit stores a job that will run. With an idempotency key it may be called again and answers with the first receipt.
//
// Errors: fault.PipelineDisabled, fault.UnsupportedSimulator, fault.Validation, fault.IdempotencyKeyMismatch,
// fault.SceneNotFound, fault.ArtifactNotFound, fault.WorkerImageMismatch, fault.ProviderUnavailable, and those of scheduler.Submit.
func (s *Service) Submit(
	ctx context.Context, caller access.Principal, headerKey string, request SubmitRequest,
) (scheduler.Receipt, error) {
	return s.accept(ctx, caller, headerKey, submission{SubmitRequest: request})
}

func (s *Service) accept(
	ctx context.Context, caller access.Principal, headerKey string, request submission,
) (scheduler.Receipt, error) {
	key, err := idempotencyKey(headerKey, request.SubmitRequest)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	if err := s.admit(request.SubmitRequest); err != nil {
		return scheduler.Receipt{}, err
	}
	engine, work, err := s.understand(request.SubmitRequest)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	if work.JobType == engines.JobTypeSimulation || work.JobType == engines.JobTypePipeline {
		request.Simulator = engine.Spec().ID
	}
	kept, err := canonical(request.SubmitRequest, work.Params)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	if key != "" {
		if receipt, found, err := s.deps.Scheduler.Replay(ctx, caller.AccountID, key, kept); err != nil || found {
			return receipt, err
		}
	}
	params := valueOr(request.SimulationParams, SimulationParams{})
	work.SceneFile, work.Attachments, err = s.lookup.Files(ctx, caller.AccountID, request.SceneFile, request.Attachments,
		params.NamedFiles())
	if err != nil {
		return scheduler.Receipt{}, err
	}
	if work.Found, err = s.lookup.Submission(ctx, caller.AccountID, engine, work, request.first); err != nil {
		return scheduler.Receipt{}, asValidation(err)
	}
	forecast, err := foretell(engine, work)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	names := valueOr(request.DockingRequest, DockingRequest{})
	receipt, err := s.deps.Scheduler.Submit(ctx, scheduler.Submission{
		Request: work, AccountID: caller.AccountID, Plan: caller.Plan, Engine: engine, Forecast: forecast, Canonical: kept,
		IdempotencyKey: key, RequestID: access.RequestID(ctx),
		NoReuse:          request.NoReuse || request.reproducesRunID != "",
		DockingRequestID: names.RequestID, DockingRunID: names.RunID, ReproducesRunID: request.reproducesRunID,
	})
	return receipt, asValidation(err)
}

// Estimate prices a job of an account, with or without its input file; accountID is "" for a visitor, who has no files. What says
// nothing of its work is priced as its engine's typical case. Of a docking whose receptor is one of the account's files, or an
// entry that is kept here, it says what would be docked into. Errors: fault.UnsupportedSimulator, fault.Validation,
// fault.SceneNotFound, fault.ChecksumMismatch, fault.ArtifactNotFound, fault.ProviderUnavailable.
func (s *Service) Estimate(ctx context.Context, accountID string, request EstimateRequest) (contract.EstimateResponse, error) {
	submission, err := request.submission()
	if err != nil {
		return contract.EstimateResponse{}, err
	}
	engine, work, err := s.understand(submission)
	if err != nil {
		return contract.EstimateResponse{}, err
	}
	if work.SceneFile, err = s.sceneToPrice(ctx, accountID, request.SceneFile); err != nil {
		return contract.EstimateResponse{}, err
	}
	if work.Found, err = s.lookup.Estimate(ctx, accountID, engine, work); err != nil {
		return contract.EstimateResponse{}, asValidation(err)
	}
	assumed := ""
	if typical, ok := engine.(engines.Typical); ok {
		if work, assumed, err = typical.Typical(work); err != nil {
			return contract.EstimateResponse{}, asValidation(err)
		}
	}
	forecast, err := foretell(engine, work)
	if err != nil {
		return contract.EstimateResponse{}, err
	}
	estimation, err := s.deps.Scheduler.Estimate(ctx, accountID, engine, work, request.NoReuse)
	if err != nil {
		return contract.EstimateResponse{}, asValidation(err)
	}
	answer := estimateAnswer(estimation)
	answer.Assumed = assumed
	answer.Receptor, err = receptorForecast(forecast)
	return answer, err
}

// foretell is what an engine tells of a request before it is submitted; nil for most. Errors: fault.Validation.
func foretell(engine engines.Engine, work engines.Request) (json.RawMessage, error) {
	forecaster, ok := engine.(engines.Forecaster)
	if !ok {
		return nil, nil
	}
	forecast, err := forecaster.Foretell(work)
	return forecast, asValidation(err)
}

// receptorForecast is the forecast of a docking as it is shown.
func receptorForecast(text json.RawMessage) (*contract.Forecast, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var forecast contract.Forecast
	if err := json.Unmarshal(text, &forecast); err != nil {
		return nil, fmt.Errorf("reading the forecast of a docking: %w", err)
	}
	return &forecast, nil
}

// sceneToPrice finds the file that an estimate names: lookup.NoScene where it names none. Errors: fault.Validation,
// fault.SceneNotFound.
func (s *Service) sceneToPrice(ctx context.Context, accountID, key string) (engines.Object, error) {
	switch {
	case key == "":
		return lookup.NoScene, nil
	case accountID == "":
		return engines.Object{}, fault.New(fault.Validation,
			"sceneFile: is an account's own file, and nobody is signed in; leave it out, or ask POST /v1/jobs/estimate")
	}
	scene, _, err := s.lookup.Files(ctx, accountID, key, nil, nil)
	return scene, err
}

// submission is the job that an estimate asks about, without its files.
func (e EstimateRequest) submission() (SubmitRequest, error) {
	metadata, err := json.Marshal(valueOr(e.Metadata, EstimateMetadata{}))
	if err != nil {
		return SubmitRequest{}, fmt.Errorf("writing metadata: %w", err)
	}
	return SubmitRequest{
		JobType: e.JobType, FrameStart: e.FrameStart, FrameEnd: e.FrameEnd, FrameStep: e.FrameStep, Parameters: e.Parameters,
		Simulator: e.Simulator, TaskCount: e.TaskCount, SimulationParams: e.SimulationParams, Metadata: metadata,
		Recovery: e.Recovery,
	}, nil
}

// admit applies the rules of a submission that an estimate does not have: a disabled type first, then the missing scene, then
// members of other types. Errors: fault.PipelineDisabled, fault.Validation.
func (s *Service) admit(request SubmitRequest) error {
	if valueOr(request.JobType, engines.JobTypeRender) == engines.JobTypePipeline && !s.deps.Pipeline {
		return fault.New(fault.PipelineDisabled, "jobType: pipeline is not enabled in this deployment; submit the simulation and "+
			"the render as two jobs")
	}
	if request.SceneFile == "" {
		return fault.New(fault.Validation, "sceneFile: is required; give the s3Key that POST /v1/jobs/upload-url returned")
	}
	return checkMembers(request)
}

// understand applies the rules that no schema can state, finds the engine and writes what it plans from, without the stored
// files. Errors: fault.Validation, fault.UnsupportedSimulator.
func (s *Service) understand(request SubmitRequest) (engines.Engine, engines.Request, error) {
	work := engines.Request{
		JobName: request.JobName, JobType: valueOr(request.JobType, engines.JobTypeRender),
		TaskCount: valueOr(request.TaskCount, 0), OutputFormat: request.OutputFormat,
		Parameters: request.Parameters, Metadata: json.RawMessage(`{}`), Recovery: recoveryMode(request.Recovery),
	}
	if len(request.Metadata) > 0 {
		work.Metadata = json.RawMessage(request.Metadata)
	}
	looks, err := pictureOf(request.Metadata)
	if err != nil {
		return nil, work, err
	}
	if work.Frames, err = framesOfType(work.JobType, request); err != nil {
		return nil, work, err
	}
	if work.JobType == engines.JobTypeMolecular || work.JobType == engines.JobTypePipeline {
		err = looks.check()
	}
	if work.JobType == engines.JobTypeSimulation || work.JobType == engines.JobTypePipeline {
		err = errors.Join(err, checkTaskCount(request.TaskCount))
	}
	if err != nil {
		return nil, work, err
	}
	engine, err := s.engineFor(work.JobType, request, looks)
	if err != nil {
		return nil, work, err
	}
	params, err := parameters.Complete(request.SimulationParams, engine.Spec().ID)
	params.Into(&work)
	return engine, work, err
}

// framesOfType says which frames a request of a job type asks for. A render job that names none is a still. The frames of a
// molecular job come from its scene, which an estimate does not have: there, the frames that it names stand for them.
func framesOfType(jobType string, request SubmitRequest) ([]frames.Range, error) {
	if jobType == engines.JobTypeSimulation {
		return nil, nil
	}
	asked, given, err := framesOf(request)
	if err != nil || given || jobType != engines.JobTypeRender {
		return asked, err
	}
	return []frames.Range{{First: defaultFrame, Last: defaultFrame, Step: 1}}, nil
}

// asValidation gives an engine's refusal its place in the request.
func asValidation(err error) error {
	var refused *engines.InvalidError
	if !errors.As(err, &refused) {
		return err
	}
	return fault.Wrap(err, fault.Validation, "%s: %s", engines.Place(refused.Field), refused.Message)
}
