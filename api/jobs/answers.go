package jobs

import (
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// submitAnswer is the wire form of a receipt.
func submitAnswer(receipt scheduler.Receipt) (*submitOutput, error) {
	forecast, err := receptorForecast(receipt.Forecast)
	if err != nil {
		return nil, err
	}
	out := &submitOutput{Body: SubmitResponse{
		JobID: receipt.JobID, JobType: receipt.JobType, Receptor: forecast,
		EstimatedCost: poundsOf(receipt.Quote.EstimatedPence), Currency: receipt.Quote.Currency,
		Status: string(job.Submitted), Provider: provider, IdempotentReplay: receipt.Replayed,
		Message: "The job is stored and will run; " + billing.Display(receipt.Quote.HeldPence) + " is set aside, and it never costs more.",
	}}
	if receipt.Replayed {
		out.Replayed = "true"
		out.Body.Message = "An earlier submission with this idempotency key made the job; this is its answer."
	}
	return out, nil
}

// estimateAnswer is the wire form of a quote.
func estimateAnswer(q billing.Quote) EstimateResponse {
	rates := VariableRates{HardwareRate: exactPounds(q.Rates.HardwarePerCoreHour), EgressRate: exactPounds(q.Rates.EgressPerGB)}
	if q.Rates.GPUPerDeviceHour != nil {
		rates.GPURate = ref(exactPounds(*q.Rates.GPUPerDeviceHour))
	}
	return EstimateResponse{
		EstimatedCost: poundsOf(q.EstimatedPence), Currency: q.Currency, HasLicenseFee: q.HasLicenseFee, LicenseNames: q.LicenseNames,
		Breakdown: Breakdown{
			Compute: exactPounds(q.Breakdown.Compute), Software: exactPounds(q.Breakdown.Software), Storage: exactPounds(q.Breakdown.Storage),
			Egress: exactPounds(q.Breakdown.Egress), StartFee: exactPounds(q.Breakdown.StartFee),
		},
		VariableRates: rates,
		Range:         CostRange{Low: poundsOf(q.LowPence), Likely: poundsOf(q.LikelyPence), High: poundsOf(q.HighPence)},
	}
}

// jobAnswer is a job with its entity tag, or 304 for a client that has it.
func jobAnswer(view Job, ifNoneMatch string) (*jobOutput, error) {
	tag, err := etag(view)
	if err != nil {
		return nil, err
	}
	out := &jobOutput{Status: http.StatusOK, ETag: tag, Body: view}
	if matches(ifNoneMatch, tag) {
		out.Status = http.StatusNotModified
	}
	if !view.Terminal {
		out.RetryAfter = ref(pollSeconds)
	}
	return out, nil
}

// cancelAnswer is 202 for the call that cancelled the job, and 200 for any later one.
func cancelAnswer(jobID string, c scheduler.Cancellation) *cancelOutput {
	out := &cancelOutput{Status: http.StatusAccepted, Body: CancelResponse{JobID: jobID, Status: string(c.Status), Message: "The job is being stopped."}}
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
func (f artifact) view(url string, expiresAt time.Time) Output {
	return Output{
		ArtifactID: f.ID, Name: f.Name, Role: f.Role, TaskIndex: f.TaskIndex, StorageKey: f.StorageKey, SHA256: f.SHA256,
		ByteSize: f.ByteSize, MediaType: f.MediaType, Format: f.Format, Frame: f.Frame, URL: url, URLExpiresAt: expiresAt,
	}
}

// eventsOperation documents the event stream: one schema a kind of event.
func eventsOperation(api huma.API) huma.Operation {
	op := get("watch-job", "/v1/jobs/{id}/events", "Watch a job", eventsText)
	kinds := []struct {
		name string
		data reflect.Type
	}{
		{"status", reflect.TypeFor[StatusEvent]()},
		{"progress", reflect.TypeFor[ProgressEvent]()},
		{"task", reflect.TypeFor[TaskEvent]()},
	}
	var variants []*huma.Schema
	for _, kind := range kinds {
		variants = append(variants, &huma.Schema{
			Type: huma.TypeObject, Title: kind.name + " event", Required: []string{"data"},
			Properties: map[string]*huma.Schema{
				"id":    {Type: huma.TypeString, Description: "Place of the event in the job's log: a number, for Last-Event-ID."},
				"event": {Type: huma.TypeString, Enum: []any{kind.name}},
				"retry": {Type: huma.TypeInteger, Description: "Milliseconds to wait before coming back."},
				"data": {Type: huma.TypeString, Extensions: map[string]any{
					"contentMediaType": "application/json",
					"contentSchema":    api.OpenAPI().Components.Schemas.Schema(kind.data, true, ""),
				}},
			},
		})
	}
	op.Responses = map[string]*huma.Response{
		"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"text/event-stream": {Schema: &huma.Schema{OneOf: variants, Description: "One event of the stream."}},
		}},
		"204": {Description: "The job has ended and the client has every event of it."},
	}
	return op
}
