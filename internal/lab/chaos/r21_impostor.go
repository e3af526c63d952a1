package chaos

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// impostorID is the name under which the impostor speaks when he borrows none.
	impostorID = "wrk_impostor"
	// forgedHours of processor time are what he reports: the bill would be the whole hold.
	forgedHours = 100
	// forgedBeats is how many heartbeats he sends.
	forgedBeats = 20
)

// villain has what a worker has: its user in Redis. He has read what that user may read, and has claimed one attempt of a
// bystander's.
type villain struct {
	w      *World
	rdb    *redis.Client
	queue  *queue.Queue
	self   queue.Claim
	read   []redis.XMessage // reports of others, with their proofs
	forged int
	// refused is how often the object store refused him.
	refused int
}

// impostor is R21: while an honest worker runs a job, somebody with its credential reports on its attempts. Before, he claims an
// attempt and tries what its permit does not allow.
func impostor(ctx context.Context, w *World, _ *mathrand.Rand) error {
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	if _, err := w.StartScheduler(ctx, "MOLFABRIC_METRICS_LISTEN="+metrics); err != nil {
		return err
	}
	if err := w.Start(ctx, 1, 0, 0); err != nil {
		return err
	}
	v, err := w.villain()
	if err != nil {
		return err
	}
	defer v.rdb.Close()
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	bystander, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	taken, err := bystander.Submit(ctx, Probe{Tasks: 1, Seconds: 1, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	if err := v.abusePermit(ctx, taken); err != nil {
		return err
	}
	jobID, err := account.Submit(ctx, Probe{Tasks: 4, Seconds: 4, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	listened := make(chan error, 1)
	go func() { listened <- v.listen(ctx) }()
	honest, err := w.StartWorker(ctx, WorkerOptions{})
	if err != nil {
		return err
	}
	running, err := w.awaitRunning(ctx, honest, 2)
	if err != nil {
		return err
	}
	if err := <-listened; err != nil {
		return err
	}
	if err := v.forgeAll(ctx, honest.WorkerID(), running); err != nil {
		return err
	}
	if err := w.awaitCounted(ctx, metrics, "report", v.forged); err != nil {
		return err
	}
	if err := w.awaitCounted(ctx, metrics, "heartbeat", 1); err != nil {
		return err
	}
	w.Figure("forged_reports_count", float64(v.forged))
	w.Figure("refused_files_count", float64(v.refused))
	for _, id := range []string{jobID, taken} { // what he claimed and did not do is done by the honest worker
		if err := w.AwaitCompleted(ctx, id); err != nil {
			return err
		}
	}
	return w.onlyHonest(ctx, jobID, honest.WorkerID())
}

func (w *World) villain() (*villain, error) {
	options, err := redis.ParseURL(w.workerRedisURL)
	if err != nil {
		return nil, fmt.Errorf("the address of Redis: %w", err)
	}
	self, err := queue.NewClaim(rand.Reader)
	if err != nil {
		return nil, err
	}
	rdb := redis.NewClient(options)
	return &villain{w: w, rdb: rdb, queue: queue.New(rdb, ""), self: self}, nil
}

// listen reads the reports of others until there are some: the scheduler removes them soon.
func (v *villain) listen(ctx context.Context) error {
	return v.w.Eventually(ctx, "the impostor reads a report", v.w.Bound(patience), func(ctx context.Context) (bool, error) {
		streams, err := v.rdb.XRead(ctx, &redis.XReadArgs{Streams: []string{"molfabric:events", "0"}, Block: time.Second}).Result()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		v.read = streams[0].Messages
		return len(v.read) > 0, nil
	})
}

// forgeAll tries all that a report can do to each of the attempts, in every guise.
func (v *villain) forgeAll(ctx context.Context, honestID string, running []attemptRow) error {
	for _, attempt := range running {
		ref := queue.Ref{TaskID: attempt.TaskID, Attempt: attempt.Attempt}
		for _, workerID := range []string{impostorID, honestID} {
			if err := v.forge(ctx, attempt, workerID); err != nil {
				return err
			}
		}
		for _, name := range []string{"cpu.probe", "gpu.probe"} {
			if claim, _, err := v.queue.TakeClaim(ctx, name, ref); err != nil || !claim.IsZero() {
				return fmt.Errorf("the claim of %s, which runs, was to be had (%w)", ref, err)
			}
		}
	}
	if err := v.beat(ctx, honestID, running); err != nil {
		return err
	}
	for name, err := range map[string]error{
		"stop an attempt":     v.queue.StopAttempts(ctx, queue.Ref{TaskID: running[0].TaskID, Attempt: running[0].Attempt}),
		"flush":               v.rdb.FlushAll(ctx).Err(),
		"read its heartbeats": v.rdb.Get(ctx, "molfabric:worker:"+honestID).Err(),
		"administer":          v.rdb.ConfigGet(ctx, "requirepass").Err(),
	} {
		if err == nil || !strings.Contains(err.Error(), "NOPERM") {
			return fmt.Errorf("a worker's user may %s: %w", name, err)
		}
	}
	return nil
}

// forge reports every kind of event of an attempt: signed by nobody, by himself, and with the proof of a true report.
func (v *villain) forge(ctx context.Context, attempt attemptRow, workerID string) error {
	used := queue.Usage{CPUMicroseconds: forgedHours * 3600 * 1e6, WallMs: forgedHours * 3600 * 1e3, BytesOut: 1 << 40}
	key := fmt.Sprintf("accounts/acct_x/jobs/%s/%s/%d/out", attempt.JobID, attempt.TaskID, attempt.Attempt)
	file := queue.StoredArtifact{Artifact: engines.Artifact{Name: "checkpoint/a", Role: engines.RoleResult},
		Object: engines.Object{StorageKey: key, SHA256: strings.Repeat("0", 64), ByteSize: 1}}
	events := []queue.Event{
		{Kind: queue.Started}, {Kind: queue.Cancelled, Usage: used},
		{Kind: queue.Succeeded, Usage: used, Result: &queue.Result{Artifacts: []queue.StoredArtifact{file}}},
		{Kind: queue.Failed, Usage: used, Failure: &engines.Failure{Class: engines.UserInput, Code: "FORGED", Message: "forged"}},
		{Kind: queue.Failed, GivenBack: true, Failure: &engines.Failure{Class: engines.System, Code: "FORGED", Message: "forged"}},
		{Kind: queue.Checkpointed, Usage: used, Checkpoints: []queue.StoredArtifact{file}},
	}
	for _, event := range events {
		event.Ref, event.JobID, event.WorkerID, event.Engine = queue.Ref{TaskID: attempt.TaskID, Attempt: attempt.Attempt},
			attempt.JobID, workerID, "probe"
		event.ID = id.New("evt_")
		signed := event
		signed.ID, signed.Claim = id.New("evt_"), v.self
		if _, err := v.queue.Report(ctx, []queue.Event{event, signed}); err != nil {
			return err
		}
		event.ID = id.New("evt_")
		args := &redis.XAddArgs{Stream: "molfabric:events", Values: []any{"event", encode(event), "proof",
			v.read[0].Values["proof"]}}
		if err := v.rdb.XAdd(ctx, args).Err(); err != nil {
			return err
		}
		v.forged += 3
	}
	return nil
}

// beat says that he holds the attempts and is far ahead, under his own name and now and then under that of the honest worker.
func (v *villain) beat(ctx context.Context, honestID string, running []attemptRow) error {
	for n := range int64(forgedBeats) {
		hb := queue.Heartbeat{WorkerID: impostorID, Seq: n + 1, Queues: []string{"cpu.probe"}}
		if n%10 == 9 {
			hb.WorkerID, hb.Seq = honestID, n*1_000_000
		}
		for _, attempt := range running {
			held := queue.Held{Ref: queue.Ref{TaskID: attempt.TaskID, Attempt: attempt.Attempt}, JobID: attempt.JobID,
				Phase: queue.Running, Progress: 0.99, Message: "forged",
				Used: queue.Use{CPUMicroseconds: forgedHours * 3600 * 1e6}}
			hb.Held = append(hb.Held, held.Proven(v.self, v.self))
		}
		if _, err := v.queue.Beat(ctx, hb.Signed(v.self)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
	return nil
}

// awaitCounted waits until a scheduler's metric says that it has dropped so much of a kind.
func (w *World) awaitCounted(ctx context.Context, address, kind string, atLeast int) error {
	what := fmt.Sprintf("%d forgeries of kind %s are counted", atLeast, kind)
	return w.Eventually(ctx, what, w.Bound(patience), func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, err
		}
		defer answer.Body.Close()
		lines := bufio.NewScanner(io.LimitReader(answer.Body, maxAnswerBytes))
		for lines.Scan() {
			if count, found := strings.CutPrefix(lines.Text(), `molfabric_reports_unproven_total{kind="`+kind+`"} `); found {
				n, err := strconv.ParseFloat(count, 64)
				return int(n) >= atLeast, err
			}
		}
		return false, lines.Err()
	})
}

// onlyHonest expects one attempt of each task, by the honest worker, at its own price, and nothing of what was forged.
func (w *World) onlyHonest(ctx context.Context, jobID, honestID string) error {
	attempts, err := w.attempts(ctx, jobID)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if a.WorkerID != honestID || a.Attempt != 1 || a.Outcome != "SUCCEEDED" || a.CPUMicroseconds.Int64 >= 3600*1e6 {
			return fmt.Errorf("attempt %d of %s ended as %s of %s after %d µs, want the honest worker's first", a.Attempt, a.TaskID,
				a.Outcome, a.WorkerID,
				a.CPUMicroseconds.Int64)
		}
	}
	if len(attempts) != 4 {
		return fmt.Errorf("%d attempts are settled, want 4", len(attempts))
	}
	traces, err := w.tracesOf(ctx, jobID, "forged")
	if err == nil && traces > 0 {
		err = fmt.Errorf("%d rows tell of what was forged", traces)
	}
	return err
}
