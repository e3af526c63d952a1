// Command molfabric is a distributed compute fabric for molecular science: the servers, the workers and the client in one
// binary. This file holds the list of subcommands and nothing they do.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/bench"
	"github.com/molfabric/molfabric/internal/bench/redock"
	"github.com/molfabric/molfabric/internal/chaos"
	"github.com/molfabric/molfabric/internal/cli"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/operator"
	"github.com/molfabric/molfabric/internal/roles"
	"github.com/molfabric/molfabric/internal/sim"
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
	for _, c := range []*cobra.Command{upCommand(), apiCommand(), schedulerCommand(), workerCommand(), migrateCommand(), blastdbCommand(), auditCommand(),
		operator.AccountCommand(), operator.AuditLogCommand(), doctorCommand(), demoCommand(), benchCommand(), chaosCommand()} {
		c.GroupID = "server"
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	cmd.AddCommand(simCommand()) // it needs no configuration
	cli.AddCommands(cmd, version)
	return cmd
}

func upCommand() *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "Start everything on this machine", Args: cobra.NoArgs,
		Long: `Starts the API, the scheduler and a worker, and what they need: Postgres, Redis and an S3 server, each
unless DATABASE_URL, REDIS_URL or S3_ENDPOINT names one. Data stays in the home directory. Ctrl-C stops all of it;
nothing is lost, and jobs that were running go on at the next start.`,
		RunE: withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
			context.AfterFunc(ctx, func() {
				fmt.Printf("Stopping: running tasks get %s to finish, the rest is given back. Ctrl-C again stops at once.\n", cfg.DrainGrace)
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
		Long: "Runs the API. Needs DATABASE_URL, REDIS_URL, S3_ENDPOINT with its keys, and MOLFABRIC_KEY_SECRET, the same for all instances.",
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
	return &cobra.Command{
		Use: "worker", Short: "Run a worker alone, here or on another machine", Args: cobra.NoArgs,
		Long: `Runs a worker, which offers every engine that is installed on its machine. It needs REDIS_URL and S3_ENDPOINT with its
keys, and no database. SIGTERM drains it: running tasks get a grace to finish, the rest is given back.`,
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			return roles.RunWorker(ctx, cfg, version, log)
		}),
	}
}

func migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the database to the newest schema", Args: cobra.NoArgs,
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			return roles.Migrate(ctx, cfg, log)
		}),
	}
}

func benchCommand() *cobra.Command {
	options := bench.Options{Out: os.Stdout}
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure molfabric against peers on this machine", Args: cobra.NoArgs,
		Long: `Starts a system of its own, measures workloads against a peer in turns, and prints ratios: above 1, molfabric needs less.
A control of the peer against itself voids what a busy machine has spoilt. The report is a JSON file.`,
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			options.Program, options.Python, options.Slots, options.Log = "/proc/self/exe", cfg.Python, cfg.Slots, log
			return withReceptor(func(path string, center [3]float64) error {
				options.Target = bench.Target{Path: path, Center: center}
				return bench.Run(ctx, options)
			})
		}),
	}
	cmd.Flags().StringSliceVar(&options.Only, "only", nil, "measure only these: "+strings.Join(bench.IDs, ", "))
	cmd.Flags().IntVar(&options.Frames, "frames", 48, "frames of B11")
	cmd.Flags().IntVar(&options.Finished, "finished", 0, "finished tasks of history (default ten million, of 18 GB)")
	cmd.Flags().StringVar(&options.Proteins, "proteins", "", "FASTA of proteins for B9, plain or gzip (default: proteins that are made)")
	cmd.Flags().IntVar(&options.Pairs, "pairs", bench.MinPairs, "pairs of runs to compare, at least 5")
	cmd.Flags().StringVarP(&options.Output, "output", "o", "bench/results.json", "file that the report is written to")
	cmd.AddCommand(redockCommand())
	return cmd
}

