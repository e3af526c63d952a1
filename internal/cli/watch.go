package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// defaultTop is how many ligands a ranked table shows: a screenful; the files hold all.
const defaultTop = 20

func watchCommand() *cobra.Command {
	var top int
	cmd := jobCommand(cobra.Command{
		Use: "watch JOB", Short: "Follow a job until it ends, and show its result",
		Long: `Follows a job until it ends, and shows its result and its bill. It may be stopped and started at any time: the job does not
notice. With --json it prints the job's events, one JSON object a line, from the beginning.`,
	}, func(ctx context.Context, inv *invocation, jobID string) error { return inv.watch(ctx, jobID, top) })
	cmd.Flags().IntVar(&top, "top", defaultTop, "how many ligands of a docking to show")
	return cmd
}

// watch follows a job to its end and shows the result.
func (inv *invocation) watch(ctx context.Context, jobID string, top int) error {
	var sink func(client.Event) error
	if inv.json {
		sink = inv.printEvent
	}
	j, err := inv.follow(ctx, jobID, sink)
	if err != nil {
		return err
	}
	if inv.json {
		return endOf(j.Body, "")
	}
	return inv.conclude(ctx, j.Body, top)
}

// complete follows a job to its end, shows how it ended, with the best top results, and has its files delivered. The job is
// returned beside an error, as far as it is known; the error says how the job ended.
func (inv *invocation) complete(
	ctx context.Context, jobID string, top int, deliver func(contract.Job) error,
) (contract.Job, error) {
	j, err := inv.follow(ctx, jobID, nil)
	if err != nil {
		return j.Body, err
	}
	var ended error
	if inv.json {
		if err := inv.print(j.JSON()); err != nil {
			return j.Body, err
		}
		ended = endOf(j.Body, "")
	} else {
		ended = inv.conclude(ctx, j.Body, top)
	}
	if err := deliver(j.Body); err != nil {
		return j.Body, err
	}
	return j.Body, ended
}

func (inv *invocation) printEvent(e client.Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing an event: %w", err)
	}
	return inv.print(text)
}

// follow shows a job's progress until it ends, with the best ligands so far of a docking, and returns it then. sink, when it is not
// nil, gets every event. An interruption is explained and is errInterrupted.
func (inv *invocation) follow(
	ctx context.Context, jobID string, sink func(client.Event) error,
) (client.Answer[contract.Job], error) {
	j, err := inv.api.Job(ctx, jobID)
	if err != nil {
		return j, inv.explainStop(ctx, jobID, err)
	}
	if j.Body.Terminal && sink == nil {
		return j, nil
	}
	var shown display = noDisplay{}
	if !inv.json {
		shown = newDisplay(inv.err, inv.now, inv.age(j.Body))
	}
	course := courseOf(j.Body)
	shown.update(course.percent, course.text())
	board := inv.followLeaders(ctx, j.Body, shown)
	defer board.stop()
	last := ""
	// A retry may begin the next run before its end is read here.
	for ended := false; err == nil && !ended; ended = j.Body.Terminal {
		if err = inv.api.Events(ctx, jobID, last, func(e client.Event) error {
			course.take(e)
			shown.update(course.percent, course.text())
			board.changed()
			last = e.ID
			if sink != nil {
				return sink(e)
			}
			return nil
		}); err == nil {
			j, err = inv.api.Job(ctx, jobID)
		}
	}
	board.stop()
	shown.close(err == nil && (j.Body.Status == job.Completed || j.Body.Status == job.CompletedWithFailures))
	return j, inv.explainStop(ctx, jobID, err)
}

// age is how long a job has been there; 0 where this machine's clock disagrees with the server's.
func (inv *invocation) age(j contract.Job) time.Duration { return max(inv.now().Sub(j.CreatedAt), 0) }

// course is what the events have told about a job so far.
type course struct {
	percent float64
	message string                 // the last that a task has sent
	stage   string                 // of the task that has started last
	ended   map[int]job.TaskStatus // by the tasks' indexes
	total   int                    // tasks
}

func courseOf(j contract.Job) *course {
	return &course{percent: j.Progress.Percent, message: j.Progress.Message, total: j.Progress.Tasks.Total,
		ended: map[int]job.TaskStatus{}}
}

// take learns from an event; kinds that it does not know tell it nothing.
func (c *course) take(e client.Event) {
	var progress contract.ProgressEvent
	var task contract.TaskEvent
	var status contract.StatusEvent
	switch {
	case e.Kind == client.EventStatus && json.Unmarshal(e.Data, &status) == nil:
		if status.Status == job.Submitted {
			c.startAgain(status.Reason)
		}
	case e.Kind == client.EventProgress && json.Unmarshal(e.Data, &progress) == nil:
		c.percent, c.message = progress.Percent, progress.Message
	case e.Kind == client.EventTask && json.Unmarshal(e.Data, &task) == nil:
		switch task.Status {
		case job.TaskSucceeded, job.TaskFailed, job.TaskCancelled:
			c.ended[task.TaskIndex] = task.Status
		case job.TaskRunning:
			c.stage, c.message = task.Stage, ""
			delete(c.ended, task.TaskIndex)
		default: // a lost task waits again
			delete(c.ended, task.TaskIndex)
		}
	}
}

// startAgain is the beginning of a run: what has not succeeded in the one before waits again.
func (c *course) startAgain(reason string) {
	maps.DeleteFunc(c.ended, func(_ int, status job.TaskStatus) bool { return status != job.TaskSucceeded })
	if len(c.ended) > 0 || c.stage != "" {
		c.stage, c.message = "", reason
	}
}

// text says what is being done.
func (c *course) text() string {
	if c.stage == "" {
		return c.message
	}
	text := fmt.Sprintf("%s, %d of %d tasks done", c.stage, len(c.ended), c.total)
	if c.message != "" {
		text += " · " + c.message
	}
	return text
}

// explainStop says that a job goes on although nobody watches it any more.
func (inv *invocation) explainStop(ctx context.Context, jobID string, err error) error {
	if err == nil || ctx.Err() == nil && ExitCode(err) != ExitUnavailable {
		return err
	}
	fmt.Fprintf(inv.err, "No longer watching; the job goes on.\n  molfabric watch %s    shows its progress and result\n  "+
		"molfabric cancel %s   stops it\n", jobID, jobID)
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// conclude shows what an ended job has brought and cost. The error says how it ended.
func (inv *invocation) conclude(ctx context.Context, j contract.Job, top int) error {
	show := inv.showDocking
	switch {
	case isSearch(j):
		show = inv.showSearch
	case isDynamics(j):
		show = inv.showDynamics
	case j.JobType == jobTypeRender, j.JobType == jobTypeMolecular:
		show = inv.showRendering
	}
	detail, err := show(ctx, j, top)
	if err != nil {
		return err
	}
	fmt.Fprintf(inv.out, "\n%s\n  %s\n", painter(inv.out).bold("Bill"), billOf(j))
	return endOf(j, detail)
}
