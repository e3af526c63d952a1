package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

func tasksCommand() *cobra.Command {
	var filter client.TaskFilter
	cmd := jobCommand(cobra.Command{
		Use: "tasks JOB", Short: "List a job's tasks: how each went, and what it used",
		Long: `Lists the tasks that a job was cut into, in the order of its plan. The attempts count how often a task was started, also in
runs before a retry; the CPU time is that of all of them.`,
		Example: "  molfabric tasks job_0190…\n  molfabric tasks job_0190… --status failed --stage dock",
	}, func(ctx context.Context, inv *invocation, jobID string) error {
		filter.Status = asStatuses(filter.Status)
		tasks, err := inv.api.Tasks(ctx, jobID, filter)
		return present(inv, tasks, err, func(w io.Writer, page contract.TaskList) error {
			return more(w, tasksTable(w, page.Tasks), page.NextCursor)
		})
	})
	statusFlag(cmd, &filter.Status, job.TaskStatuses, "only tasks in this state; may be repeated")
	cmd.Flags().StringVar(&filter.Stage, "stage", "", "only tasks of this stage, such as dock")
	pageFlags(cmd, &filter.Page)
	return cmd
}

func logsCommand() *cobra.Command {
	var page client.Page
	var task string
	cmd := jobCommand(cobra.Command{
		Use: "logs JOB", Short: "Print what the programs of a job's tasks said",
		Long: `Prints the end of each task's log, below a line that names the task. A log is stored when its task ends; the whole ones are
among the job's files (molfabric outputs).`,
		Example: "  molfabric logs job_0190…\n  molfabric logs job_0190… --task 3",
	}, func(ctx context.Context, inv *invocation, jobID string) error {
		logs, err := inv.api.Logs(ctx, jobID, page, task)
		if err != nil {
			return err
		}
		if inv.json {
			return inv.print(logs.JSON())
		}
		if len(logs.Body.Logs) == 0 {
			fmt.Fprintln(inv.err, "No logs yet.")
		}
		for i, log := range logs.Body.Logs {
			if i > 0 {
				fmt.Fprintln(inv.out)
			}
			showLog(inv.out, log)
		}
		return more(inv.err, nil, logs.Body.NextCursor)
	})
	cmd.Flags().StringVar(&task, "task", "", "only this task: its index, or its id")
	pageFlags(cmd, &page)
	return cmd
}

// showLog prints one log below a header as tail's, with what is to be known of it in brackets.
func showLog(w io.Writer, log contract.TaskLog) {
	p := painter(w)
	fmt.Fprintln(w, p.bold(fmt.Sprintf("==> task %d, %s (%s, %s, attempt %d) <==", log.Index, log.Name, log.Stage, log.Status,
		log.Attempt)))
	switch {
	case log.Text == nil && log.Status == job.TaskRunning:
		fmt.Fprintln(w, strings.TrimRight("[it runs; its log comes when it ends] "+log.Message, " "))
		return
	case log.Text == nil:
		fmt.Fprintln(w, "[the log is not kept any more]")
		return
	case *log.Text == "":
		fmt.Fprintln(w, "[it printed nothing]")
		return
	}
	if log.Truncated {
		fmt.Fprintf(w, "[the end of %s; the whole log is among the job's files]\n", bytesText(log.ByteSize))
	}
	text := *log.Text
	if p { // on a terminal
		text = harmless(text)
	}
	fmt.Fprintln(w, strings.TrimRight(text, "\n"))
}

// harmless takes out of a program's text what a terminal would obey.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

func retryCommand() *cobra.Command {
	var all, watch bool
	var top int
	var key string
	cmd := jobCommand(cobra.Command{
		Use: "retry JOB", Short: "Run a job that has ended again: what did not succeed, or --all",
		Long: `Runs a job that has ended again, under its own id: the tasks that failed or were cancelled, and those that read their files. What
has succeeded is kept and not charged again. Tasks that failed for their input are not run again: submit a corrected request.
Its expected cost is set aside anew.`,
		Example: "  molfabric retry job_0190… --watch\n  molfabric retry job_0190… --all",
	}, func(ctx context.Context, inv *invocation, jobID string) error {
		receipt, err := inv.api.Retry(ctx, jobID, all, key)
		if err != nil {
			return openRetry(ctx, inv, jobID, err)
		}
		if !watch && inv.json {
			return inv.print(receipt.JSON())
		}
		if !inv.json {
			fmt.Fprintf(inv.out, "Job %s runs again: run %d, %d of its tasks; this is expected to cost %s.\n",
				receipt.Body.JobID, receipt.Body.Attempt, receipt.Body.Tasks, money(receipt.Body.EstimatedCost,
					receipt.Body.Currency))
		}
		if watch {
			return inv.watch(ctx, jobID, top)
		}
		fmt.Fprintf(inv.out, "  molfabric watch %s    shows its progress and result\n", jobID)
		return nil
	})
	cmd.Flags().StringVar(&key, "idempotency-key", "", "8 to 255 characters; the same key for the same job begins one run")
	cmd.Flags().BoolVar(&all, "all", false, "run every task again, also those that succeeded")
	cmd.Flags().BoolVar(&watch, "watch", false, "stay, and show the job's progress and result")
	cmd.Flags().IntVar(&top, "top", defaultTop, "how many ligands of a docking to show")
	return cmd
}

// openRetry explains a retry of which nobody knows whether the server has begun it.
func openRetry(ctx context.Context, inv *invocation, jobID string, err error) error {
	tells := "the job may run again already: `molfabric status " + jobID + "` tells"
	if ctx.Err() != nil {
		fmt.Fprintln(inv.err, "Interrupted;", tells)
		return errInterrupted
	}
	if network := (*client.NetworkError)(nil); errors.As(err, &network) {
		return &advisedError{err, tells}
	}
	return err
}

func tasksTable(w io.Writer, tasks []contract.Task) error {
	if len(tasks) == 0 {
		_, err := fmt.Fprintln(w, "No tasks.")
		return err
	}
	p := painter(w)
	t := newTable(p, []int{1, 5, 6}, "task", "name", "stage", "status", "attempts", "CPU time", "message")
	for _, task := range tasks {
		t.AppendRow(table.Row{
			task.Index, task.Name, task.Stage, p.task(task.Status), task.Attempt,
			duration(time.Duration(task.Usage.CPUSeconds * float64(time.Second))), shorten(taskMessage(task), 70),
		})
	}
	return render(w, t)
}

// taskMessage is what matters most of a task: why it failed, else what it lacks, else what it said last.
func taskMessage(task contract.Task) string {
	switch {
	case task.Error != nil:
		return fmt.Sprintf("%s: %s", task.Error.Code, task.Error.Message)
	case task.ItemFailureCount > 0:
		return strings.TrimSpace(fmt.Sprintf("%d without a result; %s", task.ItemFailureCount, task.Message))
	}
	return task.Message
}
