package job

// Limits on how often a task is started again within a run of its job. Interruptions are the fabric's fault and do not use up
// the retries, but a task that takes every worker down with it must end some day.
const (
	MaxRetries       = 2
	MaxInterruptions = 20
)

// MaxRuns bounds how often a job is run, the retries of its owner included: its history, its events and its attempts stay few
// enough to be read, and a program that retries whatever fails comes to an end.
const MaxRuns = 100

// Counts is how many tasks of a job are in each state. The roll-up only asks which states there are: a reader may count each
// once.
type Counts struct {
	Pending, Queued, Running, Succeeded, Failed, Cancelled int
}

// Total is the number of tasks.
func (c Counts) Total() int {
	return c.Pending + c.Queued + c.Running + c.Succeeded + c.Failed + c.Cancelled
}

// Open is the number of tasks that have not ended.
func (c Counts) Open() int { return c.Pending + c.inFlight() }

// inFlight is the number of tasks that are in a queue or with a worker.
func (c Counts) inFlight() int { return c.Queued + c.Running }

// Add counts n tasks of a state.
func (c *Counts) Add(s TaskStatus, n int) {
	switch s {
	case TaskPending:
		c.Pending += n
	case TaskQueued:
		c.Queued += n
	case TaskRunning:
		c.Running += n
	case TaskSucceeded:
		c.Succeeded += n
	case TaskFailed:
		c.Failed += n
	case TaskCancelled:
		c.Cancelled += n
	}
}

// Snapshot is what a roll-up looks at: the job and the states of its tasks, all read under the job's lock.
type Snapshot struct {
	Status          Status
	StageIndex      int // the stage whose tasks are ready
	StageCount      int
	Started         bool // a task has started, succeeded or failed in this run
	All             Counts
	Stage           Counts // of the stage at StageIndex
	EssentialFailed bool   // a task that decides the job failed for good
	ItemFailures    bool   // a succeeded task named items that failed
	Overspent       bool   // the run has used far more than was set aside for it
}

// Decision is what follows from a Snapshot. AdvanceStage excludes the other two.
type Decision struct {
	Status       Status // the state that the job must have now; equal to the old one when nothing changes
	AdvanceStage bool   // make the next stage's tasks ready
	CancelRest   bool   // cancel the tasks that have not been dispatched: nobody wants them any more
	StopRest     bool   // stop the tasks that are queued or run, for the same reason
}

// Rollup decides a job's state from its tasks'. It is pure, and repeating it on its own result changes nothing more.
func Rollup(s Snapshot) Decision {
	if s.Status.Terminal() {
		return Decision{Status: s.Status}
	}
	doomed := s.EssentialFailed || s.Overspent || (s.Stage.Total() > 0 && s.Stage.Open() == 0 && s.Stage.Succeeded == 0)
	switch {
	case s.All.Open() == 0:
		return Decision{Status: final(s)}
	case s.Status == Cancelling:
		return Decision{Status: Cancelling, CancelRest: s.All.Pending > 0, StopRest: s.All.inFlight() > 0}
	case doomed:
		return Decision{Status: live(s), CancelRest: s.All.Pending > 0, StopRest: s.All.inFlight() > 0}
	case s.Stage.Open() == 0 && s.StageIndex+1 < s.StageCount:
		return Decision{Status: live(s), AdvanceStage: true}
	}
	return Decision{Status: live(s)}
}

// final is the last state of a job whose tasks have all ended.
func final(s Snapshot) Status {
	switch {
	case s.Status == Cancelling:
		return Cancelled
	case s.EssentialFailed, s.All.Succeeded == 0, s.Stage.Succeeded == 0, s.Overspent && s.All.Cancelled > 0:
		return Failed
	case s.All.Failed > 0, s.ItemFailures:
		return CompletedWithFailures
	default:
		return Completed
	}
}

// live is the state of a job with tasks still open: it never goes back. Tasks that a retry has kept do not make it run.
func live(s Snapshot) Status {
	switch {
	case s.Status == Running || s.Started:
		return Running
	case s.Status == Queued || s.All.Queued > 0:
		return Queued
	default:
		return Submitted
	}
}
