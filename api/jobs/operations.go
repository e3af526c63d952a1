package jobs

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

// pollSeconds is the hint for a client that polls a job that has not ended.
const pollSeconds = 2

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	huma.Register(api, post("submit-job", "/v1/jobs/submit", "Submit a job", submitText,
		access.Rule{Scope: access.JobsWrite, LiveOnly: true, MaxBody: MaxBodyBytes},
		http.StatusPaymentRequired, http.StatusConflict, http.StatusUnprocessableEntity), s.submit)
	huma.Register(api, post("estimate-job", "/v1/jobs/estimate", "Price a job", estimateText,
		access.Rule{MaxBody: MaxBodyBytes}, http.StatusUnprocessableEntity), s.estimate)
	open := post("estimate-job-publicly", "/v1/public/estimate", "Price a job without an account", publicEstimateText,
		access.Rule{Public: true}, http.StatusUnprocessableEntity)
	open.Tags = []string{"Public"}
	huma.Register(api, open, s.estimate)
	huma.Register(api, get("list-jobs", "/v1/jobs", "List jobs", listText), s.list)
	huma.Register(api, readOperation("get-job", "/v1/jobs/{id}", "Read a job", http.StatusMethodNotAllowed), s.job)
	huma.Register(api, readOperation("get-job-status", "/v1/jobs/{id}/status", "Read a job's status"), s.jobStatus)
	huma.Register(api, fromFiles("get-job-outputs", "/v1/jobs/{id}/outputs", "List a job's files", outputsText), s.outputs)
	huma.Register(api, get("list-job-tasks", "/v1/jobs/{id}/tasks", "List a job's tasks", tasksText), s.tasks)
	huma.Register(api, get("get-job-task", "/v1/jobs/{id}/tasks/{taskId}", "Read a task", taskText), s.task)
	huma.Register(api, fromFiles("get-job-logs", "/v1/jobs/{id}/logs", "Read a job's logs", logsText), s.logs)
	huma.Register(api, fromFiles("get-job-provenance", "/v1/jobs/{id}/provenance", "Read a job's provenance", provenanceText),
		s.provenance)
	huma.Register(api, receiptOperation(), s.receipt)
	huma.Register(api, receiptKeysOperation(), s.receiptKeys)
	huma.Register(api, cancelOperation(api), s.cancel)
	huma.Register(api, retryOperation(), s.retry)
	huma.Register(api, deleteFilesOperation(), s.deleteFiles)
	huma.Register(api, eventsOperation(api), s.events)
	huma.Register(api, accountEventsOperation(api), s.accountEvents)
}

const (
	submitText = "Stores a job and sets its price aside. An answer means that the job will run. With an Idempotency-Key " +
		"the request may be sent again: the first answer comes back."
	estimateText       = "Prices a job without storing anything. Any valid credential may ask."
	publicEstimateText = "Prices a job as for an account without licences of its own. Nobody needs a credential; a body has at " +
		"most 1 MB, so a large library is priced by one of its parts."
	listText = "Jobs of the account, newest first."
	jobText  = "The whole state of a job. Send the ETag as If-None-Match to be spared an unchanged answer; Retry-After says " +
		"when to ask again."
	outputsText = "Files that a job has made so far, newest first, each with a short-lived address. Answers while the job runs " +
		"too; complete then is false."
	cancelText = "Asks a job to end. What it has used until then is charged. Asking again is harmless. The body may be left out."
	eventsText = "Server-sent events of a job: what has happened so far, then what happens. Every change of the job's state, and " +
		"the start and the end of every task, comes once and in order; of the progress only the newest is kept. " +
		"The stream ends with the job, after an hour, and when the service restarts; a client that comes back sends " +
		"Last-Event-ID and gets what it missed, also what a retry has brought. " +
		"204 says that there is nothing more to come for now. A comment every 15 seconds keeps a quiet stream open. At most 32 " +
		"streams of an account are open at once."
	accountEventsText = "Server-sent events of all the account's jobs, each with its job's id: what happens from now on, or what " +
		"has happened since Last-Event-ID and what happens then. The stream ends after an hour and when the service restarts; a " +
		"client that comes back with Last-Event-ID misses nothing, and may get the events of the last moment again. Ids stand " +
		"still for a moment and may come without an event. The events of one job come in order; of the progress only the newest " +
		"is kept. A comment every 15 seconds keeps a quiet stream open. It counts as one of the account's 32 streams."
)

