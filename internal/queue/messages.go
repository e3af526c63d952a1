// Package queue is the transport between the scheduler and the workers: asynq for tasks, and a few Redis keys of our own for
// events, acknowledgements, heartbeats and cancels. Nothing here is the truth: all of it may be lost at any moment, and
// Postgres can rebuild what matters.
package queue

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// WorkOrder is everything a worker needs to run one attempt of one task. As it lies in its queue it holds no credential.
type WorkOrder struct {
	TaskID       string          `json:"taskId"`
	Attempt      int             `json:"attempt"`
	JobID        string          `json:"jobId"`
	AccountID    string          `json:"accountId"`
	RequestID    string          `json:"requestId"` // of the submission, for the logs
	Engine       string          `json:"engine"`
	Queue        string          `json:"queue"`
	Shard        engines.Shard   `json:"shard"`
	Inputs       []ResolvedInput `json:"inputs"`
	OutputPrefix string          `json:"outputPrefix"` // storage key prefix of this attempt's outputs, ends with "/"
	CommittedAt  time.Time       `json:"committedAt"`  // when the task could first be run; for pickup latency
	// Avoid are the workers that must give the attempt back, because they have failed its job too often.
	Avoid []string `json:"avoid,omitempty"`
	// Paid is what the attempt may use of what is set aside for its job; zero where the shard's caps allow less.
	Paid Use `json:"paid,omitzero"`
	// ExpectedSeconds is the wall time that nine in ten such attempts stay below, on the cores or devices that the shard asks for;
	// 0 is of schedulers that do not say.
	ExpectedSeconds float64 `json:"expectedSeconds,omitempty"`
	// Reuse is what another task with the same identity has made; nil where there is none. The worker takes it over, or runs the
	// shard where it cannot.
	Reuse *Reuse `json:"reuse,omitempty"`
	// Claim is the secret that reports are proven with. It is handed over beside the order, and leaves Redis with who claims that;
	// Guarded says that there is one.
	Claim   Claim `json:"-"`
	Guarded bool  `json:"guarded,omitempty"`
	// Permit is what the attempt may do in the object store, as a text of the store's. It is a secret, and is handed over as the
	// Claim is.
	Permit []byte `json:"-"`
}

// Ref names the attempt.
func (o WorkOrder) Ref() Ref { return Ref{TaskID: o.TaskID, Attempt: o.Attempt} }

// Reuse is what a task has made that had the same identity as the one that is handed out (engines.Identity).
type Reuse struct {
	Source
	Toolchain string `json:"toolchain"` // of the worker that made it
	Result    Result `json:"result"`
}

// Source names the attempt whose outputs another task has taken over.
type Source struct {
	JobID   string `json:"jobId"`
	TaskID  string `json:"taskId"`
	Attempt int    `json:"attempt"`
}

