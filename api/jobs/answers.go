package jobs

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// SubmitAnswer is Submit for callers that want the receipt as it goes over the wire.
func (s *Service) SubmitAnswer(
	ctx context.Context, caller access.Principal, headerKey string, request SubmitRequest,
) (contract.SubmitResponse, error) {
	receipt, err := s.Submit(ctx, caller, headerKey, request)
	if err != nil {
		return contract.SubmitResponse{}, err
	}
	answer, err := submitAnswer(receipt)
	if err != nil {
		return contract.SubmitResponse{}, err
	}
	return answer.Body, nil
}

// submitAnswer is the wire form of a receipt.
func submitAnswer(receipt scheduler.Receipt) (*submitOutput, error) {
	forecast, err := receptorForecast(receipt.Forecast)
	if err != nil {
		return nil, err
	}
	out := &submitOutput{Body: contract.SubmitResponse{
		JobID: receipt.JobID, JobType: receipt.JobType, Receptor: forecast,
		EstimatedCost: wire.PoundsOf(receipt.Quote.EstimatedPence), Currency: receipt.Quote.Currency,
		Tasks: receipt.Tasks, KnownTasks: receipt.Known,
		Status: job.Submitted, Provider: provider, IdempotentReplay: receipt.Replayed,
		Message: "The job is stored and will run; " + billing.Display(receipt.Quote.HeldPence) +
			" is set aside, and it never costs more.",
	}}
	if receipt.Replayed {
		out.Replayed = "true"
		out.Body.Message = "An earlier submission with this idempotency key made the job; this is its answer."
	}
	return out, nil
}

// estimateAnswer is the wire form of a priced plan.
func estimateAnswer(estimation scheduler.Estimation) contract.EstimateResponse {
	q := estimation.Quote
	rates := contract.VariableRates{HardwareRate: wire.ExactPounds(q.Rates.HardwarePerCoreHour),
		EgressRate: wire.ExactPounds(q.Rates.EgressPerGB)}
	if q.Rates.GPUPerDeviceHour != nil {
		rates.GPURate = ref(wire.ExactPounds(*q.Rates.GPUPerDeviceHour))
	}
	return contract.EstimateResponse{
		EstimatedCost: wire.PoundsOf(q.EstimatedPence), Currency: q.Currency, HasLicenseFee: q.HasLicenseFee,
		LicenseNames: q.LicenseNames,
		Breakdown: contract.Breakdown{
			Compute: wire.ExactPounds(q.Breakdown.Compute), Software: wire.ExactPounds(q.Breakdown.Software),
			Storage: wire.ExactPounds(q.Breakdown.Storage), Egress: wire.ExactPounds(q.Breakdown.Egress),
			StartFee: wire.ExactPounds(q.Breakdown.StartFee),
		},
		VariableRates: rates, Tasks: estimation.Tasks, KnownTasks: estimation.Known,
		Range: contract.CostRange{Low: wire.PoundsOf(q.LowPence), Likely: wire.PoundsOf(q.LikelyPence),
			High: wire.PoundsOf(q.HighPence)},
	}
}

// jobAnswer is a job with its entity tag, or 304 for a client that has it.
func jobAnswer(view contract.Job, ifNoneMatch string) (*jobOutput, error) {
	tag, err := etag(view)
	if err != nil {
		return nil, err
	}
	out := &jobOutput{Status: http.StatusOK, ETag: tag, Body: view}
	if wire.Matches(ifNoneMatch, tag) {
		out.Status = http.StatusNotModified
	}
	if !view.Terminal {
		out.RetryAfter = ref(pollSeconds)
	}
	return out, nil
}

// cancelAnswer is 202 for the call that cancelled the job, and 200 for any later one.
func cancelAnswer(jobID string, c scheduler.Cancellation) *cancelOutput {
	out := &cancelOutput{Status: http.StatusAccepted, Body: contract.CancelResponse{JobID: jobID, Status: c.Status,
		Message: "The job is being stopped."}}
	switch {
	case c.Status == job.Cancelled:
		out.Body.Message = "The job is cancelled."
	case c.Already:
		out.Body.Message = "The job is being stopped already."
	}
	if c.Already {
		out.Status = http.StatusOK
	}
	return out
}

// view is the wire form of an output file.
func (f artifact) view(url string, expiresAt time.Time) contract.Output {
	return contract.Output{
		ArtifactID: f.ID, Name: f.Name, Role: f.Role, TaskIndex: f.TaskIndex, StorageKey: f.StorageKey, SHA256: f.SHA256,
		ByteSize: f.ByteSize, MediaType: f.MediaType, Format: f.Format, Frame: f.Frame, URL: url, URLExpiresAt: expiresAt,
	}
}

// eventsOperation documents the event stream: one schema a kind of event.
func eventsOperation(api huma.API) huma.Operation {
	op := get("watch-job", "/v1/jobs/{id}/events", "Watch a job", eventsText)
	op.Responses = map[string]*huma.Response{
		"200": eventStream(api, "Place of the event in the job's log: a number, for Last-Event-ID.",
			eventKind{"status", reflect.TypeFor[contract.StatusEvent]()},
			eventKind{"progress", reflect.TypeFor[contract.ProgressEvent]()},
			eventKind{"task", reflect.TypeFor[contract.TaskEvent]()}),
		"204": {Description: "The job has ended and the client has every event of it."},
	}
	return op
}

func accountEventsOperation(api huma.API) huma.Operation {
	op := get("watch-account", "/v1/events", "Watch all jobs", accountEventsText)
	op.Responses = map[string]*huma.Response{
		"200": eventStream(api, "A place in the account's log: a number, for Last-Event-ID.",
			eventKind{"status", reflect.TypeFor[contract.AccountStatusEvent]()},
			eventKind{"progress", reflect.TypeFor[contract.AccountProgressEvent]()},
			eventKind{"task", reflect.TypeFor[contract.AccountTaskEvent]()}),
	}
	return op
}

// eventKind is a kind of the events of a stream, with what they tell.
type eventKind struct {
	name string
	data reflect.Type
}

// eventStream describes a stream; place is what the ids of its events are.
func eventStream(api huma.API, place string, kinds ...eventKind) *huma.Response {
	var variants []*huma.Schema
	for _, kind := range kinds {
		variants = append(variants, &huma.Schema{
			Type: huma.TypeObject, Title: kind.name + " event", Required: []string{"data"},
			Properties: map[string]*huma.Schema{
				"id":    {Type: huma.TypeString, Description: place},
				"event": {Type: huma.TypeString, Enum: []any{kind.name}},
				"retry": {Type: huma.TypeInteger, Description: "Milliseconds to wait before coming back."},
				"data": {Type: huma.TypeString, Extensions: map[string]any{
					"contentMediaType": "application/json",
					"contentSchema":    api.OpenAPI().Components.Schemas.Schema(kind.data, true, ""),
				}},
			},
		})
	}
	return &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: &huma.Schema{OneOf: variants, Description: "One event of the stream."}},
	}}
}