type submitInput struct {
	IdempotencyKey string `header:"Idempotency-Key" minLength:"8" maxLength:"255" doc:"The same key with the same request answers as the first time."`
	Body           SubmitRequest
}

// Resolve refuses a misspelt simulator before anything else is said of the body: parameters that do not fit are no news beside it.
func (in *submitInput) Resolve(ctx huma.Context) []error {
	return misspeltFirst(ctx, in.Body.Simulator)
}

// misspeltFirst looks at the simulator of a body that may have broken other rules, and may have been read up to the first of them.
func misspeltFirst(ctx huma.Context, name string) []error {
	if name == "" {
		name = memberOf(ctx.BodyReader(), "simulator")
	}
	if err := refuseMisspelt(name); err != nil {
		return []error{err}
	}
	return nil
}

// memberOf is the text of a member of a JSON object; "" where there is none.
func memberOf(body io.Reader, name string) string {
	decoder := json.NewDecoder(body)
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	for decoder.More() {
		var value json.RawMessage
		member, err := decoder.Token()
		if err != nil || decoder.Decode(&value) != nil {
			return ""
		}
		var text string
		if member == name && json.Unmarshal(value, &text) == nil {
			return text
		}
	}
	return ""
}

type submitOutput struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier submission made the job."`
	Body     contract.SubmitResponse
}

func (s *Service) submit(ctx context.Context, in *submitInput) (*submitOutput, error) {
	receipt, err := s.Submit(ctx, access.From(ctx), in.IdempotencyKey, in.Body)
	if err != nil {
		return nil, err
	}
	return submitAnswer(receipt)
}

type estimateInput struct {
	SceneFile string `query:"sceneFile" doc:"Storage key of the job's input file, where the account has it: then the answer knows what the file holds, and which tasks the account has run before."`
	NoReuse   bool   `query:"noReuse" doc:"Prices a submission with noReuse, which runs every task."`
	Body      EstimateRequest
}

// Resolve is submitInput's.
func (in *estimateInput) Resolve(ctx huma.Context) []error {
	return misspeltFirst(ctx, in.Body.Simulator)
}

type estimateOutput struct{ Body contract.EstimateResponse }

func (s *Service) estimate(ctx context.Context, in *estimateInput) (*estimateOutput, error) {
	in.Body.SceneFile, in.Body.NoReuse = in.SceneFile, in.NoReuse
	estimate, err := s.Estimate(ctx, access.From(ctx).AccountID, in.Body)
	if err != nil {
		return nil, err
	}
	return &estimateOutput{Body: estimate}, nil
}

type listInput struct{ ListQuery }

type listOutput struct{ Body contract.JobList }

func (s *Service) list(ctx context.Context, in *listInput) (*listOutput, error) {
	list, err := s.List(ctx, access.From(ctx).AccountID, in.ListQuery)
	if err != nil {
		return nil, err
	}
	return &listOutput{Body: list}, nil
}

type jobInput struct {
	ID          string `path:"id" doc:"Id of the job."`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of an earlier answer."`
}

type jobOutput struct {
	Status     int
	ETag       string `header:"ETag"`
	RetryAfter *int   `header:"Retry-After" doc:"Seconds until it is worth asking again; only while the job has not ended."`
	Body       contract.Job
}

func (s *Service) job(ctx context.Context, in *jobInput) (*jobOutput, error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	return s.jobStatus(ctx, in)
}

