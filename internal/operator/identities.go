package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/api/workers"
	"github.com/molfabric/molfabric/internal/roles"
)

const (
	// enrolledFor is how long a token is good where nobody says.
	enrolledFor = 30 * 24 * time.Hour
	// enrolledWorkers is how many workers a token is for at once where nobody says.
	enrolledWorkers = 1000
)

func enrolCommand() *cobra.Command {
	var good time.Duration
	var most int
	cmd := &cobra.Command{
		Use: "enrol NAME", Short: "Print a token with which workers come to credentials of their own", Args: cobra.ExactArgs(1),
		Long: `Makes a token, prints it once and keeps only its hash. A worker that has it as MOLFABRIC_WORKER_TOKEN, and the
address of the API as MOLFABRIC_WORKER_API, needs no REDIS_URL: the API gives it a user of Redis of its own, for minutes at a
time. Whoever has the token can start workers. When it has expired no more begin with it, and those that work go on.`,
		Example: `  molfabric fleet enrol slurm
  molfabric fleet enrol workstation-7 --for 2160h --workers 1`,
	}
	cmd.RunE = withWorkers(func(ctx context.Context, cmd *cobra.Command, args []string, o workers.Operator) error {
		token, e, err := o.Enrol(ctx, args[0], good, most)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", token)
		fmt.Fprintf(cmd.ErrOrStderr(), "This is the token of %s, for up to %d workers at once, until %s UTC. It is kept nowhere "+
			"else.\n", e.Name, e.MaxWorkers, e.ExpiresAt.Format(moment))
		return nil
	})
	cmd.Flags().DurationVar(&good, "for", enrolledFor, "how long new workers may begin with it")
	cmd.Flags().IntVar(&most, "workers", enrolledWorkers, "how many of its workers may work at once")
	return cmd
}

func enrolmentsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "enrolments", Short: "List the tokens' names, the newest first", Args: cobra.NoArgs}
	cmd.RunE = withWorkers(func(ctx context.Context, cmd *cobra.Command, _ []string, o workers.Operator) error {
		found, err := o.Enrolments(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), found)
		}
		t := newTable(cmd.OutOrStdout(), "Enrolment", "Workers", "Made (UTC)", "By", "State")
		for _, e := range found {
			state := "until " + clock(e.ExpiresAt)
			switch {
			case e.RevokedAt != nil:
				state = "revoked " + clock(*e.RevokedAt) + " by " + e.RevokedBy
			case !e.ExpiresAt.After(o.Now()):
				state = "expired " + clock(e.ExpiresAt)
			}
			t.AppendRow(table.Row{e.Name, fmt.Sprintf("%d of %d", e.Living, e.MaxWorkers), clock(e.CreatedAt),
				printable(e.CreatedBy), printable(state)})
		}
		t.Render()
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func fleetWorkersCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use: "workers", Short: "List the workers that have credentials of their own, the newest first", Args: cobra.NoArgs,
		Long: `Lists the workers that came with a token, by the names that they have on the operator's page; with --all also those
that ended within the last 90 days. Workers that share a user of Redis are not among them.`,
	}
	cmd.RunE = withWorkers(func(ctx context.Context, cmd *cobra.Command, _ []string, o workers.Operator) error {
		found, err := o.Workers(ctx, all)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), found)
		}
		t := newTable(cmd.OutOrStdout(), "Worker", "Enrolment", "Host", "Name", "From", "Since (UTC)", "Renewed (UTC)", "State")
		for _, w := range found {
			t.AppendRow(table.Row{w.WorkerID, w.Enrolment, printable(w.Host), printable(w.Name), w.Address, clock(w.CreatedAt),
				clock(w.RenewedAt), printable(identityState(w))})
		}
		t.Render()
		return nil
	})
	cmd.Flags().BoolVar(&all, "all", false, "list those that have ended too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func identityState(w workers.Worker) string {
	switch {
	case w.RevokedAt != nil:
		return "ended " + clock(*w.RevokedAt) + " by " + w.RevokedBy
	case w.EndedAt != nil:
		return "silent since " + clock(w.ExpiresAt)
	}
	return "good until " + clock(w.ExpiresAt)
}

func revokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke NAME|WORKER", Short: "End a token with all its workers, or one worker", Args: cobra.ExactArgs(1),
		Long: `Ends an enrolment, so that no worker begins with its token, and all workers that came with it; or one worker, by its
id. The running API ends their users of Redis, and with them their connections, within a second. What they held is lost as
that of a dead worker and runs elsewhere. Where the token may be known to others, revoke its enrolment: whoever has the token
starts another worker.`,
		Example: `  molfabric fleet revoke slurm
  molfabric fleet revoke wrk_019ac0ffee0070008000000000000000`,
	}
	cmd.RunE = withWorkers(func(ctx context.Context, cmd *cobra.Command, args []string, o workers.Operator) error {
		revoked, ended, err := o.Revoke(ctx, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is revoked, with %d workers.\n", args[0], len(revoked))
		if !ended {
			return errors.New("the users of Redis of these workers may still be there: no API with MOLFABRIC_ISSUER_REDIS_URL " +
				"has ended them so far; start one, or end them in Redis (ACL LIST, ACL DELUSER)")
		}
		return nil
	})
	return cmd
}

// withWorkers reads the configuration and opens the database before a command runs.
func withWorkers(run func(context.Context, *cobra.Command, []string, workers.Operator) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, log, err := load(cmd)
		if err != nil {
			return err
		}
		return roles.WithWorkers(cmd.Context(), cfg, log, func(ctx context.Context, o workers.Operator) error {
			return run(ctx, cmd, args, o)
		})
	}
}
