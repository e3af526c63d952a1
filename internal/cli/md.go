package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const mdText = `Simulates a molecule in water with OpenMM: uploads the files, submits the job, follows it with its speed in ns/day and the time
left, and shows averages with their errors and whether they have settled.

STRUCTURE is a .pdb or .cif file of a protein, which gets hydrogens, force field, water and ions; or, with --prmtop, the coordinates
(.inpcrd, .rst7) of an Amber system, which is taken as it is. Files may be compressed with gzip.

Times are numbers with a unit, such as 2fs, 50ps, 10ns or 1us. The energy is minimised first; --nvt and --npt then let the system
settle at constant volume and at constant pressure before the production run that --time or --steps gives.

A job is resumable unless --resumable=false says otherwise: after a failure of its machine it goes on from its last checkpoint.
--restart JOB goes on from the end of an earlier run of the same structure: what is not given is as it was there, how often
frames are saved too. Steps and times are counted on from the earlier run's.`

func mdCommand() *cobra.Command {
	var f mdFlags
	cmd := command(cobra.Command{
		Use: "md STRUCTURE", Short: "Simulate a molecule in water with OpenMM", Long: mdText,
		Example: `  molfabric md protein.pdb --time 10ns --out results
  molfabric md system.inpcrd --prmtop system.prmtop --time 1ns --platform CUDA --precision mixed
  molfabric md protein.pdb --time 40ns --restart job_0190…
  molfabric md protein.cif --time 100ns --temperature 310K --ph 7.4 --platform CUDA --estimate`,
	}, one("STRUCTURE"), func(ctx context.Context, inv *invocation, args []string) error {
		w, err := f.read(args[0])
		if err != nil {
			return err
		}
		var d dynamics
		if f.restart == "" {
			if d, err = w.settle(nil); err != nil {
				return err
			}
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		if f.restart != "" {
			if d, err = inv.restarted(ctx, w, f.restart); err != nil {
				return err
			}
		}
		switch {
		case f.estimate:
			return inv.estimateDynamics(ctx, d)
		case f.detach || !f.watch:
			receipt, err := inv.startDynamics(ctx, d)
			if err != nil {
				return err
			}
			return inv.showReceipt(receipt)
		}
		return inv.simulate(ctx, d)
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"pdb", "ent", "cif", "mmcif", "inpcrd", "rst7", "crd", "gz"}, cobra.ShellCompDirectiveFilterFileExt
	}
	f.define(cmd)
	return cmd
}

// mdFlags are the flags of `md` as they are written.
type mdFlags struct {
	cmd *cobra.Command

	prmtop, restart, name, folder                          string
	time, timestep, nvt, npt, saveEvery, checkpointEvery   string
	temperature, pressure, forceField, water               string
	platform, precision, devices, workerImage              string
	ph, ionicStrength, friction                            float64
	steps, seed                                            int64
	resumable, portable, minimise, estimate, watch, detach bool
}

func (f *mdFlags) define(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.SortFlags = false // the order below goes from what is simulated to how
	flags.StringVar(&f.prmtop, "prmtop", "", "Amber topology and parameters; STRUCTURE is then its coordinates")
	flags.StringVar(&f.time, "time", "", "length of the production run, such as 10ns")
	flags.Int64Var(&f.steps, "steps", 0, "length of the production run in steps, instead of --time")
	flags.StringVar(&f.temperature, "temperature", "300K", "temperature, 250K to 350K")
	flags.StringVar(&f.pressure, "pressure", "1bar", "pressure, 0.5bar to 2bar")
	flags.Float64Var(&f.ph, "ph", 7, "pH at which residues are protonated, 0 to 14")
	flags.Float64Var(&f.ionicStrength, "ionic-strength", 0.15, "ionic strength of the water in mol/l, 0 to 0.5")
	flags.StringVar(&f.forceField, "forcefield", "amber14", "amber14 or amber19; also --force-field")
	flags.StringVar(&f.water, "water", "tip3pfb", "tip3p or tip3pfb")
	flags.StringVar(&f.timestep, "timestep", "2fs", "time step, 0.5fs to 4fs")
	flags.Float64Var(&f.friction, "friction", 1, "friction of the thermostat in 1/ps, 0.1 to 10")
	flags.BoolVar(&f.minimise, "minimise", true, "minimise the energy before anything moves")
	flags.StringVar(&f.nvt, "nvt", "50ps", "how long to settle at constant volume before")
	flags.StringVar(&f.npt, "npt", "100ps", "how long to settle at constant pressure before")
	flags.StringVar(&f.saveEvery, "save-every", "10ps",
		"time between two frames (default at most a hundredth of the run, or as the run before)")
	flags.StringVar(&f.checkpointEvery, "checkpoint-every", "", "time between two checkpoints (default ten frames)")
	flags.StringVar(&f.platform, "platform", platformCPU, "CPU, CUDA or OpenCL")
	flags.StringVar(&f.precision, "precision", "mixed", "single, mixed or double, of CUDA and OpenCL")
	flags.StringVar(&f.devices, "devices", "0", "how many GPUs, as their numbers: 0, or 0,1")
	flags.Int64Var(&f.seed, "seed", 0, "seed of every random choice, 1 to 2147483647 (default: a random one, which is shown)")
	flags.BoolVar(&f.resumable, "resumable", true, "go on from the last checkpoint after a failure of the machine")
	flags.StringVar(&f.restart, "restart", "", "go on from the end of this job")
	flags.BoolVar(&f.portable, "portable", false, "with --restart: from the portable state, which another platform or machine "+
		"can read too")
	flags.StringVar(&f.workerImage, "worker-image", "", "digest of the worker image that is asked for, sha256:…; the run's "+
		"provenance tells which it was")
	flags.StringVar(&f.name, "name", "", "name of the job (default: made from the structure)")
	flags.StringVarP(&f.folder, "output", "o", "", "folder to download report, plots and trajectory into; also --out")
	flags.BoolVar(&f.estimate, "estimate", false, "show the price, and do nothing else")
	flags.BoolVar(&f.watch, "watch", true, "stay, and show progress and result")
	flags.BoolVar(&f.detach, "detach", false, "submit, and do not stay")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "out":
			name = "output"
		case "force-field":
			name = "forcefield"
		case "minimize":
			name = "minimise"
		}
		return pflag.NormalizedName(name)
	})
}
