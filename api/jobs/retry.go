package jobs

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/scheduler"
)

const retryText = "Runs a job that has ended again, under its own id: the tasks that did not succeed, or all. The expected cost " +
	"of these is set aside anew, and what they use is charged. What they had made before is withdrawn at once; download it first " +
	"if it is worth keeping. " +
	"Tasks that failed for their input are not run again: submit a corrected request. The body may be left out. " +
	"With an Idempotency-Key the request may be sent again: the first answer comes back."

// Retry runs a job of the caller that has ended again; key may be "". Errors: those of scheduler.Retry, and fault.Validation for a
// key that is none.
func (s *Service) Retry(
	ctx context.Context, accountID, jobID, key string, request contract.RetryRequest,
) (scheduler.Retried, error) {
	if err := checkForm(jobID); err != nil {
		return scheduler.Retried{}, err
	}
	if key != "" && !soundKey(key) {
		return scheduler.Retried{}, unsoundKey(headerPlace)
	}
	scope := scheduler.RetryScope(valueOr(request.Scope, string(scheduler.RetryFailed)))
	retried, err := s.deps.Scheduler.Retry(ctx, scheduler.RetryOrder{
		AccountID: accountID, JobID: jobID, Scope: scope, IdempotencyKey: key, RequestID: access.RequestID(ctx),
	})
	return retried, asNoSuchJob(err)
}

type retryInput struct {
	ID             string                 `path:"id" doc:"Id of the job."`
	IdempotencyKey string                 `header:"Idempotency-Key" minLength:"8" maxLength:"255" doc:"The same key with the same request answers as the first time."`
	Body           *contract.RetryRequest `required:"false"`
}

type retryOutput struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true when an earlier request began the run."`
	Body     contract.RetryResponse
}

func (s *Service) retry(ctx context.Context, in *retryInput) (*retryOutput, error) {
	retried, err := s.Retry(ctx, access.From(ctx).AccountID, in.ID, in.IdempotencyKey, valueOr(in.Body, contract.RetryRequest{}))
	if err != nil {
		return nil, err
	}
	out := &retryOutput{Body: retryAnswer(retried)}
	if retried.Replayed {
		out.Replayed = "true"
	}
	return out, nil
}

func retryOperation() huma.Operation {
	op := post("retry-job", "/v1/jobs/{id}/retry", "Retry a job", retryText, access.Rule{Scope: access.JobsWrite, LiveOnly: true},
		http.StatusPaymentRequired, http.StatusConflict, http.StatusUnprocessableEntity)
	op.DefaultStatus = http.StatusAccepted
	return op
}

// retryAnswer is the wire form of a retry.
func retryAnswer(r scheduler.Retried) contract.RetryResponse {
	return contract.RetryResponse{
		JobID: r.JobID, Status: r.Status, Attempt: r.Attempt, Tasks: r.Tasks,
		EstimatedCost: wire.PoundsOf(r.EstimatedPence), Currency: r.Currency, IdempotentReplay: r.Replayed,
		Message: fmt.Sprintf("The job runs again: run %d, %d of its tasks; %s is set aside, and the run never costs more.",
			r.Attempt, r.Tasks, billing.Display(r.HeldPence)),
	}
}
