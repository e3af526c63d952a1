package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// table holds rows by an id. Rows are values that nobody changes in place: slices in them are replaced as a whole.
type table[V any] map[string]V

// view is a table as one transaction sees it: what has been committed by now, and its own changes.
type view[V any] struct {
	committed table[V]
	written   table[V]
}

func viewOf[V any](t table[V]) view[V] { return view[V]{committed: t} }

func (v *view[V]) get(id string) V {
	if row, ok := v.written[id]; ok {
		return row
	}
	return v.committed[id]
}

func (v *view[V]) has(id string) bool {
	_, mine := v.written[id]
	_, committed := v.committed[id]
	return mine || committed
}

func (v *view[V]) put(id string, row V) {
	if v.written == nil {
		v.written = table[V]{}
	}
	v.written[id] = row
}

func (v *view[V]) commit() { maps.Copy(v.committed, v.written) }

// ids are those of all rows that the transaction sees, in their order.
func (v *view[V]) ids() []string {
	ids := slices.Collect(maps.Keys(v.committed))
	for id := range v.written {
		if _, known := v.committed[id]; !known {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// tables is everything that a deployment's database holds of jobs and their money.
type tables struct {
	jobs     table[jobState]
	tasks    table[taskState]
	accounts table[accountState]
	holds    table[[]billing.HoldRow] // by job
	servers  table[seating]           // of licences, by account
	answers  table[answer]            // to idempotency keys
}

// jobState is a job with all that belongs to it but its tasks.
type jobState struct {
	scheduler.JobRow
	TaskIDs  []string // in the order of the plan
	History  []historyLine
	Events   []eventLine
	Faults   []faultLine
	Software string
}

type historyLine struct {
	JobID  string     `db:"job_id"`
	Seq    int        `db:"seq"`
	Status job.Status `db:"status"`
	Reason string     `db:"reason"`
	At     time.Time  `db:"at"`
}

// eventLine is what a watcher sees. Body is JSON.
type eventLine struct {
	JobID string    `db:"job_id"`
	Kind  string    `db:"kind"`
	Body  string    `db:"body"`
	At    time.Time `db:"at"`
}

type faultLine struct {
	JobID    string `db:"job_id"`
	WorkerID string `db:"worker_id"`
	Attempts int    `db:"attempts"`
	Code     string `db:"code"`
}

// taskState is a task with its details, its attempts and what these have left.
type taskState struct {
	scheduler.TaskRow
	StageIndex int
	Essential  bool
	Weight     float32
	GPUWeight  float32
	Ready      bool
	Priority   int
	LicenseKey string
	Run        int
	Progress   float32
	NotBefore  time.Time // zero for none, as the others
	StartedAt  time.Time
	FinishedAt time.Time

	shard       engines.Shard
	Failure     *engines.Failure
	Items       string // JSON of failed items; "" for none
	Summary     string
	Programs    string
	Message     string
	Attempts    []settled
	Files       []queue.StoredArtifact
	Checkpoints []checkpointLine // by name
	Kept        []scheduler.KeptRow
}

// settled is an attempt that has ended.
type settled struct {
	scheduler.AttemptRow
	At       time.Time
	QueuedAt time.Time // when it had been handed out
}

// checkpointLine is a saved file, the attempt that saved it, and in which report.
type checkpointLine struct {
	scheduler.CheckpointRow
	Attempt int   `db:"attempt"`
	Seq     int64 `db:"seq"`
}

// accountState is an account with its ledger.
type accountState struct {
	billing.AccountRow
	Entries []billing.EntryRow
}

// answer is a claimed idempotency key.
type answer struct {
	request, response string
	expires           time.Time
}

// seating is what an account's licence server says of its seats.
type seating struct {
	Key         string
	Seats       int
	Enforcement string
	Enabled     bool
}

// serves tells whether jobs run on the server's licence.
func (s seating) serves() bool { return s.Enabled && s.Enforcement != "DISABLED" }

// inFlight tells whether a task is in a queue or with a worker.
func (t taskState) inFlight() bool { return t.Status == job.TaskQueued || t.Status == job.TaskRunning }

// ref names a task's current attempt.
func (t taskState) ref() queue.Ref { return queue.Ref{TaskID: t.ID, Attempt: t.Attempt} }
