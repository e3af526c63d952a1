package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	// maxRequestBytes bounds a request that `submit` reads: what the API takes.
	maxRequestBytes = 160 << 20
	// completionTimeout is how long a shell may wait for the ids of jobs.
	completionTimeout = 2 * time.Second
)

func submitCommand() *cobra.Command {
	var watch bool
	var key string
	cmd := command(cobra.Command{
		Use: "submit [FILE]", Short: "Submit a job as JSON, from a file or standard input",
		Long: `Submits a request to POST /v1/jobs/submit as it is. The submission repeats itself safely after a broken connection, under the
idempotency key of the request, of --idempotency-key, or one that is made for it.`,
		Example: "  molfabric submit request.json --watch\n  jq .seed=7 request.json | molfabric submit",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		request, err := inv.readRequest(args)
		if err != nil {
			return err
		}
		receipt, err := inv.submit(ctx, request, first(key, keyOf(request)))
		if err != nil {
			return err
		}
		if !watch {
			return inv.showReceipt(receipt)
		}
		if !inv.json {
			fmt.Fprintf(inv.out, "Job %s is submitted.\n", receipt.Body.JobID)
		}
		return inv.watch(ctx, receipt.Body.JobID, defaultTop)
	})
	offerNoReuse(cmd)
	cmd.Flags().BoolVar(&watch, "watch", false, "stay, and show the job's progress and result")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "8 to 255 characters; the same key with the same request makes one job")
	return cmd
}

// readRequest reads a JSON object.
func (inv *invocation) readRequest(args []string) (json.RawMessage, error) {
	source, name := inv.in, "standard input"
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return nil, invalidInput("%v", err)
		}
		defer file.Close()
		source, name = file, args[0]
	}
	text, err := io.ReadAll(io.LimitReader(source, maxRequestBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(text) > maxRequestBytes {
		return nil, invalidInput("%s: is larger than %d MiB", name, maxRequestBytes>>20)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return nil, invalidInput("%s: is not a JSON object", name)
	}
	return text, nil
}

// keyOf is the idempotency key that a request carries itself, so that the header says the same.
func keyOf(request json.RawMessage) string {
	var body struct {
		IdempotencyKey string `json:"idempotencyKey"`
		DockingRequest struct {
			IdempotencyKey string `json:"idempotencyKey"`
		} `json:"dockingRequest"`
	}
	if json.Unmarshal(request, &body) != nil {
		return "" // the server names the member that is wrong
	}
	return first(body.IdempotencyKey, body.DockingRequest.IdempotencyKey)
}

// submit sends a request, and explains what an interruption leaves open.
func (inv *invocation) submit(
	ctx context.Context, request any, idempotencyKey string,
) (client.Answer[contract.SubmitResponse], error) {
	receipt, err := inv.api.Submit(ctx, request, idempotencyKey)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(inv.err, "Interrupted while submitting: the job may have been taken. `molfabric jobs` tells.")
		return receipt, errInterrupted
	}
	return receipt, err
}

// unsubmitted is err of an upload before a submission, where an interruption has submitted nothing.
func (inv *invocation) unsubmitted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(inv.err, "Interrupted; nothing was submitted.")
	return errInterrupted
}

// tellSubmitted says that a job is submitted, its price, and what of it costs nothing; not with --json.
func (inv *invocation) tellSubmitted(receipt contract.SubmitResponse) {
	if inv.json {
		return
	}
	fmt.Fprintf(inv.out, "Job %s is submitted; it is expected to cost %s.\n", receipt.JobID,
		money(receipt.EstimatedCost, receipt.Currency))
	showKnown(inv.out, receipt.KnownTasks, receipt.Tasks)
}

func (inv *invocation) showReceipt(receipt client.Answer[contract.SubmitResponse]) error {
	if inv.json {
		return inv.print(receipt.JSON())
	}
	inv.tellSubmitted(receipt.Body)
	showForecast(inv.out, receipt.Body.Receptor)
	fmt.Fprintf(inv.out, "  molfabric watch %s    shows its progress and result\n", receipt.Body.JobID)
	fmt.Fprintf(inv.out, "  molfabric cancel %s   stops it\n", receipt.Body.JobID)
	return nil
}

