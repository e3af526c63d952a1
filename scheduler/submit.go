package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// submitOperation is the name under which idempotency keys of submissions live.
const submitOperation = "jobs.submit"

// Submit stores a job with all its tasks and sets its price aside, in one transaction: a returned receipt means that the job
// will run. With an idempotency key it may be called again and answers with the first receipt.
//
// Errors: *engines.InvalidError for a request the engine refuses; fault.InsufficientCredits; fault.IdempotencyKeyReused for
// the same key with another request; fault.IdempotencyInProgress while the first call with the key is still running;
// fault.UnsupportedSimulator when a task needs a device and the deployment sells none.
func (s *Scheduler) Submit(ctx context.Context, sub Submission) (Receipt, error) {
	jobID := s.NewID("job_")
	plan, err := sub.Engine.Plan(sub.of(jobID))
	if err != nil {
		return Receipt{}, err
	}
	if err := s.checkPlan(sub.Engine.Spec(), plan); err != nil {
		return Receipt{}, fmt.Errorf("plan of %s: %w", sub.Engine.Spec().ID, err)
	}
	named, err := s.softwareOf(ctx, sub.AccountID, sub.Metadata)
	if err != nil {
		return Receipt{}, err
	}
	identities := engines.Identities(sub.Engine, plan)
	known := make([]bool, len(plan))
	if !sub.NoReuse {
		known = s.knownOf(ctx, sub.AccountID, sub.Engine.Spec(), plan, identities)
	}
	quote, err := s.quote(sub.Engine, plan, known, named, nil)
	if err != nil {
		return Receipt{}, err
	}
	terms, err := s.Prices.Plan(sub.Plan)
	if err != nil {
		return Receipt{}, err
	}
	now := s.Now().UTC()
	receipt := Receipt{JobID: jobID, JobType: sub.JobType, CreatedAt: now, Forecast: sub.Forecast, Tasks: len(plan),
		Known: count(known), Quote: QuoteSummary{EstimatedPence: quote.EstimatedPence, HeldPence: quote.HoldPence,
			Currency: quote.Currency}}
	err = s.store.InTx(ctx, func(tx Tx) error {
		if sub.IdempotencyKey != "" {
			first, err := claim(ctx, tx, sub, receipt, now)
			if err != nil || first != nil {
				if first != nil {
					receipt = *first
				}
				return err
			}
		}
		if err := s.Ledger.HoldIn(ctx, tx, sub.AccountID, jobID, 1, quote.HoldPence, now); err != nil {
			return err
		}
		accepted := NewJob{Submission: sub, Receipt: receipt, Plan: plan,
			Tasks:    s.taskRows(sub, plan, identities, named, jobID, terms.QueuePriority),
			Software: named.Name, SoftwareFee: int64(named.pencePerCoreHour())}
		if err := tx.InsertJob(ctx, accepted); err != nil {
			return err
		}
		first := &change{tx: tx, now: now}
		if err := first.tellStatus(ctx, &JobRow{ID: jobID, Status: job.Submitted}, ""); err != nil {
			return err
		}
		return tx.Recorder(sub.Engine.Spec().ID).Submitted(ctx, Accepted{Submission: sub, JobID: jobID, Shards: plan, At: now})
	})
	if err != nil {
		return Receipt{}, err
	}
	if !receipt.Replayed {
		s.Metrics.submitted.WithLabelValues(sub.Engine.Spec().ID).Inc()
		s.Log.Info("job submitted", "job", jobID, "account", sub.AccountID, "request", sub.RequestID, "tasks", len(plan),
			"held_pence", quote.HoldPence)
		s.announce(ctx)
	}
	return receipt, nil
}

// Replay returns the receipt of an earlier submission with this key and request. It is asked before a request is planned and its
// files are looked for: a repetition must get its first answer whatever has become of them. Errors: fault.IdempotencyKeyReused.
func (s *Scheduler) Replay(ctx context.Context, accountID, key string, request []byte) (receipt Receipt, found bool, err error) {
	stored, err := s.store.FindAnswer(ctx, idempotency.Claim{AccountID: accountID, Operation: submitOperation, Key: key,
		Request: request}, s.Now().UTC())
	if err != nil || stored == nil {
		return Receipt{}, false, err
	}
	receipt, err = replayed(stored)
	return receipt, err == nil, err
}

// replayed is a stored receipt as later calls get it.
func replayed(stored []byte) (Receipt, error) {
	var first Receipt
	if err := json.Unmarshal(stored, &first); err != nil {
		return Receipt{}, fmt.Errorf("decode stored receipt: %w", err)
	}
	first.Replayed = true
	return first, nil
}

