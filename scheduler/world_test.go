package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// A history has this many actions before it heals: enough for a few jobs to meet a few faults.
const (
	minSteps = 60
	maxSteps = 160
	// stallTime is long enough for a step to get to the lock that stalls it.
	stallTime = 20 * time.Millisecond
)

// world is everything around the schedulers, moved by one action at a time: users, workers, the network, and a clock that
// only its actions turn. Its workers keep the promises of real ones and no others: they answer for what they hold, keep a
// report until it is acknowledged, and may die, fall silent or come back at any moment.
type world struct {
	f        *fabric
	t        *rapid.T
	ctx      context.Context
	clock    time.Time
	leaders  []*scheduler.Leader
	accounts []*client
	jobs     []*submitted
	workers  []*laborer
	runs     map[queue.Ref]*run  // every attempt that was ever handed to a queue
	kept     map[queue.Ref]int64 // processor time of work that was seen to be kept
	order    []*run              // the same, in the order in which the world learnt of them
	said     []queue.Event       // every report that reached Redis
	seats    seating             // of the first account's licence server
	seated   int                 // tasks that held one of its licences when it was last looked at
}

// client is an account and what it owned at first.
type client struct {
	id    string
	pence int64
}

// submitted is a job as its owner knows it.
type submitted struct {
	id, account, key string
	params, metadata string
	fee              billing.Micropence // of a core-hour of its software
	cancelled        bool               // a cancel of the current run was accepted
	ended            []lastRun          // the runs before the current one
}

// lastRun is how a run ended that was followed by a retry.
type lastRun struct {
	bill
	cancelled bool
}

func (w *world) now() time.Time { return w.clock }

// look checks what must hold at any moment, and notes what only a moment shows.
func (w *world) look() {
	w.checkSeats()
	w.noteKept()
}

// open signs up two accounts with credit for everything and one that can pay for a job or two.
func (w *world) open() {
	for i := range 3 {
		c := &client{id: w.f.account(), pence: 500}
		if i == 2 {
			c.pence = 12
			err := postgres.InTx(w.ctx, w.f.db, func(tx *sqlx.Tx) error {
				_, err := w.f.ledger.Credit(w.ctx, tx, billing.CreditRequest{AccountID: c.id, Type: billing.EntryAdjustment,
					Bucket: billing.Monthly, Pence: c.pence - 500, UniqueKey: c.id, Description: "less"}, w.clock)
				return err
			})
			w.must(err)
		}
		w.accounts = append(w.accounts, c)
	}
	w.openSeats()
	w.hire()
	w.hire()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func pick[T any](w *world, what string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(w.t, what)]
}

func (w *world) leader() *scheduler.Leader { return pick(w, "leader", w.leaders) }

// action is something that may happen next, and how likely it is beside the others. It may find that it has nothing to do.
type action struct {
	name   string
	weight int
	do     func()
}

func (w *world) actions() []action {
	return []action{
		{"submit", 4, w.submit}, {"submit again", 1, w.submitAgain}, {"cancel", 1, w.cancel}, {"retry", 3, w.retry},
		{"dispatch", 6, func() { w.must(w.leader().Dispatch(w.ctx)); w.learn() }},
		{"collect", 6, func() { w.must(w.leader().Collect(w.ctx)) }},
		{"watch", 4, func() { w.must(w.leader().Watch(w.ctx)) }},
		{"claim", 12, w.claim}, {"start", 4, w.start}, {"give back", 1, w.giveBack}, {"save", 4, w.save}, {"end", 12, w.end},
		{"deliver", 14, w.deliver}, {"deliver twice", 3, w.deliverTwice}, {"beat", 3, w.beatAll}, {"tick", 4, w.tick},
		{"hire", 2, w.hire}, {"kill", 1, w.kill}, {"silence", 2, w.silence}, {"flush", 1, w.flush},
		{"lose an entry", 1, w.loseEntry}, {"stray stop", 1, w.strayStop}, {"together", 2, w.together}, {"stall", 1, w.stall},
		{"reseat", 2, w.reseat},
	}
}

