package sim

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// houdini is a priced software of the price book, as a job may write it, and licenseKey what names its licence.
const houdini = `{"software":"HOUDINI"}`

var licenseKey = billing.LicenseKey("Side FX", "houdini engine")

// submitted is a job as its owner knows it.
type submitted struct {
	id            string // "" until an API has acknowledged it
	client        *client
	key           string
	params        string
	metadata      string
	cancels       map[int]bool // runs of which a cancel was acknowledged
	triedToCancel bool
	begun         map[int]bool // runs of which a retry was acknowledged
}

func (j *submitted) submission() scheduler.Submission {
	work := engines.Request{JobType: "simulation", Recovery: "standard",
		SceneFile: engines.Object{StorageKey: "scene", ByteSize: 1},
		Params:    json.RawMessage(j.params), Metadata: json.RawMessage(j.metadata)}
	return scheduler.Submission{Request: work, AccountID: j.client.id, Plan: j.client.plan, Engine: threeStages{},
		Canonical: json.RawMessage(j.params), IdempotencyKey: j.key}
}

// acknowledged are the jobs that their owners know.
func (h *history) acknowledged() []*submitted {
	return slices.DeleteFunc(slices.Clone(h.jobs), func(j *submitted) bool { return j.id == "" })
}

// api is an instance that serves requests; all do.
func (h *history) api() *instance { return pick(h, h.instances) }

func (h *history) submit() {
	if len(h.jobs) >= maxJobs {
		return
	}
	c := pick(h, h.clients)
	j := &submitted{client: c, key: h.newID("key_"), cancels: map[int]bool{}, begun: map[int]bool{},
		params: asJSON(size{Shards: h.between(1, 4), Companions: h.between(0, 2), GPUs: max(h.between(-2, 2), 0)})}
	if h.chance(1, 3) {
		j.metadata = houdini
	}
	h.jobs = append(h.jobs, j)
	h.ask(j)
}

// submitAgain repeats a submission with its idempotency key, acknowledged or not.
func (h *history) submitAgain() {
	if len(h.jobs) > 0 {
		h.ask(pick(h, h.jobs))
	}
}

// ask sends a submission.
func (h *history) ask(j *submitted) {
	i := h.api()
	var receipt scheduler.Receipt
	h.operate(i, "submit "+j.key, func(ctx context.Context) (err error) {
		receipt, err = i.s.Submit(ctx, j.submission())
		return err
	}, func(p *process, err error) {
		switch {
		case err == nil && j.id != "" && receipt.JobID != j.id:
			h.violate("the key %s gave %s again as %s", j.key, j.id, receipt.JobID)
		case err == nil:
			j.id = receipt.JobID
			h.note("accepted", j.id)
		default:
			h.expect(p, err, fault.InsufficientCredits)
		}
	})
}

// expect allows an operation to fail where something was in its way, or for these reasons.
func (h *history) expect(p *process, err error, allowed ...fault.Code) {
	if p.excused || slices.ContainsFunc(allowed, func(code fault.Code) bool { return fault.Is(err, code) }) {
		return
	}
	h.violate("%s failed although nothing was in its way: %v", p.name, err)
}

// cancel makes a user change his mind, rarely: a history in which every job is cancelled tells little.
func (h *history) cancel() {
	known := h.acknowledged()
	if len(known) == 0 || !h.chance(1, 2) {
		return
	}
	i, j := h.api(), pick(h, known)
	j.triedToCancel = true
	var answer scheduler.Cancellation
	h.operate(i, "cancel "+j.id, func(ctx context.Context) (err error) {
		answer, err = i.s.Cancel(ctx, j.client.id, j.id, "")
		return err
	}, func(p *process, err error) {
		if err != nil {
			h.expect(p, err, fault.JobNotCancellable)
			return
		}
		if answer.Status != job.Cancelling && answer.Status != job.Cancelled {
			h.violate("a cancel of %s was accepted and answered %s", j.id, answer.Status)
		}
		h.note("cancelled", j.id)
		if run := h.seen.lockedRun(p, j.id); run > 0 {
			j.cancels[run] = true
		}
	})
}

// retry lets a user ask for a job again, also for one that has not ended.
func (h *history) retry() {
	known := h.acknowledged()
	if len(known) == 0 {
		return
	}
	i, j := h.api(), pick(h, known)
	scope := pick(h, []scheduler.RetryScope{scheduler.RetryFailed, scheduler.RetryFailed, scheduler.RetryAll})
	var answer scheduler.Retried
	h.operate(i, "retry "+j.id, func(ctx context.Context) (err error) {
		answer, err = i.s.Retry(ctx, scheduler.RetryOrder{AccountID: j.client.id, JobID: j.id, Scope: scope})
		return err
	}, func(p *process, err error) {
		switch {
		case err != nil:
			h.expect(p, err, fault.JobNotRetryable, fault.InsufficientCredits)
		case j.begun[answer.Attempt] || answer.Attempt < 2:
			h.violate("two retries of %s began run %d", j.id, answer.Attempt)
		default:
			j.begun[answer.Attempt] = true
			h.note("retried", j.id)
		}
	})
}
