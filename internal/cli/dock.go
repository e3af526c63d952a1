package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/client"
)

// docking is what `dock` is asked to do.
type docking struct {
	receptor string // path of a .pdb or .pdbqt file
	ligands  []ligand
	search   search
	name     string // of the job
	top      int    // ligands shown
	folder   string // where the results go; "" to leave them on the server
}

const dockText = `Docks ligands into a receptor with AutoDock Vina: uploads the files, submits the job, follows it, and shows the ligands ranked
by their best score. Scores are estimates of the binding free energy in kcal/mol, lower is better; the ligand efficiency is
the score's size per heavy atom. One seed and one set of inputs give the same poses, to the byte.

The receptor is a .pdb file, which is protonated and prepared, or a .pdbqt file, which is taken as it is. The box is where the
search happens, in the receptor's coordinates. A .smi file holds a SMILES and a name on each line.`

func dockCommand() *cobra.Command {
	var options dockFlags
	cmd := command(cobra.Command{
		Use: "dock RECEPTOR", Short: "Dock ligands into a receptor and rank them", Long: dockText,
		Example: `  molfabric dock receptor.pdb --center 15.8,14.6,3.9 --size 22 --ligand aspirin="CC(=O)Oc1ccccc1C(=O)O"
  molfabric dock receptor.pdbqt --center 15.8,14.6,3.9 --size 20,20,26 --ligands library.smi --seed 42 -o results
  molfabric dock receptor.pdb --center 15.8,14.6,3.9 --size 22 --ligands library.smi --estimate`,
	}, one("RECEPTOR"), func(ctx context.Context, inv *invocation, args []string) error {
		d, err := options.docking(args[0])
		if err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		switch {
		case options.estimate:
			return inv.estimate(ctx, d)
		case options.detach:
			receipt, err := inv.start(ctx, d)
			if err != nil {
				return err
			}
			return inv.showReceipt(receipt)
		}
		_, err = inv.dock(ctx, d)
		return err
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"pdb", "pdbqt"}, cobra.ShellCompDirectiveFilterFileExt
	}
	options.define(cmd)
	return cmd
}

// dockFlags are the flags of `dock` as they are written.
type dockFlags struct {
	cmd                      *cobra.Command
	center, size             string
	smiles, libraries, files []string
	exhaustiveness, numModes int
	energyRange, ph          float64
	seed                     int64
	shardSize, cpu, top      int
	name, folder             string
	estimate, detach         bool
}

func (f *dockFlags) define(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.StringVar(&f.center, "center", "", "centre of the box in Å: x,y,z")
	flags.StringVar(&f.size, "size", "", "size of the box in Å: one edge or x,y,z")
	flags.StringArrayVar(&f.smiles, "ligand", nil, "a ligand as NAME=SMILES; may be repeated")
	flags.StringArrayVar(&f.libraries, "ligands", nil, "a .smi file with a SMILES and a name on each line; may be repeated")
	flags.StringArrayVar(&f.files, "ligand-file", nil, "a ligand as .sdf, .mol2 or .pdbqt file; may be repeated")
	flags.IntVar(&f.exhaustiveness, "exhaustiveness", 8, "independent searches per ligand, 1 to 128")
	flags.IntVar(&f.numModes, "num-modes", 9, "most poses kept per ligand, 1 to 100")
	flags.Float64Var(&f.energyRange, "energy-range", 3, "drop poses this much worse than the best, in kcal/mol")
	flags.Int64Var(&f.seed, "seed", 0, "seed of every random choice (default: made from the job's id)")
	flags.IntVar(&f.shardSize, "shard-size", 1, "ligands per task, 1 to 10")
	flags.Float64Var(&f.ph, "ph", 7.4, "pH at which receptor and ligands are protonated")
	flags.IntVar(&f.cpu, "cpu", 1, "threads per task")
	flags.StringVar(&f.name, "name", "", "name of the job (default: made from the file names)")
	flags.IntVar(&f.top, "top", defaultTop, "how many ligands to show")
	flags.StringVarP(&f.folder, "output", "o", "", "folder to download the results into")
	flags.BoolVar(&f.estimate, "estimate", false, "show the price, and do nothing else")
	flags.BoolVar(&f.detach, "detach", false, "submit, and do not wait")
}