func jobsCommand() *cobra.Command {
	var filter client.JobFilter
	cmd := command(cobra.Command{
		Use: "jobs", Short: "List your jobs, newest first",
		Example: "  molfabric jobs --status running --status queued\n  molfabric jobs --search imatinib",
	}, cobra.NoArgs, func(ctx context.Context, inv *invocation, _ []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		filter.Status = asStatuses(filter.Status)
		jobs, err := inv.api.Jobs(ctx, filter)
		return present(inv, jobs, err, func(w io.Writer, page contract.JobList) error {
			return more(w, jobsTable(w, page.Jobs), page.NextCursor)
		})
	})
	statusFlag(cmd, &filter.Status, job.Statuses, "only jobs in this state; may be repeated")
	cmd.Flags().StringVar(&filter.Simulator, "simulator", "", "only jobs of this simulator")
	cmd.Flags().StringVar(&filter.Text, "search", "", "only jobs whose name holds this text")
	pageFlags(cmd, &filter.Page)
	return cmd
}

// statusFlag narrows a list to some of the states that there are.
func statusFlag[S ~string](cmd *cobra.Command, into *[]string, there []S, usage string) {
	cmd.Flags().StringSliceVar(into, "status", nil, usage)
	var states []string
	for _, status := range there {
		states = append(states, strings.ToLower(string(status)))
	}
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
}

// asStatuses writes statuses as the API does: completed-with-failures is COMPLETED_WITH_FAILURES.
func asStatuses(given []string) []string {
	statuses := make([]string, len(given))
	for i, status := range given {
		statuses[i] = strings.ToUpper(strings.ReplaceAll(status, "-", "_"))
	}
	return statuses
}

func statusCommand() *cobra.Command {
	return jobCommand(cobra.Command{Use: "status JOB", Short: "Show a job's state, progress and cost"},
		func(ctx context.Context, inv *invocation, jobID string) error {
			j, err := inv.api.Job(ctx, jobID)
			return present(inv, j, err, func(w io.Writer, j contract.Job) error {
				showJob(w, j)
				return nil
			})
		})
}

func cancelCommand() *cobra.Command {
	var reason string
	cmd := jobCommand(cobra.Command{Use: "cancel JOB", Short: "Stop a job; what it has used until then is charged"},
		func(ctx context.Context, inv *invocation, jobID string) error {
			cancellation, err := inv.api.Cancel(ctx, jobID, reason)
			return present(inv, cancellation, err, func(w io.Writer, c contract.CancelResponse) error {
				_, err := fmt.Fprintf(w, "%s: %s\n", c.JobID, c.Message)
				return err
			})
		})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the job's history")
	return cmd
}

// jobCommand makes a command whose only argument is a job, which the shell completes.
func jobCommand(spec cobra.Command, run func(ctx context.Context, inv *invocation, jobID string) error) *cobra.Command {
	cmd := command(spec, one("JOB"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		jobID, err := inv.jobID(ctx, args[0])
		if err != nil {
			return err
		}
		return run(ctx, inv, jobID)
	})
	cmd.ValidArgsFunction = completeJobs
	return cmd
}

// completeJobs offers the newest jobs. It says nothing when the server is away: a shell has no place for errors.
func completeJobs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var flags connection
	flags.server, _ = cmd.Flags().GetString("server") // every command of this package has the flag
	flags.key, _ = cmd.Flags().GetString("key")
	inv, err := flags.open(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer inv.api.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	jobs, err := inv.api.Jobs(ctx, client.JobFilter{Page: client.Page{Limit: 50}})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, j := range jobs.Body.Jobs {
		offered = append(offered, fmt.Sprintf("%s\t%s, %s", j.JobID, strings.ToLower(string(j.Status)),
			first(j.JobName, j.JobType)))
	}
	return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
