// Command molfabric is a distributed compute fabric for molecular science: the servers, the workers and the client in one
// binary. The object store of a single machine is another, molfabric-store. This file holds the list of subcommands and nothing
// they do.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/api/web"
	"github.com/molfabric/molfabric/internal/cli"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/operator"
	"github.com/molfabric/molfabric/internal/roles"
)

// version is set by the linker (see the Makefile).
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a clean end; after it a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	code := cli.Execute(ctx, root())
	stop()
	os.Exit(code)
}

// root lists every subcommand.
func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "molfabric",
		Short: "A compute fabric for molecular science",
		Long: `molfabric docks ligands, and later simulates and renders, on fleets of workers that it schedules,
meters and bills.

  molfabric up       starts everything on this machine
  molfabric login    signs you in to a server
  molfabric dock     docks ligands into a receptor and prints the ranking
  molfabric doctor   tells what is installed and healthy`,
		Version: version, SilenceUsage: true, SilenceErrors: true,
	}
	cmd.AddGroup(&cobra.Group{ID: "server", Title: "Running molfabric:"})
	for _, c := range []*cobra.Command{upCommand(), apiCommand(), schedulerCommand(), workerCommand(), migrateCommand(),
		operator.BlastDBCommand(), operator.WeightsCommand(), auditCommand(), operator.AccountCommand(),
		operator.AuditLogCommand(), operator.RepeatsCommand(), operator.SecretCommand(), operator.FleetCommand(),
		doctorCommand(), readyCommand(), demoCommand()} {
		c.GroupID = "server"
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	cli.AddCommands(cmd, version)
	return cmd
}

func upCommand() *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "Start everything on this machine", Args: cobra.NoArgs,
		Long: `Starts the API, the scheduler and a worker, and what they need: Postgres, Redis and an S3 server, each
unless DATABASE_URL, REDIS_URL or S3_ENDPOINT names one. The S3 server is the program molfabric-store, which lies beside
this one. Data stays in the home directory. Ctrl-C stops all of it; nothing is lost, and jobs that were running go on at
the next start.`,
		RunE: withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
			context.AfterFunc(ctx, func() {
				fmt.Printf("Stopping: running tasks get %s to finish, the rest is given back. Ctrl-C again stops at once.\n",
					cfg.DrainGrace)
			})
			asked := cmd.Flags().Changed("listen") || os.Getenv("MOLFABRIC_LISTEN") != ""
			return roles.Up(ctx, cfg, asked, version, log, func(r roles.Running) {
				fmt.Printf("molfabric is up at %s (reference: %s/docs). Ctrl-C stops it.\n", r.URL, r.URL)
			})
		}),
	}
}

func apiCommand() *cobra.Command {
	return &cobra.Command{
		Use: "api", Short: "Run the API alone", Args: cobra.NoArgs,
		Long: "Runs the API. Needs DATABASE_URL, REDIS_URL, S3_ENDPOINT with its keys, and MOLFABRIC_KEY_SECRET, the same for " +
			"all instances.",
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			return roles.RunAPI(ctx, cfg, version, log)
		}),
	}
}

func schedulerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "scheduler", Short: "Run a scheduler alone", Args: cobra.NoArgs,
		Long: "Runs one scheduler; of several, one leads. Needs DATABASE_URL, REDIS_URL and S3_ENDPOINT with its keys.",
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			return roles.RunScheduler(ctx, cfg, log)
		}),
	}
}

func workerCommand() *cobra.Command {
	var stay roles.Stay
	var until, allocation string
	var walltime time.Duration
	started := time.Now()
	cmd := &cobra.Command{
		Use: "worker", Short: "Run a worker alone, here or on another machine", Args: cobra.NoArgs,
		Long: `Runs a worker, which offers every engine that is installed on its machine. It needs REDIS_URL, or
MOLFABRIC_WORKER_TOKEN and MOLFABRIC_WORKER_API (molfabric fleet enrol), and to reach the object store, of which it gets permits
and no key; it needs no database. SIGTERM drains it: running tasks get a grace to finish, the rest is given back.

Where its machine is lent for a time, --walltime or --until says when that ends: then it takes no task that is not expected to
end before it leaves, and leaves in time. With --idle-exit it leaves, with 0, when nothing was to do for so long.

In a job of Slurm, --allocation slurm takes cores, memory, GPUs and the end from it; ` + "`molfabric fleet slurm`" + ` starts such jobs.`,
		Example: `  molfabric worker --idle-exit 10m --walltime 2h
  molfabric worker --until 2026-05-03T18:00:00Z`,
		RunE: withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) (err error) {
			if stay.Until, err = roles.EndOfStay(started, until, walltime); err != nil {
				return err
			}
			if allocation != "" {
				if err := roles.OfAllocation(ctx, allocation, &cfg, &stay, cmd.Flags().Changed("slots"), log); err != nil {
					return err
				}
			}
			return roles.RunWorker(ctx, cfg, stay, version, log)
		}),
	}
	cmd.Flags().DurationVar(&stay.IdleExit, "idle-exit", 0, "leave when nothing was to do for so long, such as 10m (default never)")
	cmd.Flags().StringVar(&until, "until", "", "leave by this moment: RFC 3339, or seconds since 1970 (default never)")
	cmd.Flags().DurationVar(&walltime, "walltime", 0, "leave by so long after the start, such as 2h (default never)")
	cmd.Flags().StringVar(&allocation, "allocation", "", "slurm: take cores, memory, GPUs and the end from the job around it")
	cmd.MarkFlagsMutuallyExclusive("until", "walltime")
	return cmd
}