// docking reads the flags and the files that they name; nothing is sent before all of it is in order.
func (f *dockFlags) docking(receptor string) (docking, error) {
	for _, required := range []string{"center", "size"} {
		if !f.cmd.Flags().Changed(required) {
			return docking{}, usage("--%s is missing: the box says where to dock, in the receptor's coordinates in Å", required)
		}
	}
	if f.estimate && f.detach || f.folder != "" && (f.estimate || f.detach) {
		return docking{}, usage("--estimate, --detach and --output exclude each other")
	}
	d := docking{receptor: receptor, name: f.name, top: f.top, folder: f.folder}
	if format := formatOf(receptor); format != "pdb" && format != "pdbqt" {
		return docking{}, usage("%s: a receptor must be a .pdb or .pdbqt file", receptor)
	}
	if _, err := os.Stat(receptor); err != nil {
		return docking{}, invalidInput("%v", err)
	}
	var err error
	if d.search.center, err = parseCenter(f.center); err != nil {
		return docking{}, err
	}
	if d.search.size, err = parseSize(f.size); err != nil {
		return docking{}, err
	}
	if d.ligands, err = gatherLigands(f.smiles, f.libraries, f.files); err != nil {
		return docking{}, err
	}
	f.choices(&d.search)
	if d.name == "" {
		d.name = jobName(receptor, d.ligands)
	}
	return d, nil
}

// choices takes over the flags that the user has given; the rest is the server's to choose.
func (f *dockFlags) choices(s *search) {
	flags := f.cmd.Flags()
	s.exhaustiveness = given(flags.Changed("exhaustiveness"), f.exhaustiveness)
	s.numModes = given(flags.Changed("num-modes"), f.numModes)
	s.energyRange = given(flags.Changed("energy-range"), f.energyRange)
	s.seed = given(flags.Changed("seed"), f.seed)
	s.shardSize = given(flags.Changed("shard-size"), f.shardSize)
	s.cpuThreads = given(flags.Changed("cpu"), f.cpu)
	s.ph = given(flags.Changed("ph"), f.ph)
}

func given[T any](changed bool, value T) *T {
	if !changed {
		return nil
	}
	return &value
}

// jobName names a job after its receptor and its ligands.
func jobName(receptor string, ligands []ligand) string {
	what := ligands[0].label
	if len(ligands) > 1 {
		what = fmt.Sprintf("%d ligands", len(ligands))
	}
	return shorten(what+" into "+strings.TrimSuffix(filepath.Base(receptor), filepath.Ext(receptor)), maxLabelChars)
}

// dock starts a docking, follows it to its end, shows the results and downloads them where that is asked for. The job is
// returned beside an error, as far as it is known.
func (inv *invocation) dock(ctx context.Context, d docking) (client.Job, error) {
	receipt, err := inv.start(ctx, d)
	if err != nil {
		return client.Job{}, err
	}
	if !inv.json {
		fmt.Fprintf(inv.out, "Job %s is submitted; it is expected to cost %s.\n", receipt.JobID, money(receipt.EstimatedCost, receipt.Currency))
	}
	j, err := inv.follow(ctx, receipt.JobID, nil)
	if err != nil {
		return j, err
	}
	var ended error
	if inv.json {
		if err := inv.print(j.JSON()); err != nil {
			return j, err
		}
		ended = endOf(j, "")
	} else {
		ended = inv.conclude(ctx, j, d.top)
	}
	if err := inv.deliver(ctx, j, d.folder); err != nil {
		return j, err
	}
	return j, ended
}

// deliver downloads a job's files, or says how to.
func (inv *invocation) deliver(ctx context.Context, j client.Job, folder string) error {
	if folder != "" {
		outputs, err := inv.api.AllOutputs(ctx, j.JobID)
		if err != nil {
			return err
		}
		if err := inv.download(ctx, outputs.Outputs, folder); err != nil {
			return err
		}
	}
	if inv.json {
		return nil
	}
	fmt.Fprintf(inv.out, "\n%s\n", painter(inv.out).bold("Results"))
	if folder == "" {
		fmt.Fprintf(inv.out, "  molfabric outputs %s -o results   downloads poses, scores and provenance\n", j.JobID)
		return nil
	}
	fmt.Fprintf(inv.out, "  %s\n", folder)
	for _, file := range []struct{ name, meaning string }{
		{"results.csv", "every ligand with its score"}, {"best.sdf", "the best pose of each ligand"},
		{"poses", "all poses, as SDF and PDBQT"}, {"provenance.json", "programs, parameters, seed and checksums"},
	} {
		if _, err := os.Stat(filepath.Join(folder, file.name)); err == nil {
			fmt.Fprintf(inv.out, "    %-17s %s\n", file.name, file.meaning)
		}
	}
	return nil
}

