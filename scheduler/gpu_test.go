package scheduler_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// gpuSubmission is a job whose n docking tasks compute on a device each.
func gpuSubmission(accountID string, n int) scheduler.Submission {
	sub := submission(accountID, n, "")
	sub.Params = json.RawMessage(fmt.Sprintf(`{"shards":%d,"gpus":1}`, n))
	return sub
}

// computed is the end of an attempt that kept a device for 41.000001 s, if its task needs one.
func computed(order queue.WorkOrder) *queue.Event {
	event := success(order)
	if order.Shard.Needs.GPUs > 0 {
		event.Usage.GPUMicroseconds = 41_000_001
	}
	return event
}

// TestATaskOnADeviceWaitsForAGPUWorker: each task goes to the queue of its own class, whoever else is free, and the bill is exact.
func TestATaskOnADeviceWaitsForAGPUWorker(t *testing.T) {
	t.Parallel()
	f := start(t)
	account := f.account()
	f.hire(4, func(order queue.WorkOrder) *queue.Event {
		if order.Queue != cpuQueue || order.Shard.Needs.GPUs > 0 {
			t.Errorf("a worker without devices got %s of %s", order.Shard.Name, order.Queue)
		}
		return computed(order)
	})
	receipt, err := f.Submit(t.Context(), gpuSubmission(account, 3))
	if err != nil {
		t.Fatal(err)
	}
	// Five tasks of 60 CPU seconds, 24 pence an hour; three devices of 60 s, 120 pence an hour; 2 pence to start.
	if got := receipt.Quote; got.EstimatedPence != 10 || got.HeldPence != 20 {
		t.Errorf("quoted %d and held %d pence, want 10 and 20", got.EstimatedPence, got.HeldPence)
	}
	f.eventually("the tasks on devices are queued", func() bool {
		return f.count(`SELECT count(*) FROM tasks WHERE job_id = $1 AND queue = $2 AND status = 'QUEUED'`, receipt.JobID,
			gpuQueue) == 3
	})
	f.hireFor([]string{gpuQueue}, 1, func(order queue.WorkOrder) *queue.Event {
		if order.Queue != gpuQueue || order.Shard.Stage != "dock" {
			t.Errorf("a worker of the class gpu alone got %s of %s", order.Shard.Name, order.Queue)
		}
		return computed(order)
	})
	if got := f.awaitStatus(receipt.JobID, job.Completed); *got.Charged != 6 { // 0.33 + 4.1 pence and 2 to start
		t.Errorf("charged %d pence, want 6", *got.Charged)
	}
	// 10 s of one core are 66,666.67 micropence and 41.000001 s of a device 1,366,666.7: each is rounded, 100 bytes cost 1.
	if n := f.count(`SELECT count(*) FROM task_attempts a JOIN tasks t ON t.id = a.task_id
		WHERE t.queue = $1 AND a.gpu_us = 41000001
		AND a.charged_micropence = 66667 + 1366667 + 1`, gpuQueue); n != 3 {
		t.Errorf("%d attempts on devices are billed to the micropenny, want 3", n)
	}
	if n := f.count(`SELECT count(*) FROM task_attempts a JOIN tasks t ON t.id = a.task_id WHERE t.queue = $1 AND a.gpu_us = 0
		AND a.charged_micropence = 66667 + 1`, cpuQueue); n != 2 {
		t.Errorf("%d attempts without are, want 2", n)
	}
}

// TestWithoutAPriceThereAreNoDevices: what cannot be billed is refused before anything is stored or held.
func TestWithoutAPriceThereAreNoDevices(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	account := f.account()
	sub := gpuSubmission(account, 1)
	book := *f.Prices
	book.Hardware = maps.Clone(book.Hardware)
	delete(book.Hardware, engines.HardwareGPU)
	f.Prices = &book
	_, submitErr := f.Submit(t.Context(), sub)
	_, estimateErr := f.Estimate(t.Context(), account, sub.Engine, engines.Request{Params: sub.Params}, false)
	for _, err := range []error{submitErr, estimateErr} {
		if !fault.Is(err, fault.UnsupportedSimulator) || !strings.Contains(err.Error(),
			"this deployment has no GPU workers in its price book; choose the CPU") {
			t.Errorf("got %v, want UNSUPPORTED_SIMULATOR with the way out", err)
		}
	}
	if n := f.count(`SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM holds)`); n != 0 {
		t.Errorf("%d jobs and holds are left", n)
	}
	f.submit(account, 1) // which needs none
}

