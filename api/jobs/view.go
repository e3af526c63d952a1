package jobs

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"

	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// provider names who runs the jobs.
const provider = "molfabric"

// view turns a record into what its owner sees.
func (r record) view(currency string) (contract.Job, error) {
	status := r.Status
	history, err := r.statusHistory()
	if err != nil {
		return contract.Job{}, err
	}
	return contract.Job{
		JobID: r.ID, JobType: r.JobType, JobName: r.JobName, Simulator: textOrNil(r.Simulator),
		Status: r.Status, Terminal: status.Terminal(), StatusReason: textOrNil(r.StatusReason),
		Provider: provider, Recovery: contract.RecoveryMode{Mode: r.RecoveryMode},
		Progress: r.progress(), Queue: r.queue(), Cost: r.cost(currency),
		Attempts: r.Attempts, Error: r.failure(), StatusHistory: history,
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(), StartedAt: wire.TimeOrNil(r.StartedAt),
		FinishedAt:     wire.TimeOrNil(r.FinishedAt),
		FilesDeletedAt: wire.TimeOrNil(r.FilesDeletedAt),
	}, nil
}

// progress counts ended tasks whole and running ones by their finished part, each weighted with its expected CPU seconds.
func (r record) progress() contract.Progress {
	counts := contract.TaskCounts{
		Total:   r.Pending + r.Queued + r.Running + r.Succeeded + r.Failed + r.Cancelled,
		Pending: r.Pending, Queued: r.Queued, Running: r.Running, Succeeded: r.Succeeded, Failed: r.Failed, Cancelled: r.Cancelled,
	}
	stage, message := r.doing(counts)
	progress := contract.Progress{Percent: percent(r.WeightDone, r.WeightAll, r.Status), Stage: stage, Message: message,
		Tasks: counts}
	if r.FramesAll.Valid {
		progress.FramesDone, progress.FramesTotal = &r.FramesDone.Int64, &r.FramesAll.Int64
	}
	return progress
}

// percent is the finished share of a job in [0, 100] with one decimal, rounded down: 100 means that the job is done, not that
// it nearly is.
func percent(done, all float64, status job.Status) float64 {
	if status == job.Completed || status == job.CompletedWithFailures {
		return 100
	}
	if all <= 0 {
		return 0
	}
	share := math.Floor(done/all*1000) / 10
	if highest := 99.9; !status.Terminal() {
		return min(max(share, 0), highest)
	}
	return min(max(share, 0), 100)
}

// doing says what a job is at, as a stage and a sentence.
func (r record) doing(counts contract.TaskCounts) (stage, message string) {
	switch status := r.Status; {
	case status.Terminal():
		return "finished", fmt.Sprintf("%d of %d tasks succeeded", counts.Succeeded, counts.Total)
	case r.licence(counts) != "":
		return "queued", r.licence(counts)
	case r.StageRunning.Valid && r.MessageRunning.String != "":
		return r.StageRunning.String, r.MessageRunning.String
	case r.StageRunning.Valid:
		return r.StageRunning.String, fmt.Sprintf("%d of %d tasks running", counts.Running, counts.Total)
	case r.StageNext.Valid:
		return r.StageNext.String, fmt.Sprintf("%d tasks wait for a free worker", counts.Pending+counts.Queued)
	case status == job.Cancelling:
		return "queued", "stopping what still runs"
	}
	return "queued", "waiting for a free worker"
}

// licence tells what the account's own licence means for the job just now; "" when there is nothing to tell.
func (r record) licence(counts contract.TaskCounts) string {
	if !r.LicenseSeats.Valid {
		return ""
	}
	waiting := counts.Running+counts.Queued == 0 && counts.Pending > 0
	return scheduler.LicenseNote(r.Software.String, r.LicenseSeats.Int64, r.LicensesInUse.Int64, r.LicenseIsFree, waiting)
}

// queue is the place of a job that waits for its first start.
func (r record) queue() *contract.Queue {
	if status := r.Status; status != job.Submitted && status != job.Queued {
		return nil
	}
	return &contract.Queue{Position: min(r.TasksAhead, maxQueuePosition)}
}

func (r record) cost(currency string) contract.Cost {
	accrued := min(billing.Micropence(r.AccruedMicropence).RoundPence(), r.HeldPence)
	cost := contract.Cost{Estimated: wire.PoundsOf(r.EstimatedPence), Held: wire.PoundsOf(r.HeldPence),
		Accrued:  wire.PoundsOf(accrued),
		Currency: currency}
	if r.ChargedPence.Valid {
		cost.Held, cost.Accrued = wire.PoundsOf(0), wire.PoundsOf(r.ChargedPence.Int64) // nothing is left to hold or to meter
		cost.Final = ref(wire.PoundsOf(r.ChargedPence.Int64))
	}
	return cost
}

func (r record) failure() *contract.JobError {
	if !r.ErrorCode.Valid {
		return nil
	}
	return &contract.JobError{Code: r.ErrorCode.String, Message: r.ErrorMessage.String, FailureClass: r.FailureClass.String,
		Retryable: r.ErrorRetryable}
}

func (r record) statusHistory() ([]contract.StatusChange, error) {
	history := []contract.StatusChange{}
	if err := json.Unmarshal(r.History, &history); err != nil {
		return nil, fmt.Errorf("reading the history of job %s: %w", r.ID, err)
	}
	for i := range history {
		history[i].At = history[i].At.UTC()
	}
	return history, nil
}

func textOrNil(s sql.NullString) *string {
	if !s.Valid || s.String == "" {
		return nil
	}
	return &s.String
}