// start uploads what a docking needs and submits it.
func (inv *invocation) start(ctx context.Context, d docking) (client.Receipt, error) {
	scene, files, err := inv.upload(ctx, d)
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(inv.err, "Interrupted; nothing was submitted.")
			return client.Receipt{}, errInterrupted
		}
		return client.Receipt{}, err
	}
	request := newDockRequest(d.ligands, d.search, files)
	request.SceneFile, request.JobName = scene.StorageKey, d.name
	return inv.submit(ctx, request, "")
}

// upload stores the receptor and the ligands that are files, several at once. files is by the ligands' ids.
func (inv *invocation) upload(ctx context.Context, d docking) (scene client.Uploaded, files map[string]client.Uploaded, err error) {
	files = map[string]client.Uploaded{}
	var mu sync.Mutex // of files
	transfers, ctx := errgroup.WithContext(ctx)
	transfers.SetLimit(maxTransfers)
	transfers.Go(func() error {
		var err error
		scene, err = inv.api.UploadFile(ctx, d.receptor)
		return err
	})
	for _, l := range d.ligands {
		if l.path == "" {
			continue
		}
		transfers.Go(func() error {
			file, err := inv.api.UploadFile(ctx, l.path)
			mu.Lock()
			defer mu.Unlock()
			files[l.id] = file
			return err
		})
	}
	return scene, files, transfers.Wait()
}

// estimate shows the price of a docking without uploading anything.
func (inv *invocation) estimate(ctx context.Context, d docking) error {
	price, err := inv.price(ctx, d)
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(price.JSON())
	}
	showEstimate(inv, price, len(d.ligands))
	return nil
}

func showEstimate(inv *invocation, price client.Estimate, ligands int) {
	amount := func(n json.Number) string { return money(n, price.Currency) }
	fmt.Fprintf(inv.out, "%s for %d ligands; between %s and %s\n", painter(inv.out).bold(amount(price.EstimatedCost)), ligands,
		amount(price.Range.Low), amount(price.Range.High))
	fmt.Fprintf(inv.out, "  compute   %s", amount(price.Breakdown.Compute))
	if spent, ok := cpuTime(price); ok {
		fmt.Fprintf(inv.out, ", about %s of one core", duration(spent))
	}
	fmt.Fprintf(inv.out, "\n  start     %s\n  storage   %s\n", amount(price.Breakdown.StartFee), amount(price.Breakdown.Storage))
	fmt.Fprintf(inv.out, "An amount above all of this is set aside while the job runs, and it never costs more than that.\n")
}

// price asks for the price. An estimate needs no uploads, so that files stand there with their size and a key that is none.
func (inv *invocation) price(ctx context.Context, d docking) (client.Estimate, error) {
	files := map[string]client.Uploaded{}
	for _, l := range d.ligands {
		if l.path == "" {
			continue
		}
		file, err := measure(l.path)
		if err != nil {
			return client.Estimate{}, err
		}
		files[l.id] = file
	}
	return inv.api.Estimate(ctx, newDockRequest(d.ligands, d.search, files))
}

func measure(path string) (client.Uploaded, error) {
	file, err := os.Open(path)
	if err != nil {
		return client.Uploaded{}, invalidInput("%v", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return client.Uploaded{}, err
	}
	digest, err := client.Digest(file)
	if err != nil {
		return client.Uploaded{}, fmt.Errorf("%s: %w", path, err)
	}
	return client.Uploaded{StorageKey: "not-uploaded/" + filepath.Base(path), SHA256: digest, ByteSize: info.Size(), ContentType: client.ContentType(path)}, nil
}

// cpuTime is the time of one core that an estimate's compute part stands for.
func cpuTime(price client.Estimate) (time.Duration, bool) {
	compute, err := price.Breakdown.Compute.Float64()
	rate, rateErr := price.VariableRates.HardwareRate.Float64()
	if err != nil || rateErr != nil || rate <= 0 {
		return 0, false
	}
	return time.Duration(compute / rate * float64(time.Hour)), true
}