// Estimate prices a request of an account without submitting it, with noReuse as one that runs what is known too; accountID is ""
// for a visitor, who has no licence servers. The engine's *engines.InvalidError is returned as it is.
func (s *Scheduler) Estimate(
	ctx context.Context, accountID string, engine engines.Engine, req engines.Request, noReuse bool,
) (Estimation, error) {
	plan, err := engine.Plan(req)
	if err != nil {
		return Estimation{}, err
	}
	named, err := s.softwareOf(ctx, accountID, req.Metadata)
	if err != nil {
		return Estimation{}, err
	}
	spreads, err := s.spreads(ctx, engine.Spec())
	if err != nil {
		return Estimation{}, err
	}
	known := make([]bool, len(plan))
	if !noReuse {
		known = s.knownOf(ctx, accountID, engine.Spec(), plan, engines.Identities(engine, plan))
	}
	quote, err := s.quote(engine, plan, known, named, spreads)
	return Estimation{Quote: quote, Tasks: len(plan), Known: count(known)}, err
}

// count is how many of them are true.
func count(those []bool) (n int) {
	for _, one := range those {
		if one {
			n++
		}
	}
	return n
}

// quote prices a plan, of which what is known costs nothing. Neither the estimate nor the hold depends on spreads, which are by
// worker class; only the range does.
func (s *Scheduler) quote(
	engine engines.Engine, plan []engines.Shard, known []bool, named software, spreads map[string]*billing.Spread,
) (billing.Quote, error) {
	spec := engine.Spec()
	expected := make([]expectation, len(plan))
	for i, shard := range plan {
		expected[i] = expectation{Class: s.classOf(spec, shard)}
		if !known[i] {
			expected[i].CPUSeconds, expected[i].MostCPUSeconds = shard.ExpectedCPUSeconds, shard.MostCPUSeconds
			expected[i].GPUSeconds = shard.ExpectedGPUSeconds
		}
	}
	request := billing.QuoteRequest{Engine: spec.ID, Nothing: count(known) == len(plan), Hardware: spec.Hardware,
		Software: named.Paid, Spread: spreads[spec.Hardware]}
	return s.price(request, expected, spreads[engines.HardwareGPU])
}

// classOf is the worker class of a shard of a plan by the engine that spec describes: of that engine, or of the one that it names.
func (s *Scheduler) classOf(spec engines.Spec, shard engines.Shard) engines.WorkerClass {
	if shard.Engine != "" {
		if other, ok := s.Engines.Lookup(shard.Engine); ok {
			spec = other.Spec()
		}
	}
	return shard.Class(spec)
}

// expectation is what is expected of a task, and which workers run it. MostCPUSeconds is what it may come to that decides
// by itself how much it does; 0 for all others.
type expectation struct {
	Class                                  engines.WorkerClass
	CPUSeconds, MostCPUSeconds, GPUSeconds float64
}

// price completes a request with what is expected of its tasks and prices it. Errors: those of billing.Book.Quote, and
// fault.UnsupportedSimulator when a task needs a device and the deployment sells none.
func (s *Scheduler) price(request billing.QuoteRequest, tasks []expectation, spreadOnGPU *billing.Spread) (billing.Quote, error) {
	others, devices := map[string]*billing.Work{}, false // by queue, for their order
	for _, task := range tasks {
		onGPU := task.Class.Hardware == engines.HardwareGPU
		devices = devices || onGPU
		switch {
		case task.Class.Engine != request.Engine:
			name := queue.Name(task.Class)
			if others[name] == nil {
				others[name] = &billing.Work{Engine: task.Class.Engine, Hardware: task.Class.Hardware}
			}
			others[name].ExpectedCPUSeconds += task.CPUSeconds
			others[name].ExpectedGPUSeconds += task.GPUSeconds
		case !onGPU:
			request.ExpectedCPUSeconds += task.CPUSeconds
			request.BeyondCPUSeconds += max(task.MostCPUSeconds-task.CPUSeconds, 0)
		default:
			if request.OnGPU == nil {
				request.OnGPU = &billing.GPUWork{Spread: spreadOnGPU}
			}
			request.OnGPU.ExpectedCPUSeconds += task.CPUSeconds
			request.OnGPU.ExpectedGPUSeconds += task.GPUSeconds
		}
	}
	for _, name := range sortedKeys(others) {
		request.Others = append(request.Others, *others[name])
	}
	if _, sold := s.Prices.Hardware[engines.HardwareGPU]; !sold && devices {
		return billing.Quote{}, fault.New(fault.UnsupportedSimulator, "the job asks for a GPU, and this deployment has no GPU "+
			"workers in its price book; choose the CPU (OpenMM's execution.platform, or parameters.Device)")
	}
	return s.Prices.Quote(request)
}