// run lets a history happen and then come to its end.
func (w *world) run() {
	var names []string
	do := map[string]func(){}
	for _, a := range w.actions() {
		names = append(names, slices.Repeat([]string{a.name}, a.weight)...)
		do[a.name] = a.do
	}
	w.open()
	w.submit()
	for range rapid.IntRange(minSteps, maxSteps).Draw(w.t, "steps") {
		do[rapid.SampledFrom(names).Draw(w.t, "action")]()
		w.look()
	}
	w.heal()
	for range rapid.IntRange(0, 2).Draw(w.t, "last retries") {
		for range rapid.IntRange(1, 30).Draw(w.t, "more steps") {
			w.retry()
			do[rapid.SampledFrom(names).Draw(w.t, "action")]()
			w.look()
		}
		w.heal()
	}
	w.verdict()
}

func (w *world) submit() {
	if len(w.jobs) >= 6 {
		return
	}
	c := pick(w, "account", w.accounts)
	j := &submitted{account: c.id, key: id.New("key_"), params: fmt.Sprintf(`{"shards":%d,"companions":%d,"gpus":%d}`,
		rapid.IntRange(1, 4).Draw(w.t, "shards"), rapid.IntRange(0, 2).Draw(w.t, "companions"),
		max(rapid.IntRange(-2, 2).Draw(w.t, "gpus"), 0))}
	w.nameSoftware(j)
	receipt, err := w.f.Submit(w.ctx, j.submission())
	if fault.Is(err, fault.InsufficientCredits) && c == w.accounts[2] {
		return
	}
	w.must(err)
	j.id = receipt.JobID
	w.jobs = append(w.jobs, j)
}

func (j *submitted) submission() scheduler.Submission {
	sub := submission(j.account, 1, j.key)
	sub.Params, sub.Canonical, sub.Metadata = json.RawMessage(j.params), json.RawMessage(j.params), json.RawMessage(j.metadata)
	return sub
}

// submitAgain repeats a submission with its idempotency key.
func (w *world) submitAgain() {
	if len(w.jobs) == 0 {
		return
	}
	j := pick(w, "job", w.jobs)
	receipt, err := w.f.Submit(w.ctx, j.submission())
	w.must(err)
	if receipt.JobID != j.id || !receipt.Replayed {
		w.t.Fatalf("the same key again gave %s, want a replay of %s", receipt.JobID, j.id)
	}
}

// cancel makes a user change his mind, rarely: a history in which every job is cancelled tells little.
func (w *world) cancel() {
	if len(w.jobs) > 0 && rapid.IntRange(0, 3).Draw(w.t, "mind") == 0 {
		w.cancelJob(pick(w, "job", w.jobs))
	}
}

func (w *world) cancelJob(j *submitted) {
	_, err := w.f.Cancel(w.ctx, j.account, j.id, "")
	switch {
	case err == nil:
		j.cancelled = true
	case fault.Is(err, fault.JobNotCancellable) && !j.cancelled:
	default:
		w.t.Fatalf("cancel: %v", err)
	}
}

// learn takes note of the attempts that have been queued.
func (w *world) learn() {
	var tasks []struct {
		ID        string `db:"id"`
		Attempt   int    `db:"attempt"`
		JobID     string `db:"job_id"`
		AccountID string `db:"account_id"`
		Stage     string `db:"stage"`
		Name      string `db:"name"`
		Queue     string `db:"queue"`
	}
	w.must(w.f.db.Select(&tasks, `SELECT id, attempt, job_id, account_id, stage, name, queue FROM tasks
		WHERE status IN ('QUEUED', 'RUNNING') ORDER BY id`))
	for _, t := range tasks {
		r := &run{WorkOrder: queue.WorkOrder{TaskID: t.ID, Attempt: t.Attempt, JobID: t.JobID, AccountID: t.AccountID,
			Engine: "autodock-vina", Queue: t.Queue, Shard: engines.Shard{Stage: t.Stage, Name: t.Name},
			OutputPrefix: fmt.Sprintf("accounts/%s/jobs/%s/%s/%d/", t.AccountID, t.JobID, t.ID, t.Attempt)}}
		if w.runs[r.Ref()] == nil {
			claim, _, err := w.f.queue.TakeClaim(w.ctx, r.Queue, r.Ref()) // none of an attempt whose hand-over was lost
			w.must(err)
			r.Claim = claim
			w.runs[r.Ref()] = r
			w.order = append(w.order, r)
		}
	}
}

