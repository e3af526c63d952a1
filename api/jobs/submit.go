package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/frames"
	"github.com/molfabric/molfabric/scheduler"
)

// Submit stores a job that will run. With an idempotency key it may be called again and answers with the first receipt.
//
// Errors: fault.PipelineDisabled, fault.UnsupportedSimulator, fault.Validation, fault.IdempotencyKeyMismatch,
// fault.SceneNotFound, fault.ArtifactNotFound, fault.WorkerImageMismatch, fault.ProviderUnavailable, and those of scheduler.Submit.
func (s *Service) Submit(ctx context.Context, caller access.Principal, headerKey string, request SubmitRequest) (scheduler.Receipt, error) {
	key, err := idempotencyKey(headerKey, request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	if err := s.admit(request); err != nil {
		return scheduler.Receipt{}, err
	}
	engine, work, err := s.understand(request)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	if work.JobType == engines.JobTypeSimulation || work.JobType == engines.JobTypePipeline {
		request.Simulator = engine.Spec().ID
	}
	kept, err := canonical(request, work.Params)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	if key != "" {
		if receipt, found, err := s.deps.Scheduler.Replay(ctx, caller.AccountID, key, kept); err != nil || found {
			return receipt, err
		}
	}
	if work.SceneFile, work.Attachments, err = s.resolve(ctx, caller.AccountID, request); err != nil {
		return scheduler.Receipt{}, err
	}
	if work.Found, err = s.lookUp(ctx, caller.AccountID, request, work, engine); err != nil {
		return scheduler.Receipt{}, err
	}
	forecast, err := foretell(engine, work)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	names := valueOr(request.DockingRequest, DockingRequest{})
	receipt, err := s.deps.Scheduler.Submit(ctx, scheduler.Submission{
		AccountID: caller.AccountID, Plan: caller.Plan, JobType: work.JobType, Engine: engine, JobName: request.JobName,
		RecoveryMode: work.Recovery, SceneFile: work.SceneFile, Attachments: work.Attachments, Params: work.Params, Decoded: work.Decoded, TaskCount: work.TaskCount,
		Frames: work.Frames, OutputFormat: work.OutputFormat, Parameters: work.Parameters, Metadata: work.Metadata,
		Found: work.Found, Forecast: forecast, Request: kept, IdempotencyKey: key, RequestID: access.RequestID(ctx),
		DockingRequestID: names.RequestID, DockingRunID: names.RunID, ReproducesRunID: reproducedIn(ctx).runID,
	})
	return receipt, asValidation(err)
}

// Estimate prices a job of an account without an input file; accountID is "" for a visitor. What says nothing of its work is priced
// as its engine's typical case. Of a docking whose receptor is one of the account's files, or an entry that is kept here, it says
// what would be docked into. Errors: fault.UnsupportedSimulator, fault.Validation, fault.ChecksumMismatch, fault.ArtifactNotFound,
// fault.ProviderUnavailable.
func (s *Service) Estimate(ctx context.Context, accountID string, request EstimateRequest) (EstimateResponse, error) {
	submission, err := request.submission()
	if err != nil {
		return EstimateResponse{}, err
	}
	engine, work, err := s.understand(submission)
	if err != nil {
		return EstimateResponse{}, err
	}
	work.SceneFile = engines.Object{StorageKey: unknownScene}
	if work.Found, err = s.known(ctx, accountID, submission, engine); err != nil {
		return EstimateResponse{}, err
	}
	assumed := ""
	if typical, ok := engine.(engines.Typical); ok {
		if work, assumed, err = typical.Typical(work); err != nil {
			return EstimateResponse{}, asValidation(err)
		}
	}
	forecast, err := foretell(engine, work)
	if err != nil {
		return EstimateResponse{}, err
	}
	estimation, err := s.deps.Scheduler.Estimate(ctx, accountID, engine, work)
	if err != nil {
		return EstimateResponse{}, asValidation(err)
	}
	answer := estimateAnswer(estimation.Quote)
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
func receptorForecast(text json.RawMessage) (*ReceptorForecast, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var forecast ReceptorForecast
	if err := json.Unmarshal(text, &forecast); err != nil {
		return nil, fmt.Errorf("reading the forecast of a docking: %w", err)
	}
	return &forecast, nil
}

// unknownScene stands for the input file of an estimate, which has none: no engine's price depends on its name.
const unknownScene = "estimate"

// submission is the job that an estimate asks about, without its input file.
func (e EstimateRequest) submission() (SubmitRequest, error) {
	metadata, err := json.Marshal(valueOr(e.Metadata, EstimateMetadata{}))
	if err != nil {
		return SubmitRequest{}, fmt.Errorf("writing metadata: %w", err)
	}
	return SubmitRequest{
		JobType: e.JobType, FrameStart: e.FrameStart, FrameEnd: e.FrameEnd, FrameStep: e.FrameStep, Parameters: e.Parameters,
		Simulator: e.Simulator, TaskCount: e.TaskCount, SimulationParams: e.SimulationParams, Metadata: metadata, Recovery: e.Recovery,
	}, nil
}

// admit applies the rules of a submission that an estimate does not have: a disabled type first, then the missing scene, then
// members of other types. Errors: fault.PipelineDisabled, fault.Validation.
func (s *Service) admit(request SubmitRequest) error {
	if valueOr(request.JobType, engines.JobTypeRender) == engines.JobTypePipeline && !s.deps.Pipeline {
		return fault.New(fault.PipelineDisabled, "jobType: pipeline is not enabled in this deployment; submit the simulation and the render as two jobs")
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
		JobType: valueOr(request.JobType, engines.JobTypeRender), TaskCount: valueOr(request.TaskCount, 0), OutputFormat: request.OutputFormat,
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
	work.Params, work.Decoded, err = completed(request.SimulationParams, engine.Spec().ID)
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
	place := refused.Field
	if member, _, _ := strings.Cut(strings.ReplaceAll(place, "[", "."), "."); !slices.Contains(plannedMembers, member) {
		place = "simulationParams." + place
	}
	return fault.Wrap(err, fault.Validation, "%s: %s", place, refused.Message)
}

// plannedMembers are the members beside simulationParams that an engine plans from, and may refuse by their own names. None of
// them is a member of simulationParams too.
var plannedMembers = []string{
	"sceneFile", "attachments", "taskCount", "frameStart", "frameEnd", "frameStep", "outputFormat", "parameters", "metadata", "recovery",
}