func redockCommand() *cobra.Command {
	options := redock.Options{Out: os.Stdout}
	cmd := &cobra.Command{
		Use: "redock", Short: "Dock ligands of known structures again, and see how near they come", Args: cobra.NoArgs,
		Long: `Docks the ligand of each case back into its structure, through the command line with its defaults on a system of its
own, and beside it with AutoDock Vina and the usual programs by hand. Both are compared with the crystal pose by one
scorer. A folder of cases holds a cases.tsv; doc/redocking.md says what is in it. A case that this version has measured
is not measured again: what was interrupted goes on.`,
		Example: "  molfabric bench redock --cases structures\n  molfabric bench redock --cases structures,mine.tsv --only 1acj,1eve --again",
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			options.Program, options.Version, options.Python, options.Slots, options.Log = "/proc/self/exe", version, cfg.Python, cfg.Slots, log
			if options.Components = cfg.Components; options.Components == "" {
				options.Components = filepath.Join(cfg.Home, "components.jsonl.gz")
			}
			return redock.Run(ctx, options)
		}),
	}
	config.Flags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringSliceVar(&options.Cases, "cases", nil, "folders with a cases.tsv, or such tables")
	flags.StringSliceVar(&options.Only, "only", nil, "measure only these cases")
	flags.Int64Var(&options.Seed, "seed", 42, "of both arms")
	flags.IntVar(&options.Exhaustiveness, "exhaustiveness", 0, "of both arms (default: molfabric's own, and 8 for bare Vina)")
	flags.BoolVar(&options.SkipBare, "skip-bare", false, "leave bare Vina out")
	flags.BoolVar(&options.Again, "again", false, "measure also what this version has measured already")
	flags.IntVar(&options.Jobs, "jobs", 1, "cases at once")
	flags.StringVarP(&options.Output, "output", "o", "bench/redock", "folder of the report, with a folder for each case")
	return cmd
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
				return errors.New("the audit has found what should not be; doc/runbook/BooksDisagree.md and restore.md say what to do")
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&sweep, "sweep", false, "delete files that nothing names and that are older than a week")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// withReceptor writes the receptor that dockings of the suites go into, for as long as use runs.
func withReceptor(use func(path string, center [3]float64) error) error {
	folder, err := os.MkdirTemp("", "molfabric-receptor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, err := abl1.WritePrepared(folder)
	if err != nil {
		return err
	}
	return use(path, abl1.SiteCenterAngstrom)
}

func chaosCommand() *cobra.Command {
	options := chaos.Options{Out: os.Stdout}
	cmd := &cobra.Command{
		Use: "chaos", Short: "Break molfabric on this machine and see whether it keeps its promises", Args: cobra.NoArgs,
		Long: `Starts stores, APIs, schedulers and workers of its own on loopback, kills, stops, floods and deceives them, and looks
afterwards whether every job has ended, every result and penny is there once, and nothing is left over. One line a
test, a table at the end, and a report as JSON. --seed makes the same choices again.`,
		RunE: withConfig(func(ctx context.Context, _ *cobra.Command, cfg config.Config, log *slog.Logger) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			options.Program, options.Python, options.Log = program, cfg.Python, log
			return withReceptor(func(path string, center [3]float64) error {
				options.Target = &chaos.Target{Path: path, Center: center}
				return chaos.Run(ctx, options)
			})
		}),
	}
	cmd.Flags().StringSliceVar(&options.Only, "only", nil, "run only these, e.g. R6 or R1,R3")
	cmd.Flags().Uint64Var(&options.Seed, "seed", 0, "make the choices of this seed (default: a new one, which is printed)")
	cmd.Flags().Float64Var(&options.Patience, "patience", 1, "multiply the scorecard's bounds, on a machine that does other things too")
	cmd.Flags().BoolVar(&options.Short, "short", false, "the short form: small jobs, some minutes in all")
	cmd.Flags().StringVarP(&options.Output, "output", "o", "chaos/report.json", "file that the report is written to")
	return cmd
}

func simCommand() *cobra.Command {
	options := sim.Options{Out: os.Stdout}
	cmd := &cobra.Command{
		Use: "sim", Short: "Play random histories of the scheduler in memory, with faults at every step", Args: cobra.NoArgs,
		Long: `Runs the scheduler's own logic over a store and a queue in memory: leaders, workers and users act in an order that a
seed decides, crash, stall, lose and repeat what they send. After every commit and at each history's end the books,
the results and the promises are checked. A seed replays its history exactly.

  molfabric sim --histories 100000 --planted all      what make sim runs
  molfabric sim --seed 42 --trace                     everything that happens in one history`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("seed") && !cmd.Flags().Changed("histories") {
				options.Histories = 1
			}
			_, err := sim.Run(cmd.Context(), options)
			return err
		},
	}
	cmd.GroupID = "server"
	cmd.Flags().IntVar(&options.Histories, "histories", 1000, "how many; one where --seed alone is given")
	cmd.Flags().Uint64Var(&options.Seed, "seed", 1, "of the first history; the others follow one by one")
	cmd.Flags().IntVar(&options.Parallel, "parallel", 0, "how many at once (default as many as there are processors)")
	cmd.Flags().StringSliceVar(&options.Planted, "planted", nil, "look for these planted bugs as well, or all")
	cmd.Flags().IntVar(&options.Steps, "steps", 0, "at most so many actions in a history (default no bound)")
	cmd.Flags().StringSliceVar(&options.Without, "without", nil, "leave these actions out")
	cmd.Flags().BoolVar(&options.Trace, "trace", false, "print everything that happens")
	return cmd
}

func doctorCommand() *cobra.Command {
	var asJSON, asWorker bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Report the version and health of every part", Args: cobra.NoArgs,
		Long: `Looks at the programs of this machine, the engines in their sandbox, the stores and the running system. Without --home and
MOLFABRIC_HOME it looks at the home from which a system of yours runs, wherever that is. With --worker, in a worker's environment, it says
also what the worker holds and does not need.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			why, err := chooseHome(cmd.Flags())
			if err != nil {
				return err
			}
			return withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, log *slog.Logger) error {
				report := roles.Examine(ctx, cfg, version, why, log)
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
	return cmd
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
<home>/molfabric.log.`,
		RunE: withConfig(func(ctx context.Context, cmd *cobra.Command, cfg config.Config, _ *slog.Logger) error {
			log, err := roles.QuietLog(&cfg)
			if err != nil {
				return err
			}
			return roles.WithSystem(ctx, cfg, version, log, func(ctx context.Context, url string) error {
				return cli.RunDemo(ctx, cli.DemoOptions{
					Server: url, Home: cfg.Home, Cores: cfg.Slots, Program: os.Args[0], Out: cmd.OutOrStdout(),
				})
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
