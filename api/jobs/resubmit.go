package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/scheduler"
)

// resubmissions bounds the stored requests that are read back at once: the largest takes a gigabyte while it is parsed.
var resubmissions = make(chan struct{}, 2)

// Resubmit submits the request of one of the caller's docking jobs anew, with its seed, the place of its box and its native ligand
// pinned to what they were, and notes that the new job reproduces a run. Files are held against the digests that the request
// states, as at first; names of public data stand for what they stood for then. The caller's own names of the run (dockingRequest)
// stay with the first job. With an idempotency key it may be called again and answers with the first receipt.
//
// Errors: fault.NotFound for a job that the caller does not have, and those of Submit.
func (s *Service) Resubmit(
	ctx context.Context, caller access.Principal, jobID string, seed int64, reproducesRunID, idempotencyKey string,
) (scheduler.Receipt, error) {
	if err := checkForm(jobID); err != nil {
		return scheduler.Receipt{}, err
	}
	select {
	case resubmissions <- struct{}{}:
		defer func() { <-resubmissions }()
	case <-ctx.Done():
		return scheduler.Receipt{}, ctx.Err()
	}
	kept, err := s.store.request(ctx, caller.AccountID, jobID)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	request, err := s.repeated(ctx, jobID, kept, seed)
	if err != nil {
		return scheduler.Receipt{}, fmt.Errorf("repeating job %s: %w", jobID, err)
	}
	request.reproducesRunID = reproducesRunID
	return s.accept(ctx, caller, idempotencyKey, request)
}

// repeated is a stored request as it is submitted again.
func (s *Service) repeated(ctx context.Context, jobID string, kept json.RawMessage, seed int64) (submission, error) {
	var request submission
	if err := json.Unmarshal(kept, &request.SubmitRequest); err != nil {
		return request, fmt.Errorf("reading the stored request: %w", err)
	}
	plan, err := s.store.prepareShards(ctx, jobID)
	if err != nil {
		return request, err
	}
	if request.SimulationParams == nil {
		request.SimulationParams = &SimulationParams{}
	}
	found, err := request.SimulationParams.Repeat(plan, seed)
	request.first, request.DockingRequest = &found, nil
	return request, err
}
