package scheduler_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

func newClaim(t testing.TB) queue.Claim {
	t.Helper()
	claim, err := queue.NewClaim(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// unproven counts what was dropped for want of a proof, by its kind.
func (b *bureau) unproven(registry *prometheus.Registry, kind string) float64 {
	b.t.Helper()
	families, err := registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "molfabric_reports_unproven_total" && metric.GetLabel()[0].GetValue() == kind {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// TestForgedReportsChangeNothing: who writes to Redis and has claimed nothing can neither start, save, end nor bill another's
// attempt.
func TestForgedReportsChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	registry := prometheus.NewRegistry()
	var log bytes.Buffer
	b.Metrics, b.Log = scheduler.NewMetrics(registry), slog.New(slog.NewTextHandler(&log, nil))
	jobID := b.submit(b.account(), 1)
	order := b.dispatch(1)["receptor"]
	if order.Claim.IsZero() {
		t.Fatal("the order came without a claim")
	}
	if err := b.leader.Collect(t.Context()); err != nil { // its start
		t.Fatal(err)
	}
	const state = `SELECT to_jsonb(t)::text FROM tasks t UNION ALL SELECT (to_jsonb(j) - 'updated_at')::text FROM jobs j UNION ALL
		SELECT to_jsonb(a)::text FROM task_attempts a UNION ALL SELECT to_jsonb(c)::text FROM task_checkpoints c UNION ALL
		SELECT to_jsonb(l)::text FROM ledger_entries l UNION ALL SELECT to_jsonb(h)::text FROM holds h ORDER BY 1`
	before := b.column(state)
	dear := *success(order)
	dear.Usage.CPUMicroseconds = 3600_000_000
	stolen := order
	stolen.Claim = newClaim(t)
	none := order
	none.Claim = queue.Claim{}
	forgeries := 0
	for _, forged := range []queue.WorkOrder{stolen, none} {
		for _, event := range []queue.Event{dear, *failure(engines.UserInput), {Kind: queue.Started}, {Kind: queue.Cancelled},
			saving(order, 1, "a"),
			{Kind: queue.Failed, GivenBack: true}} {
			b.say(forged, event)
			forgeries++
			if after := b.column(state); after != before {
				t.Fatalf("a forged %s changed\n%s\nto\n%s", event.Kind, before, after)
			}
		}
	}
	if got := b.unproven(registry, "report"); got != float64(forgeries) {
		t.Errorf("counted %v forged reports, want %d", got, forgeries)
	}
	if orders, err := b.queue.Beat(t.Context(), queue.Heartbeat{WorkerID: "wrk_1"}); err != nil || len(orders.Acked) != 0 {
		t.Errorf("forged reports were acknowledged: %v, %v", orders.Acked, err)
	}
	if !strings.Contains(log.String(), order.TaskID) {
		t.Errorf("the log does not tell of the forgeries:\n%s", &log)
	}
	b.say(order, *success(order))
	if got := b.column(`SELECT status FROM tasks WHERE id = $1`, order.TaskID); got != string(job.TaskSucceeded) {
		t.Errorf("after the true report the task is %s", got)
	}
	if got := b.column(`SELECT count(*) FROM tasks WHERE job_id = $1 AND claim_witness IS NOT NULL`, jobID); got != "0" {
		t.Errorf("%s ended tasks keep a witness", got)
	}
}

// TestForgedHeartbeatHoldsNothing: an attempt that somebody merely says to hold is missed.
func TestForgedHeartbeatHoldsNothing(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	registry := prometheus.NewRegistry()
	var log bytes.Buffer
	b.Metrics, b.Log = scheduler.NewMetrics(registry), slog.New(slog.NewTextHandler(&log, nil))
	b.submit(b.account(), 1)
	order := b.dispatch(1)["receptor"]
	b.worker.kill()
	held := queue.Held{Ref: order.Ref(), JobID: order.JobID, Phase: queue.Running, Progress: 0.9, Message: "forged"}
	forger := newClaim(t)
	held = held.Proven(newClaim(t), forger)
	seq := int64(0)
	b.eventually("the attempt is taken back", func() bool {
		seq++
		_, err := b.queue.Beat(context.Background(), queue.Heartbeat{WorkerID: "wrk_forger", Seq: seq,
			Held: []queue.Held{held}}.Signed(forger))
		if err == nil {
			err = b.leader.Watch(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.count(`SELECT count(*) FROM task_attempts WHERE task_id = $1 AND outcome = 'LOST'`, order.TaskID) == 1
	})
	if counted, logged := b.unproven(registry, "heartbeat"), strings.Count(log.String(), "prove no claim"); counted < 2 ||
		logged != 1 {
		t.Errorf("forged heartbeats were counted %v times and logged %d times, want each counted and one logged:\n%s", counted,
			logged, &log)
	}
	if got := b.count(`SELECT count(*) FROM task_details WHERE message = 'forged'`); got != 0 {
		t.Error("the progress of a forged heartbeat was told")
	}
}

// TestAttemptsOfTheReleaseBefore: what was handed out without a claim, before this release or by one that runs beside it, is
// reported without a proof.
func TestAttemptsOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	for name, handOut := range map[string]string{
		"before the column was there": `UPDATE tasks SET claim_witness = NULL, claim_attempt = NULL`,
		"beside this release":         `UPDATE tasks SET attempt = attempt + 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			b.submit(b.account(), 1)
			order := b.dispatch(1)["receptor"]
			b.db.MustExec(handOut)
			order.Claim, order.Attempt = queue.Claim{}, b.count(`SELECT attempt FROM tasks WHERE id = $1`, order.TaskID)
			order.OutputPrefix = strings.TrimSuffix(order.OutputPrefix, "1/") + strconv.Itoa(order.Attempt) + "/"
			b.say(order, *success(order))
			if got := b.column(`SELECT status FROM tasks WHERE id = $1`, order.TaskID); got != string(job.TaskSucceeded) {
				t.Errorf("the task is %s", got)
			}
		})
	}
}

// TestClaimsAreMadeAnew: each attempt has a claim of its own, and that of the one before is worth nothing.
func TestClaimsAreMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.submit(b.account(), 1)
	first := b.dispatch(1)["receptor"]
	second := b.interrupted(first)
	if bytes.Equal(first.Claim.Witness(), second.Claim.Witness()) {
		t.Error("two attempts have one claim")
	}
	late := second
	late.Claim = first.Claim
	b.say(late, *success(second))
	if got := b.column(`SELECT status FROM tasks WHERE id = $1`, second.TaskID); got == string(job.TaskSucceeded) {
		t.Error("the claim of an earlier attempt ended a later one")
	}
}

// TestAnOldCheckpointSetsNothingBack: a true report that somebody sends again later, as whoever can read the stream may,
// does not replace what was saved since. What it alone has told still counts, and its worker hears that it has arrived.
func TestAnOldCheckpointSetsNothingBack(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.submit(b.account(), 1)
	order := b.dispatch(1)["receptor"]
	first, second := saving(order, 1, "a", "b"), saving(order, 2, "a")
	first.Seq, second.Seq = 1, 2
	first.Usage.CPUMicroseconds, second.Usage.CPUMicroseconds = 1_000_000, 2_000_000
	b.say(order, first)
	b.say(order, second)
	b.expect("saved", b.rows(order), "a:2:1 b:1:1")
	b.say(order, first)
	b.expect("after the first report again", b.rows(order), "a:2:1 b:1:1")
	b.say(order, second)
	b.expect("after the second report again", b.rows(order), "a:2:1 b:1:1")
	overtaken := saving(order, 1, "c")
	overtaken.Seq = 1
	b.say(order, overtaken)
	b.expect("after one that was overtaken", b.rows(order), "a:2:1 b:1:1 c:1:1")
	b.expect("kept work", b.column(`SELECT cpu_us FROM kept_work WHERE task_id = $1`, order.TaskID), "2000000")
	next := b.interrupted(order)
	third := saving(next, 3, "a")
	third.Seq = 1 // of its attempt
	b.say(next, third)
	b.expect("of the next attempt", b.rows(order), "a:3:2 b:1:1 c:1:1")
}