// checkPlan holds an engine to the bounds of its contract.
func (s *Scheduler) checkPlan(spec engines.Spec, plan []engines.Shard) error {
	if len(plan) == 0 || len(plan) > engines.MaxShards {
		return fmt.Errorf("%d shards, want 1 to %d", len(plan), engines.MaxShards)
	}
	stages := map[string]int{} // name → index, of the stages so far
	last := -1
	for i, shard := range plan {
		if shard.StageIndex != last && shard.StageIndex != last+1 || i == 0 && shard.StageIndex != 0 {
			return fmt.Errorf("shard %s: stage %d follows stage %d", shard.Name, shard.StageIndex, last)
		}
		last = shard.StageIndex
		stages[shard.Stage] = last
		runs := spec
		if shard.Engine != "" {
			other, known := s.Engines.Lookup(shard.Engine)
			if !known || other.Spec().ID != shard.Engine {
				return fmt.Errorf("shard %s is of %q, which is no engine", shard.Name, shard.Engine)
			}
			runs = other.Spec()
		}
		if class := shard.Class(runs); !slices.Contains(runs.Classes(), class) {
			return fmt.Errorf("shard %s needs the worker class %s, which the engine does not name", shard.Name, class.Hardware)
		}
		if shard.Needs.GPUs < 0 || shard.Needs.GPUMemoryBytes < 0 || shard.Needs.GPUs == 0 && shard.ExpectedGPUSeconds != 0 {
			return fmt.Errorf("shard %s: %d devices of %d bytes for %g s", shard.Name, shard.Needs.GPUs, shard.Needs.GPUMemoryBytes,
				shard.ExpectedGPUSeconds)
		}
		if len(shard.Params) > engines.MaxShardParamsBytes {
			return fmt.Errorf("shard %s: %d bytes of parameters, at most %d", shard.Name, len(shard.Params),
				engines.MaxShardParamsBytes)
		}
		for _, input := range shard.Inputs {
			if (input.Object == nil) == (input.From == nil) {
				return fmt.Errorf("shard %s: input %s is not exactly one of a stored object and an earlier output", shard.Name,
					input.Name)
			}
			if input.From == nil {
				continue
			}
			if from, known := stages[input.From.Stage]; !known || from >= last {
				return fmt.Errorf("shard %s: input %s comes from %q, which is no earlier stage", shard.Name, input.Name,
					input.From.Stage)
			}
		}
	}
	return nil
}

// claim takes the submission's idempotency key with the answer that this submission will give. When the key is taken it
// returns the answer that was given then.
func claim(ctx context.Context, tx Tx, sub Submission, receipt Receipt, now time.Time) (*Receipt, error) {
	answer, err := json.Marshal(receipt)
	if err != nil {
		return nil, fmt.Errorf("encode receipt: %w", err)
	}
	stored, err := tx.Claim(ctx, idempotency.Claim{
		AccountID: sub.AccountID, Operation: submitOperation, Key: sub.IdempotencyKey, Request: sub.Canonical,
	}, answer, now)
	if err != nil || stored == nil {
		return nil, err
	}
	first, err := replayed(stored)
	return &first, err
}

// taskRows lays a plan out as columns for one bulk insert.
func (s *Scheduler) taskRows(
	sub Submission, plan []engines.Shard, identities []engines.Identity, named software, jobID string, priority int,
) TaskColumns {
	spec := sub.Engine.Spec()
	rows := TaskColumns{Identity: identities}
	for i, shard := range plan {
		rows.ID = append(rows.ID, s.NewID("task_"))
		rows.Ordinal = append(rows.Ordinal, int64(i))
		rows.Stage = append(rows.Stage, shard.Stage)
		rows.StageIndex = append(rows.StageIndex, int64(shard.StageIndex))
		rows.Name = append(rows.Name, shard.Name)
		rows.Essential = append(rows.Essential, shard.Essential)
		rows.Items = append(rows.Items, int64(min(max(shard.Items, 0), math.MaxInt32)))
		rows.Queue = append(rows.Queue, queue.Name(s.classOf(spec, shard)))
		rows.Weight = append(rows.Weight, shard.ExpectedCPUSeconds)
		rows.GPUWeight = append(rows.GPUWeight, shard.ExpectedGPUSeconds)
		rows.Wall = append(rows.Wall, shard.ExpectedWallSeconds())
		rows.Ready = append(rows.Ready, shard.StageIndex == 0)
	}
	rows.JobID, rows.AccountID, rows.Priority, rows.LicenseKey = jobID, sub.AccountID, priority, named.LicenseKey
	rows.Status = job.TaskPending
	return rows
}