// Toolchain is a digest of what decides an engine's outputs beside its inputs: the programs with their versions, as the worker has
// found them, and what the engine brings along (engines.Repeater); "" for an engine that does not repeat.
func Toolchain(engine engines.Engine, programs map[string]string) string {
	repeater, ok := engine.(engines.Repeater)
	if !ok {
		return ""
	}
	text, err := json.Marshal(struct {
		Engine, Own string
		Programs    map[string]string
	}{engine.Spec().ID, repeater.Programs(), programs})
	if err != nil { // there are no such texts
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// ResolvedInput is a file that the worker stages at in/<Name> before the start.
type ResolvedInput struct {
	Name   string         `json:"name"`
	Object engines.Object `json:"object"`
	// Resume marks a checkpoint of an earlier attempt. The attempt can do without it: one that is lost or damaged is left out.
	Resume bool `json:"resume,omitempty"`
	// Optional marks another file that the attempt can do without.
	Optional bool `json:"optional,omitempty"`
}

// Ref names one attempt of one task: the fence that every report carries.
type Ref struct {
	TaskID  string `json:"taskId"`
	Attempt int    `json:"attempt"`
}

func (r Ref) String() string { return fmt.Sprintf("%s.%d", r.TaskID, r.Attempt) }

// EventKind is what a worker reports.
type EventKind string

// The kinds of event. Progress is not among them: it travels in the heartbeat, where only the newest matters.
const (
	Started   EventKind = "started"
	Succeeded EventKind = "succeeded"
	Failed    EventKind = "failed"
	Cancelled EventKind = "cancelled"
	// Checkpointed comes any number of times while an attempt runs, and before its end.
	Checkpointed EventKind = "checkpointed"
)

// Event is one report about one attempt. The worker repeats it until it is acknowledged, so applying it twice must be
// harmless.
type Event struct {
	ID       string           `json:"id"` // unique; what an acknowledgement names
	Kind     EventKind        `json:"kind"`
	Ref      Ref              `json:"ref"`
	JobID    string           `json:"jobId"`
	WorkerID string           `json:"workerId"`
	Engine   string           `json:"engine"`
	At       time.Time        `json:"at"`
	Pickup   time.Duration    `json:"pickup,omitempty"`  // of Started: from the dispatch's commit to the engine's start
	Result   *Result          `json:"result,omitempty"`  // of Succeeded
	Failure  *engines.Failure `json:"failure,omitempty"` // of Failed
	// Usage, of every kind of end, is that of the whole attempt; of Checkpointed, what it had used when it last saved finished
	// work, as far as all of that work has been stored. It is zero when no work is kept yet.
	Usage Usage            `json:"usage"`
	Logs  []StoredArtifact `json:"logs,omitempty"` // of every kind of end
	// GivenBack, of Failed, says that the engine was never started here: the attempt counts for nothing, and another worker is to
	// have it.
	GivenBack bool `json:"givenBack,omitempty"`
	// Toolchain, of Succeeded, is that of the engine here; see the function of this name.
	Toolchain string `json:"toolchain,omitempty"`
	// Reused, of Succeeded, says that the engine was not started: the outputs are copies of those that the order named.
	Reused *Source `json:"reused,omitempty"`
	// Redone, of every kind, says that the attempt could not have all the finished work that its order named: work that was kept is
	// done again.
	Redone bool `json:"redone,omitempty"`
	// Checkpoints, of Checkpointed, are files of finished work, each of which replaces the one of its name. At most
	// MaxCheckpoints.
	Checkpoints []StoredArtifact `json:"checkpoints,omitempty"`
	// Seq, of Checkpointed, rises with each such report of its attempt: what a later one has replaced stays replaced,
	// whenever the earlier one arrives, and whoever sends it again. 0 is of workers that do not count.
	Seq int64 `json:"seq,omitempty"`
	// Stray, of Succeeded, is the key of a checkpoint that the attempt may have stored and not reported.
	Stray string `json:"stray,omitempty"`
	// Claim proves the event on its way to the scheduler, which gets a Delivery in its place.
	Claim Claim `json:"-"`
}

// InputLost is the code of an attempt's failure for a file that the fabric keeps and that is lost or damaged. Trying again seldom
// helps.
const InputLost = "INPUT_LOST"

// LeavesSoon is the code of an attempt that was given back because its worker leaves before the attempt can have ended. It counts
// for nothing, however often: a task that fits no living worker waits for one.
const LeavesSoon = "WORKER_LEAVES_SOON"

// Result is an engines.Result whose files have been stored.
type Result struct {
	Summary   []byte                `json:"summary,omitempty"`
	Artifacts []StoredArtifact      `json:"artifacts"`
	Failures  []engines.ItemFailure `json:"failures,omitempty"`
	Programs  map[string]string     `json:"programs,omitempty"`
	// Toolchain is kept with the result. It does not travel in it: a report names it beside, and who collects it puts it here.
	Toolchain string `json:"-"`
}

// StoredArtifact is an output file in the object store.
type StoredArtifact struct {
	engines.Artifact
	engines.Object
}

// Usage is what one attempt used, as metered.
type Usage struct {
	CPUMicroseconds int64 `json:"cpuMicroseconds"` // user + system time of the whole process tree
	// GPUMicroseconds is the running time times the devices and the share of them that the attempt kept from others.
	GPUMicroseconds int64     `json:"gpuMicroseconds,omitempty"`
	WallMs          int64     `json:"wallMs"`
	PeakMemoryBytes int64     `json:"peakMemoryBytes"`
	BytesIn         int64     `json:"bytesIn"`  // staged
	BytesOut        int64     `json:"bytesOut"` // stored
	StartedAt       time.Time `json:"startedAt"`
	FinishedAt      time.Time `json:"finishedAt"`
}

// Phase is what a worker is doing with an attempt that it holds.
type Phase string

// The phases of a held attempt.
const (
	Waiting   Phase = "waiting" // for a free slot or its inputs
	Running   Phase = "running"
	Reporting Phase = "reporting" // the end is told but not yet acknowledged
)

// Heartbeat is a worker's sign of life, sent every HeartbeatInterval. Seq rises by one each time; liveness is judged by its
// rise on the scheduler's own clock, so clocks need not agree.
type Heartbeat struct {
	WorkerID  string                       `json:"workerId"`
	Seq       int64                        `json:"seq"`
	Host      string                       `json:"host"`
	PID       int                          `json:"pid"`
	Version   string                       `json:"version"`
	Queues    []string                     `json:"queues"`
	Slots     int                          `json:"slots"` // processor cores for engines
	Devices   Devices                      `json:"devices,omitzero"`
	Draining  bool                         `json:"draining"`
	Sandbox   string                       `json:"sandbox"`
	Programs  map[string]map[string]string `json:"programs"` // engine → program → version
	Held      []Held                       `json:"held"`
	StartedAt time.Time                    `json:"startedAt"`
	Name      string                       `json:"name,omitempty"` // what who started it calls it
	Until     time.Time                    `json:"until,omitzero"` // when its machine is taken away; zero for never
	// Key and Proof sign the heartbeat; see Signed.
	Key   []byte `json:"key,omitempty"`
	Proof []byte `json:"proof,omitempty"`
}

// Devices are a worker's accelerators.
type Devices struct {
	Total int `json:"total"`
	Free  int `json:"free"`  // those that nobody uses
	Slots int `json:"slots"` // tasks that may use one at once, of all devices together
}

// SlotsOf is how many tasks of a queue the worker can run at once, if each takes one core or one place on a device.
func (hb Heartbeat) SlotsOf(queueName string) int {
	if Class(queueName).Hardware == engines.HardwareGPU {
		return hb.Devices.Slots
	}
	return hb.Slots
}

// Held is an attempt that a worker answers for.
type Held struct {
	Ref
	JobID    string  `json:"jobId"`
	Phase    Phase   `json:"phase"`
	Progress float64 `json:"progress"` // finished fraction, 0..1
	Message  string  `json:"message"`
	Used     Use     `json:"used,omitzero"`
	Proof    []byte  `json:"proof,omitempty"` // see Proven
	Ask      *Ask    `json:"ask,omitempty"`   // of workers that need permits
}

// Use is what an attempt has used until now, as it was last read.
type Use struct {
	CPUMicroseconds int64 `json:"cpuMicroseconds"`
	GPUMicroseconds int64 `json:"gpuMicroseconds,omitempty"`
}

// Use is what of a usage has a price while it grows.
func (u Usage) Use() Use {
	return Use{CPUMicroseconds: u.CPUMicroseconds, GPUMicroseconds: u.GPUMicroseconds}
}

// Beyond reports whether this is more than a sum of money pays for. paid is what the money buys of either alone: the processor
// time of somebody who uses no device, and the devices' time of somebody who uses no processor; zero for what costs nothing.
func (u Use) Beyond(paid Use) bool {
	spent := 0.0
	if paid.CPUMicroseconds > 0 {
		spent += float64(u.CPUMicroseconds) / float64(paid.CPUMicroseconds)
	}
	if paid.GPUMicroseconds > 0 {
		spent += float64(u.GPUMicroseconds) / float64(paid.GPUMicroseconds)
	}
	return spent > 1
}

const (
	// HeartbeatInterval is how often a worker shows that it lives.
	HeartbeatInterval = time.Second
	// heartbeatTTL removes a dead worker's last heartbeat; far longer than the scheduler needs to declare it lost.
	heartbeatTTL = time.Minute
	// ackTTL removes acknowledgements that no worker will fetch any more.
	ackTTL = 10 * time.Minute
	// cancelTTL outlives every attempt that is told to stop; the scheduler sets the key again as long as it is needed.
	cancelTTL = 24 * time.Hour
)
