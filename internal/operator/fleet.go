package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/fleet/keeper"
	"github.com/molfabric/molfabric/internal/fleet/local"
	"github.com/molfabric/molfabric/internal/fleet/slurm"
	"github.com/molfabric/molfabric/internal/roles"
)

// FleetCommand is `molfabric fleet`.
func FleetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet", Short: "Keep as many workers as the backlog wants, and say which may work",
		Long: `Starts workers when work waits for them, within the bounds of a pools file: as jobs of a Slurm cluster, or as processes of
this machine. It needs the address of the demand endpoint and nothing of the stores. It ends no worker: workers leave when they
are idle, and before their time is over. It may be stopped and started again at any time, and finds what it has started.

  molfabric fleet slurm pools.yaml     on a login node, as the user whose jobs the workers are to be
  molfabric fleet local pools.yaml     on a machine of your own
  molfabric fleet status pools.yaml    what is wanted, what runs, and what keeps more from starting

doc/slurm.md has an example with every field of the pools file.

Where workers get users of Redis of their own (doc/operating.md), these say which; they need the deployment's DATABASE_URL, or
the system of the home directory:

  molfabric fleet enrol slurm          print a token for new workers
  molfabric fleet enrolments           list the tokens' names
  molfabric fleet workers              list the workers that came with one
  molfabric fleet revoke slurm         end a token with its workers, or one worker`,
	}
	for _, c := range []*cobra.Command{
		keepCommand("slurm", "Run workers as jobs of a Slurm cluster", func(f keeper.File) keeper.Driver {
			return slurm.Driver{File: f}
		}),
		keepCommand("local", "Run workers as processes of this machine", func(f keeper.File) keeper.Driver {
			return &local.Driver{File: f}
		}),
		fleetStatusCommand(), enrolCommand(), enrolmentsCommand(), fleetWorkersCommand(), revokeCommand()} {
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	return cmd
}

func keepCommand(name, short string, driver func(keeper.File) keeper.Driver) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: name + " POOLS", Short: short, Args: cobra.ExactArgs(1),
		Long: short + `, as many as the backlog wants and the pools file allows. It looks every half minute, or as the file's ` +
			"`every`" + ` says,
shows metrics and its state at the file's ` + "`listen`" + `, and ends at Ctrl-C or SIGTERM; workers go on. With --check it tries the
pools, starts nothing, and exits with 1 when one would not be started.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := config.Load(cmd.Flags())
			if err != nil {
				return err
			}
			log, err := roles.NewLog(cfg)
			if err != nil {
				return err
			}
			file, err := keeper.Read(args[0])
			if err != nil {
				return err
			}
			registry := prometheus.NewRegistry()
			k, err := keeper.New(file, driver(file), log, registry)
			if err != nil {
				return err
			}
			if check {
				return checkPools(cmd.Context(), k, file, cmd.OutOrStdout())
			}
			return keep(cmd.Context(), k, registry, log)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "try the pools and start nothing")
	return cmd
}

func keep(ctx context.Context, k *keeper.Keeper, registry *prometheus.Registry, log *slog.Logger) error {
	wait, err := k.Serve(ctx, registry)
	if err != nil {
		return err
	}
	for pool, err := range k.Check(ctx) {
		log.Warn("a pool would not be started just now", "pool", pool, "error", err)
	}
	log.Info("keeps the fleet", "fleet", k.File.Fleet, "pools", len(k.File.Pools), "status",
		"http://"+k.File.Listen+"/fleet/status")
	k.Run(ctx)
	return wait()
}

func checkPools(ctx context.Context, k *keeper.Keeper, file keeper.File, out io.Writer) error {
	wrong := k.Check(ctx)
	for _, p := range file.Pools {
		if err := wrong[p.Name]; err != nil {
			fmt.Fprintf(out, "%s: %v\n", p.Name, err)
		} else {
			fmt.Fprintf(out, "%s: would be started; tasks of up to %s fit\n", p.Name, p.Longest())
		}
	}
	if len(wrong) > 0 {
		return errors.New("some pools would not be started")
	}
	return nil
}

func fleetStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status POOLS", Short: "Show what is wanted, what runs, and what keeps more from starting", Args: cobra.ExactArgs(1),
		Long: "Asks the keeper of a pools file, at the file's `listen`, what it saw and did at its last look.",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := keeper.Read(args[0])
			if err != nil {
				return err
			}
			status, err := keeper.AskStatus(cmd.Context(), file)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			}
			writeFleet(cmd.OutOrStdout(), status)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeFleet(out io.Writer, s keeper.Status) {
	fmt.Fprintf(out, "Fleet %s at %s: %d of %d cores", s.Fleet, s.At.Format(time.DateTime), s.Cores, s.MaxCores)
	if s.MaxCoreHours > 0 {
		fmt.Fprintf(out, ", %.1f of the day's %.1f core-hours used or set aside", s.CoreHours, s.MaxCoreHours)
	}
	fmt.Fprintln(out, ".")
	if s.Error != "" {
		fmt.Fprintf(out, "Nothing is done: %s\n", printable(s.Error))
	}
	t := newTable(out, "Pool", "Wanted", "Running", "Leaving", "Waiting", "Others' cores", "What holds more")
	for _, p := range s.Pools {
		wanted := fmt.Sprint(p.Wanted)
		if p.Error != "" {
			wanted = "unknown"
		}
		t.AppendRow(table.Row{p.Name, wanted, p.Running, p.Leaving, p.Pending, p.Others, heldOf(p)})
	}
	t.Render()
	t = newTable(out, "Allocation", "Pool", "State", "Cores", "Since (UTC)", "Until (UTC)", "Reason")
	for _, p := range s.Pools {
		for _, a := range p.Allocations {
			t.AppendRow(table.Row{a.ID, a.Pool, a.State, a.Cores, clock(a.Since), clock(a.Until), printable(a.Reason)})
		}
	}
	if t.Length() > 0 {
		fmt.Fprintln(out)
		t.Render()
	}
}

func heldOf(p keeper.PoolStatus) string {
	var why []string
	for _, pause := range p.Paused {
		why = append(why, fmt.Sprintf("paused until %s UTC, %s: %s", clock(pause.Until), pause.Kind, printable(pause.Last)))
	}
	if len(why) == 0 && p.Held != "" {
		why = append(why, p.Held)
	}
	if p.Error != "" {
		why = append(why, printable(p.Error))
	}
	return strings.Join(why, "; ")
}

func clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.DateTime)
}
