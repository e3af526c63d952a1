package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/scheduler"
)

// resubmissions bounds the stored requests that are read back at once: the largest takes a gigabyte while it is parsed.
var resubmissions = make(chan struct{}, 2)

// Resubmit submits the request of one of the caller's docking jobs anew, with its seed, the place of its box and its native ligand pinned to what they
// were, and notes that the new job reproduces a run. Files are held against the digests that the request states, as at first; names of public data stand for
// what they stood for then. The caller's own names of the run (dockingRequest) stay with the first job. With an idempotency key it may be called again and answers with the first
// receipt.
//
// Errors: fault.NotFound for a job that the caller does not have, and those of Submit.
func (s *Service) Resubmit(ctx context.Context, caller access.Principal, jobID string, seed int64, reproducesRunID, idempotencyKey string) (scheduler.Receipt, error) {
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
	request, err := repeated(kept, seed)
	if err != nil {
		return scheduler.Receipt{}, fmt.Errorf("repeating job %s: %w", jobID, err)
	}
	plan, err := s.store.prepareShards(ctx, jobID)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	found, err := vina.FoundIn(plan)
	if err == nil {
		request.SimulationParams.DockingParams, err = request.SimulationParams.Pinned(plan)
	}
	if err != nil {
		return scheduler.Receipt{}, fmt.Errorf("repeating job %s: %w", jobID, err)
	}
	return s.Submit(reproducing(ctx, reproducesRunID, &found), caller, idempotencyKey, request)
}

// repeated is a stored request as it is submitted again.
func repeated(kept json.RawMessage, seed int64) (SubmitRequest, error) {
	var request SubmitRequest
	if err := json.Unmarshal(kept, &request); err != nil {
		return request, fmt.Errorf("reading the stored request: %w", err)
	}
	if request.SimulationParams == nil {
		request.SimulationParams = &SimulationParams{}
	}
	request.SimulationParams.Seed = &seed
	request.DockingRequest = nil
	return request, nil
}

// reproducedKey carries, from Resubmit to the submission that Submit makes, which run a job reproduces and what was found for it:
// they are the service's own knowledge and no members of a request.
type reproducedKey struct{}

// reproduced is a run that is repeated. found is nil when its names are to be looked up again.
type reproduced struct {
	runID string
	found *engines.Found
}

func reproducing(ctx context.Context, runID string, found *engines.Found) context.Context {
	return context.WithValue(ctx, reproducedKey{}, reproduced{runID, found})
}

// reproducedIn is the run that a submission reproduces; empty for every other submission.
func reproducedIn(ctx context.Context) reproduced {
	of, _ := ctx.Value(reproducedKey{}).(reproduced)
	return of
}