// TestARetryPaysForDevicesAgain: the tasks that run again are held at the price of their own class.
func TestARetryPaysForDevicesAgain(t *testing.T) {
	t.Parallel()
	f := start(t)
	account := f.account()
	var mended atomic.Bool
	f.hireFor([]string{cpuQueue, gpuQueue}, 1, func(order queue.WorkOrder) *queue.Event {
		if !mended.Load() && order.Shard.Needs.GPUs > 0 {
			return failure(engines.Timeout)
		}
		return computed(order)
	})
	receipt, err := f.Submit(t.Context(), gpuSubmission(account, 1))
	if err != nil {
		t.Fatal(err)
	}
	f.awaitStatus(receipt.JobID, job.Failed)
	mended.Store(true)
	retried, err := f.Retry(t.Context(), scheduler.RetryOrder{AccountID: account, JobID: receipt.JobID,
		Scope: scheduler.RetryFailed})
	if err != nil || retried.Tasks != 2 || retried.EstimatedPence != 3 || retried.HeldPence != 6 { // 2 × 0.4 + 2 pence, twice
		t.Fatalf("retried %+v, %v; want two tasks for 3 pence, 6 held", retried, err)
	}
	f.awaitStatus(receipt.JobID, job.Completed)
}

// undeclared asks for a device although its Spec says that it never does.
type undeclared struct{ threeStages }

func (undeclared) Spec() engines.Spec {
	return engines.Spec{ID: "autodock-vina", Title: "three stages", Hardware: "cpu"}
}

func TestAnEngineSaysThatItUsesDevices(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	sub := gpuSubmission(f.account(), 1)
	sub.Engine = undeclared{}
	if _, err := f.Submit(t.Context(), sub); err == nil || !strings.Contains(err.Error(), "worker class gpu") {
		t.Errorf("got %v, want an error that names the class: nobody would ever look into its queue", err)
	}
}

// TestRangeOnDevicesComesFromTheirTime: the range of a job on devices follows the device time of earlier ones.
func TestRangeOnDevicesComesFromTheirTime(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	f.Now = func() time.Time { return now }
	estimate := func() billing.Quote {
		t.Helper()
		work := engines.Request{Params: json.RawMessage(`{"shards":600,"gpus":1}`)}
		got, err := f.Estimate(t.Context(), "", threeStages{}, work, false)
		if err != nil {
			t.Fatal(err)
		}
		return got.Quote
	}
	// 602 tasks of 60 CPU seconds, 600 of them with as many on a device: 240.8 + 1,200 pence and 2 to start.
	if got := estimate(); got.EstimatedPence != 1443 || got.LikelyPence != 1443 || got.HighPence != got.HoldPence {
		t.Fatalf("without history: %+v", got)
	}
	f.finished(100, func(int) (weight, used float64) { return 60, 60 })
	f.db.MustExec(`UPDATE tasks SET queue = $1, gpu_weight = 60 WHERE status = 'SUCCEEDED'`, gpuQueue)
	f.db.MustExec(`UPDATE task_attempts SET gpu_us = 30000000`)
	now = now.Add(time.Minute)
	// Half of what was expected on devices, of 1,440 pence; the two tasks on processors alone are as unknown as before.
	if got := estimate(); got.LowPence != 722 || got.LikelyPence != 723 || got.HighPence != 724 || got.EstimatedPence != 1443 {
		t.Errorf("with history: low %d, likely %d, high %d, estimated %d; want 722, 723, 724 and 1443", got.LowPence,
			got.LikelyPence, got.HighPence, got.EstimatedPence)
	}
}