func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the database to the newest schema", Args: cobra.NoArgs,
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			return roles.Migrate(ctx, cfg, log)
		}),
	}
}

func auditCommand() *cobra.Command {
	var sweep, asJSON bool
	cmd := &cobra.Command{
		Use: "audit", Short: "Compare the books with themselves and the records of files with the object store", Args: cobra.NoArgs,
		Long: `Reads everything that jobs, the ledger and files have left, and prints what should not be: after a restore from a
backup, or when something looks wrong. It changes nothing, but with --sweep it deletes files of the object store that
nothing names and that are older than a week.`,
		RunE: withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
			report, err := roles.Audit(ctx, cfg, sweep, log)
			if err != nil {
				return err
			}
			if err := report.Write(cmd.OutOrStdout(), asJSON); err != nil {
				return err
			}
			if !report.Clean() {
				return errors.New("the audit has found what should not be; doc/runbook/BooksDisagree.md and restore.md say " +
					"what to do")
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&sweep, "sweep", false, "delete files that nothing names and that are older than a week")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func doctorCommand() *cobra.Command {
	var asJSON, asWorker, asControl bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Report the version and health of every part", Args: cobra.NoArgs,
		Long: `Looks at the programs of this machine, the engines in their sandbox, the stores and the running system. Without --home and
MOLFABRIC_HOME it looks at the home from which a system of yours runs, wherever that is. With --worker, in a worker's
environment, it says also what the worker holds and does not need. With --control, in the environment of an API or a scheduler
that runs alone, it looks at that one's stores and settings and at the workers that live, and at no engine of this machine.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			why, err := chooseHome(cmd.Flags())
			if err != nil {
				return err
			}
			return withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
				var report roles.Report
				if asControl {
					report = roles.ExamineControl(ctx, cfg, version, log)
				} else {
					report = roles.Examine(ctx, cfg, version, why, log)
				}
				if asWorker {
					report.ExamineWorker(ctx, cfg)
				}
				if err := report.Write(cmd.OutOrStdout(), asJSON); err != nil {
					return err
				}
				if !report.Healthy {
					return errors.New("something that is needed is missing or ill; the table says what")
				}
				return nil
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asWorker, "worker", false, "look also for what a worker with this configuration holds and does not need")
	cmd.Flags().BoolVar(&asControl, "control", false, "look at an API or a scheduler with this configuration, and at no engine")
	cmd.MarkFlagsMutuallyExclusive("worker", "control")
	return cmd
}

func readyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ready [address]", Short: "Ask a running part whether it can serve", Args: cobra.MaximumNArgs(1),
		Long: `Asks /readyz of the API that this configuration describes, or the address that is given, and exits with 0 when the answer
is 200. It is the health check of a container that has no other program to ask with.`,
		Example: "  molfabric ready\n  molfabric ready http://127.0.0.1:9090/healthz",
		RunE: withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, _ *slog.Logger) error {
			return roles.Ready(ctx, cfg, strings.Join(cmd.Flags().Args(), ""))
		}),
	}
}

// chooseHome settles on the home of a running system where the user has named none, and says why.
func chooseHome(flags *pflag.FlagSet) (why string, err error) {
	switch {
	case flags.Changed("home"):
		return "as --home says", nil
	case os.Getenv("MOLFABRIC_HOME") != "":
		return "as MOLFABRIC_HOME says", nil
	}
	homes := roles.RunningHomes()
	if len(homes) == 0 {
		return "the default; --home or MOLFABRIC_HOME names another", nil
	}
	if err := flags.Set("home", homes[0]); err != nil {
		return "", err
	}
	why = "from which a system runs"
	if others := homes[1:]; len(others) > 0 {
		why += "; --home looks at the others: " + strings.Join(others, ", ")
	}
	return why, nil
}

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Dock imatinib back into its kinase, from sign-up to the bill", Args: cobra.NoArgs,
		Long: `Uses the system that runs from the home directory, or starts one for the time of the demo, with its log in
<home>/molfabric.log. On a terminal that system goes on until Ctrl-C, so that the result can be looked at in a browser.`,
		RunE: withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, _ *slog.Logger) error {
			log, err := roles.QuietLog(&cfg)
			if err != nil {
				return err
			}
			running := roles.FindRunning(cfg.Home) != nil
			stays := running || cli.IsTerminal(cmd.OutOrStdout())
			return roles.WithSystem(ctx, cfg, version, log, func(ctx context.Context, url string) error {
				err := cli.RunDemo(ctx, cli.DemoOptions{
					Server: url, Home: cfg.Home, Cores: cfg.Slots, Program: os.Args[0], Out: cmd.OutOrStdout(),
					Link: stays && web.Built(),
				})
				if err == nil && stays && !running && web.Built() {
					fmt.Fprintln(cmd.OutOrStdout(), "The system goes on, for the link above. Ctrl-C stops it.")
					<-ctx.Done()
				}
				return err
			})
		}),
	}
}

// withConfig reads the configuration and sets up the log before a server command runs.
func withConfig(run func(context.Context, *cobra.Command, config.Config, *slog.Logger) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		log, err := roles.NewLog(cfg)
		if err != nil {
			return err
		}
		return run(cmd.Context(), cmd, cfg, log)
	}
}