func (s *Service) jobStatus(ctx context.Context, in *jobInput) (*jobOutput, error) {
	view, err := s.Job(ctx, access.From(ctx).AccountID, in.ID)
	if err != nil {
		return nil, err
	}
	return jobAnswer(view, in.IfNoneMatch)
}

type outputsInput struct {
	ID string `path:"id" doc:"Id of the job."`
	OutputQuery
}

type outputsOutput struct{ Body contract.Outputs }

func (s *Service) outputs(ctx context.Context, in *outputsInput) (*outputsOutput, error) {
	outputs, err := s.Outputs(ctx, access.From(ctx).AccountID, in.ID, in.OutputQuery)
	if err != nil {
		return nil, err
	}
	return &outputsOutput{Body: outputs}, nil
}

type cancelInput struct {
	ID   string                  `path:"id" doc:"Id of the job."`
	Body *contract.CancelRequest `required:"false"`
}

type cancelOutput struct {
	Status int
	Body   contract.CancelResponse
}

func (s *Service) cancel(ctx context.Context, in *cancelInput) (*cancelOutput, error) {
	reason := valueOr(in.Body, contract.CancelRequest{}).Reason
	cancellation, err := s.Cancel(ctx, access.From(ctx).AccountID, in.ID, reason)
	if err != nil {
		return nil, err
	}
	return cancelAnswer(in.ID, cancellation), nil
}

type eventsInput struct {
	ID        string `path:"id" doc:"Id of the job."`
	LastEvent string `header:"Last-Event-ID" doc:"Id of the last event that the client has."`
}

func (s *Service) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	watcher, ended, err := s.Watch(ctx, access.From(ctx).AccountID, in.ID, in.LastEvent)
	if err != nil {
		return nil, err
	}
	if ended {
		return &huma.StreamResponse{Body: func(out huma.Context) { out.SetStatus(http.StatusNoContent) }}, nil
	}
	return &huma.StreamResponse{Body: s.streams.Respond(watcher, watcher.release, "job", in.ID, "account", watcher.accountID)}, nil
}

type accountEventsInput struct {
	LastEvent string `header:"Last-Event-ID" doc:"The last id that the stream has sent."`
}

func (s *Service) accountEvents(ctx context.Context, in *accountEventsInput) (*huma.StreamResponse, error) {
	follower, err := s.Follow(ctx, access.From(ctx).AccountID, in.LastEvent)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: s.streams.Respond(follower, follower.release, "account", follower.accountID)}, nil
}

func get(id, path, summary, text string) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Description: text, Tags: []string{"Jobs"},
	}, access.Rule{Scope: access.JobsRead})
}

// fromFiles is get for what is read from a job's files, which their owner may have had deleted.
func fromFiles(id, path, summary, text string) huma.Operation {
	op := get(id, path, summary, text)
	op.Errors = []int{http.StatusGone}
	return op
}

func post(id, path, summary, text string, rule access.Rule, errors ...int) huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, Description: text, Tags: []string{"Jobs"},
		Errors: errors,
	}, rule)
}

func readOperation(id, path, summary string, errors ...int) huma.Operation {
	op := get(id, path, summary, jobText)
	op.Errors = errors
	op.Responses = map[string]*huma.Response{"304": {Description: "The job is as the ETag in If-None-Match says."}}
	return op
}

func cancelOperation(api huma.API) huma.Operation {
	op := post("cancel-job", "/v1/jobs/{id}/cancel", "Cancel a job", cancelText, access.Rule{Scope: access.JobsWrite},
		http.StatusConflict)
	op.DefaultStatus = http.StatusAccepted
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The job was being cancelled, or had been, before this call.",
		Content: map[string]*huma.MediaType{
			"application/json": {Schema: api.OpenAPI().Components.Schemas.Schema(
				reflect.TypeFor[contract.CancelResponse](), true, "")},
		},
	}}
	return op
}