// tick turns the clock; whoever can shows that it lives.
func (w *world) tick() {
	w.clock = w.clock.Add(time.Duration(rapid.IntRange(100, 3000).Draw(w.t, "ms")) * time.Millisecond)
	w.beatAll()
}

func (w *world) flush() { w.must(w.f.rdb.FlushAll(w.ctx).Err()) }

// loseEntry is a crash between the commit of a dispatch and the queue.
func (w *world) loseEntry() {
	if len(w.order) > 0 {
		r := pick(w, "attempt", w.order)
		_, err := w.f.queue.Remove(r.Queue, r.Ref())
		w.must(err)
	}
}

// strayStop is a stop order that outlives its cause.
func (w *world) strayStop() {
	if len(w.order) > 0 {
		w.must(w.f.queue.StopAttempts(w.ctx, pick(w, "attempt", w.order).Ref()))
	}
}

// together lets two leaders, a user who changes his mind and one who tries again act at the same moment.
func (w *world) together() {
	steps := []func() error{
		func() error { return w.leaders[0].Collect(w.ctx) }, func() error { return w.leaders[1].Collect(w.ctx) },
		func() error { return w.leaders[0].Watch(w.ctx) }, func() error { return w.leaders[1].Watch(w.ctx) },
		func() error { return w.leaders[0].Dispatch(w.ctx) }, func() error { return w.leaders[1].Dispatch(w.ctx) },
	}
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	for i, step := range steps {
		all.Go(func() { errs[i] = step() })
	}
	w.cancel()
	w.retryBeside()
	all.Wait()
	for _, err := range errs {
		w.must(err)
	}
	w.learn()
}

// stall makes a leader give up half-way through a step: somebody holds a job's lock for longer than the leader lives.
func (w *world) stall() {
	if len(w.jobs) == 0 {
		return
	}
	tx, err := w.f.db.BeginTxx(w.ctx, nil)
	w.must(err)
	defer func() { w.must(tx.Rollback()) }()
	_, err = tx.Exec(`SELECT FROM jobs WHERE id = $1 FOR UPDATE`, pick(w, "job", w.jobs).id)
	w.must(err)
	ctx, cancel := context.WithTimeout(w.ctx, stallTime)
	defer cancel()
	leader := w.leader()
	step := pick(w, "step", []func(context.Context) error{leader.Collect, leader.Watch, leader.Dispatch})
	if err := step(ctx); err != nil && ctx.Err() == nil {
		w.t.Fatal(err)
	}
	w.learn()
}

// heal ends all faults and lets every job come to its end. Attempts of a cancelled job run on until they are told to stop.
func (w *world) heal() {
	if rapid.Bool().Draw(w.t, "flush at last") {
		w.flush()
	}
	for _, l := range w.workers {
		l.silent = false
	}
	w.seat(seating{seats: 1, enforcement: "ENFORCED", enabled: true})
	w.workers = append(w.workers, &laborer{id: id.New("wrk_"), self: newClaim(w.f.t)})
	healthy := w.workers[len(w.workers)-1]
	for round := range 300 {
		w.clock = w.clock.Add(time.Second)
		w.beatAll()
		w.must(w.leaders[0].Dispatch(w.ctx))
		w.look()
		w.learn()
		for _, r := range w.order {
			if r.worker == nil {
				w.claimBy(healthy, r)
			}
		}
		for _, r := range w.busy() {
			switch {
			case w.cancelled(r.JobID):
			case round < 10: // programs go on failing for a while
				w.endSomehow(r)
			default:
				w.endAs(r, success(r.WorkOrder))
			}
		}
		for _, l := range w.living() {
			for _, event := range l.outbox {
				w.send(event)
			}
		}
		w.must(w.leaders[0].Collect(w.ctx))
		w.must(w.leaders[0].Watch(w.ctx))
		if w.f.count(`SELECT count(*) FROM jobs WHERE finished_at IS NULL`) == 0 {
			return
		}
		if w.f.count(`SELECT count(*) FROM tasks WHERE status IN ('QUEUED', 'RUNNING')`) == 0 {
			w.clock = w.clock.Add(10 * time.Second) // a retry's back-off
		}
	}
	w.t.Fatal("a job never ended")
}

func (w *world) cancelled(jobID string) bool {
	return slices.ContainsFunc(w.jobs, func(j *submitted) bool { return j.id == jobID && j.cancelled })
}
