// Command molfabric-lab holds what molfabric is tried with and no user needs: measurements against peers, faults and abuse, and
// histories of the scheduler. It starts the molfabric that lies beside it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/lab/bench"
	"github.com/molfabric/molfabric/internal/lab/bench/redock"
	"github.com/molfabric/molfabric/internal/lab/chaos"
	"github.com/molfabric/molfabric/internal/lab/director"
	"github.com/molfabric/molfabric/internal/lab/sim"
	"github.com/molfabric/molfabric/internal/roles"
)

// version is set by the linker (see the Makefile).
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a clean end; after it a second one ends the program at once.
	context.AfterFunc(ctx, stop)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "molfabric-lab:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "molfabric-lab",
		Short: "Measure molfabric, break it, and play its scheduler's histories",
		Long: `Runs on systems of its own on loopback, made by the molfabric that lies in the same folder (make lab makes both).

  molfabric-lab bench          measures molfabric against peers
  molfabric-lab bench redock   docks ligands of known structures again
  molfabric-lab chaos          breaks it and sees whether it keeps its promises
  molfabric-lab sim            plays random histories of the scheduler in memory
  molfabric-lab director       judges how sentences about scenes are understood`,
		Version: version, SilenceUsage: true, SilenceErrors: true,
	}
	for _, c := range []*cobra.Command{benchCommand(), chaosCommand()} {
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	cmd.AddCommand(simCommand(), directorCommand()) // they need no configuration
	return cmd
}

// product finds the molfabric to try.
func product() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(self), "molfabric")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("no molfabric lies beside this program (make lab makes both): %w", err)
	}
	return program, nil
}

func benchCommand() *cobra.Command {
	options := bench.Options{Out: os.Stdout}
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure molfabric against peers on this machine", Args: cobra.NoArgs,
		Long: `Starts a system of its own, measures workloads against a peer in turns, and prints ratios: above 1, molfabric needs less.
A control of the peer against itself voids what a busy machine has spoilt. The report is a JSON file.`,
		RunE: withConfig(func(ctx context.Context, program string, cfg config.Config, log *slog.Logger) error {
			options.Program, options.Python, options.Slots, options.Log = program, cfg.Python, cfg.Slots, log
			return withReceptor(func(path string, center [3]float64) error {
				options.Target = bench.Target{Path: path, Center: center}
				return bench.Run(ctx, options)
			})
		}),
	}
	cmd.Flags().StringSliceVar(&options.Only, "only", nil, "measure only these: "+strings.Join(bench.IDs, ", "))
	cmd.Flags().IntVar(&options.Frames, "frames", 48, "frames of B11")
	cmd.Flags().IntVar(&options.Finished, "finished", 0, "finished tasks of history (default ten million, of 18 GB)")
	cmd.Flags().StringVar(&options.Proteins, "proteins", "", "FASTA of proteins for B9, plain or gzip (default: proteins that "+
		"are made)")
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
		Example: "  molfabric-lab bench redock --cases structures\n  molfabric-lab bench redock --cases structures,mine.tsv " +
			"--only 1acj,1eve --again",
		RunE: withConfig(func(ctx context.Context, program string, cfg config.Config, log *slog.Logger) error {
			options.Program, options.Version, options.Python, options.Slots, options.Log = program, version, cfg.Python, cfg.Slots,
				log
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
		RunE: withConfig(func(ctx context.Context, program string, cfg config.Config, log *slog.Logger) error {
			options.Program, options.Python, options.Log = program, cfg.Python, log
			return withReceptor(func(path string, center [3]float64) error {
				options.Target = &chaos.Target{Path: path, Center: center}
				return chaos.Run(ctx, options)
			})
		}),
	}
	cmd.Flags().StringSliceVar(&options.Only, "only", nil, "run only these, e.g. R6 or R1,R3")
	cmd.Flags().Uint64Var(&options.Seed, "seed", 0, "make the choices of this seed (default: a new one, which is printed)")
	cmd.Flags().Float64Var(&options.Patience, "patience", 1, "multiply the scorecard's bounds, on a machine that does other "+
		"things too")
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

  molfabric-lab sim --histories 100000 --planted all      what make sim runs
  molfabric-lab sim --seed 42 --trace                     everything that happens in one history`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("seed") && !cmd.Flags().Changed("histories") {
				options.Histories = 1
			}
			_, err := sim.Run(cmd.Context(), options)
			return err
		},
	}
	cmd.Flags().IntVar(&options.Histories, "histories", 1000, "how many; one where --seed alone is given")
	cmd.Flags().Uint64Var(&options.Seed, "seed", 1, "of the first history; the others follow one by one")
	cmd.Flags().IntVar(&options.Parallel, "parallel", 0, "how many at once (default as many as there are processors)")
	cmd.Flags().StringSliceVar(&options.Planted, "planted", nil, "look for these planted bugs as well, or all")
	cmd.Flags().IntVar(&options.Steps, "steps", 0, "at most so many actions in a history (default no bound)")
	cmd.Flags().StringSliceVar(&options.Without, "without", nil, "leave these actions out")
	cmd.Flags().BoolVar(&options.Trace, "trace", false, "print everything that happens")
	return cmd
}

func directorCommand() *cobra.Command {
	options := director.Options{Out: os.Stdout}
	cmd := &cobra.Command{
		Use: "director FILE...", Short: "Judge how sentences about scenes are understood", Args: cobra.MinimumNArgs(1),
		Long: `Says every sentence of the files in the scene that its context describes, and compares the scene that comes of it with
the one that the file wants, atom by atom. A file has a JSON object a line: the sentence, its context, and the operations
of a good answer. Structures are made from the contexts where no folder has the real ones. Ends with 1 where fewer than
95 % of a file's sentences have the scene that is wanted, or one is wrong without a word.`,
		Example: "  molfabric-lab director internal/director/testdata/public.jsonl --time\n" +
			"  molfabric-lab director mine.jsonl --structures structures --json report.json",
		RunE: func(cmd *cobra.Command, files []string) error {
			options.Files = files
			return director.Run(cmd.Context(), options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Structures, "structures", "", "folder with structures by their ids, such as 1cbs.cif.gz")
	flags.StringVar(&options.Components, "components", "", "dictionary of components with the names of ligands, as "+
		"MOLFABRIC_COMPONENTS has it (default: a few dozen names)")
	flags.BoolVar(&options.Time, "time", false, "measure how long a message takes on a structure of some 5,000 atoms")
	flags.StringVar(&options.JSON, "json", "", "write the report to this file as well")
	return cmd
}

// withConfig reads the configuration, sets up the log and finds the molfabric to try before a command runs.
func withConfig(
	run func(ctx context.Context, program string, cfg config.Config, log *slog.Logger) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		log, err := roles.NewLog(cfg)
		if err != nil {
			return err
		}
		program, err := product()
		if err != nil {
			return err
		}
		return run(cmd.Context(), program, cfg, log)
	}
}
