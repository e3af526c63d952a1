package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/mol"
)

// docking is what `dock` is asked to do.
type docking struct {
	receptor receptor
	box      dockBox
	ligands  []ligand
	search   search
	name     string // of the job
	top      int    // ligands shown
	folder   string // where the results go; "" to leave them on the server
}

const dockText = `Docks ligands into a receptor with AutoDock Vina: uploads the files, submits the job, follows it with the best ten ligands so far,
and shows the ligands ranked by their best score. Scores are estimates of the binding free energy in kcal/mol, lower is better;
the ligand efficiency is the score's size per heavy atom. One seed and one set of inputs give the same poses, to the byte.

The receptor is an entry of the Protein Data Bank (1IEP), a .pdb or .cif file, which is protonated and prepared, or a .pdbqt
file, which is taken as it is. Every file may be compressed with gzip (1iep.pdb.gz, library.sdf.gz).

The box is where the search happens, in the receptor's coordinates: --box or --center with --size say it in numbers, --box-from
lays it around the ligand in a file, --pocket-ligand around a ligand of the structure, --pocket-residues around residues. With none
of them it is laid around the ligand that is docked again, or the drug-like one that is bound (--box bound); where nothing is bound,
around the best pocket that fpocket finds (--box pocket), which is a guess: look at where the poses are.

Cofactors and metals of the structure stay, and waters, sugars and what came with the crystal go, unless --keep and --remove say
otherwise; what stays and goes is shown with the price, and in the end.

A library is a .smi file (a SMILES and a name on each line), an .sdf file (a ligand a record, called after its title), or a .csv
file with a column called smiles and perhaps one called name.

--redock docks the structure's own ligand again and says how far it comes from its crystal pose: the one that is bound, or the one
that it names. With --gate the library is docked only when that is near enough; without any ligands it is all that is docked.`

func dockCommand() *cobra.Command {
	var options dockFlags
	cmd := command(cobra.Command{
		Use: "dock [RECEPTOR]", Short: "Dock ligands into a receptor and rank them", Long: dockText,
		Example: `  molfabric dock 1IEP --chains A --redock --ligand nilotinib=ccd:NIL
  molfabric dock 1IEP.pdb --redock
  molfabric dock receptor.pdb --box-from ligand.sdf --ligands library.smi
  molfabric dock receptor.pdb --box 15.8,14.6,3.9,22 --ligand aspirin="CC(=O)Oc1ccccc1C(=O)O"
  molfabric dock receptor.pdbqt --center 15.8,14.6,3.9 --size 20,20,26 --ligands library.sdf --seed 42 --out results
  molfabric dock complex.cif --pocket-residues A:315,A:381 --ligands library.smi --shard-size 10 --estimate`,
	}, options.arguments, func(ctx context.Context, inv *invocation, args []string) error {
		d, err := options.docking(args)
		if err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		switch {
		case options.estimate:
			return inv.estimate(ctx, d)
		case options.detach || !options.watch:
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
		return []string{"pdb", "ent", "cif", "mmcif", "pdbqt", "gz"}, cobra.ShellCompDirectiveFilterFileExt
	}
	options.define(cmd)
	return cmd
}

// dockFlags are the flags of `dock` as they are written.
type dockFlags struct {
	cmd                      *cobra.Command
	receptor                 receptorFlags
	box                      boxFlags
	smiles, libraries, files []string
	exhaustiveness           string
	numModes                 int
	rankBy                   string
	energyRange, ph, gate    float64
	seed                     int64
	shardSize, cpu, top      int
	name, folder, redock     string
	picture                  string
	estimate, detach, watch  bool
}

func (f *dockFlags) define(cmd *cobra.Command) {
	f.cmd = cmd
	offerNoReuse(cmd)
	flags := cmd.Flags()
	flags.SortFlags = false // the order below goes from what is docked to how
	f.receptor.define(flags)
	f.box.define(flags)
	flags.StringArrayVar(&f.smiles, "ligand", nil,
		"a ligand as NAME=SMILES, or NAME=ccd:ID for a component of the PDB; NAME= may be left out; may be repeated")
	flags.StringArrayVar(&f.libraries, "ligands", nil, "a library: .smi, .sdf or .csv; may be repeated")
	flags.StringArrayVar(&f.files, "ligand-file", nil, "a ligand as .sdf, .mol2, .pdbqt or .pdb file; may be repeated")
	flags.StringVar(&f.redock, "redock", "", "dock the structure's own ligand again: the one that is bound, or "+
		"COMPONENT:CHAIN:NUMBER")
	flags.Lookup("redock").NoOptDefVal = boundWord
	flags.Float64Var(&f.gate, "gate", 2, "with --redock: end the job there when its pose is this far off, in Å")
	flags.StringVar(&f.exhaustiveness, "exhaustiveness", "auto",
		"independent searches per ligand, 1 to 128; auto goes on until independent searches agree, up to 32")
	flags.IntVar(&f.numModes, "num-modes", 9, "most poses kept per ligand, 1 to 100")
	flags.StringVar(&f.rankBy, "rank-by", "",
		"vina ranks poses and ligands by Vina's score, cnn by GNINA's network (default: cnn for one ligand, vina for several)")
	flags.Float64Var(&f.energyRange, "energy-range", 3, "drop poses this much worse than the best, in kcal/mol")
	flags.Int64Var(&f.seed, "seed", 0, "seed of every random choice (default: 1)")
	flags.IntVar(&f.shardSize, "shard-size", 1, "most ligands per task, 1 to 10")
	flags.Float64Var(&f.ph, "ph", 7.4, "pH at which receptor and ligands are protonated")
	flags.IntVar(&f.cpu, "cpu", 1, "threads per task")
	flags.StringVar(&f.picture, "picture", pictureMolstar, "what draws the best pose for the report: molstar, cycles "+
		"(ray-traced, six times the work) or none")
	flags.StringVar(&f.name, "name", "", "name of the job (default: made from the receptor and the ligands)")
	flags.IntVar(&f.top, "top", defaultTop, "how many ligands to show at the end")
	flags.StringVarP(&f.folder, "output", "o", "", "folder to download report, tables and poses into; also --out")
	flags.BoolVar(&f.estimate, "estimate", false, "show the price, and do nothing else")
	flags.BoolVar(&f.watch, "watch", true, "stay, and show progress and result")
	flags.BoolVar(&f.detach, "detach", false, "submit, and do not stay")
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("picture", cobra.FixedCompletions(dockPictures, cobra.ShellCompDirectiveNoFileComp))
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "out" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
}

func (f *receptorFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.receptor, "receptor", "", "the receptor, as the argument RECEPTOR would name it")
	flags.StringSliceVar(&f.chains, "chains", nil, "dock into these chains alone, such as A,B (default: all)")
	flags.StringVar(&f.assembly, "assembly", "", "dock into this biological assembly, such as 1 (default: the structure as "+
		"deposited)")
	flags.IntVar(&f.model, "model", 0, "dock into this model of a file with several (default: the first)")
	flags.StringSliceVar(&f.keep, "keep", nil, "component that stays in the receptor, such as ZN; may be repeated")
	flags.StringSliceVar(&f.remove, "remove", nil, "component that is taken out of the receptor; may be repeated")
	flags.StringVar(&f.waters, "waters", "", "none, or structural: waters stay that hold at least three polar atoms of the site "+
		"together (default none)")
	flags.StringVar(&f.protonation, "protonation", "", "pdb2pqr-propka predicts protonation states at the pH, meeko keeps what "+
		"the residue names say (default pdb2pqr-propka)")
	flags.StringVar(&f.forceField, "force-field", "", "AMBER, CHARMM or PARSE, for pdb2pqr-propka (default AMBER)")
}

func (f *boxFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.box, "box", "", "the box's centre and size in Å: x,y,z,edge or x,y,z,a,b,c; bound: around the ligand that "+
		"is bound; pocket: around the best pocket")
	flags.StringVar(&f.from, "box-from", "", "lay the box around the ligand in this file: .sdf, .mol2, .pdb, .pdbqt or .cif")
	flags.StringVar(&f.center, "center", "", "centre of the box in Å: x,y,z")
	flags.StringVar(&f.size, "size", "", "size of the box in Å: one edge or x,y,z (default around a pocket: what fits it)")
	flags.StringVar(&f.ligand, "pocket-ligand", "", "lay the box around this ligand of the structure: STI, STI:A or STI:A:201")
	flags.StringSliceVar(&f.residues, "pocket-residues", nil, "lay the box around these residues, such as A:315,A:52A")
}

// docking reads the flags and the files that they name; nothing is sent before all of it is in order.
func (f *dockFlags) docking(args []string) (docking, error) {
	flags := f.cmd.Flags()
	leaves := f.detach || !f.watch
	switch {
	case f.detach && flags.Changed("watch") && f.watch:
		return docking{}, usage("--watch and --detach exclude each other")
	case f.estimate && leaves || f.folder != "" && (f.estimate || leaves):
		return docking{}, usage("--estimate, --detach and --output exclude each other")
	case flags.Changed("gate") && f.redock == "":
		return docking{}, usage("--gate needs --redock, which docks the structure's own ligand again")
	case f.gate < minGateAngstrom || f.gate > maxGateAngstrom:
		return docking{}, usage("--gate %g: must be %g to %g Å; 2 is usual", f.gate, minGateAngstrom, maxGateAngstrom)
	}
	d := docking{name: f.name, top: f.top, folder: f.folder}
	var err error
	if args = f.takeRedock(args); len(args) > 1 {
		return docking{}, usage("there are %d arguments, %q; name one receptor, and the ligand of --redock as "+
			"COMPONENT:CHAIN:NUMBER such as STI:A:201", len(args), args)
	}
	if d.receptor, err = f.receptor.read(args); err != nil {
		return docking{}, err
	}
	if d.box, err = f.box.read(); err != nil {
		return docking{}, err
	}
	if f.redock != "" {
		if d.search.redock, err = parseRedock(f.redock); err != nil {
			return docking{}, err
		}
	}
	if err := d.search.redock.checkBeside(d.box); err != nil {
		return docking{}, err
	}
	if d.search.redock == nil || len(f.smiles)+len(f.libraries)+len(f.files) > 0 {
		if d.ligands, err = gatherLigands(f.smiles, f.libraries, f.files); err != nil {
			return docking{}, err
		}
	}
	if err := f.choices(&d.search); err != nil {
		return docking{}, err
	}
	if d.name == "" {
		d.name = jobName(d.receptor, d.ligands)
	}
	return d, nil
}

// arguments allows the receptor, and behind --redock the ligand that it names: a flag whose value may be left out takes none from
// the next word.
func (f *dockFlags) arguments(_ *cobra.Command, args []string) error {
	if most := map[bool]int{true: 2, false: 1}[f.redock == boundWord]; len(args) > most {
		return usage("there are %d arguments, %q; name one receptor", len(args), args)
	}
	return nil
}

// takeRedock gives --redock the argument that names a ligand, if one does, and returns the others.
func (f *dockFlags) takeRedock(args []string) []string {
	if f.redock != boundWord {
		return args
	}
	for i, arg := range args {
		if redockForm.MatchString(arg) || len(args) == 2 && componentForm.MatchString(arg) && !namesReceptor(arg) {
			f.redock = arg
			return slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

// redockForm is a ligand with its chain, which no receptor is called.
var redockForm = regexp.MustCompile(`^[A-Za-z0-9]{1,8}:[^:\s]{1,16}(:-?[0-9]{1,5}[A-Za-z]{0,4})?$`)

// What draws the report's pictures.
const pictureMolstar = "molstar"

var dockPictures = []string{pictureMolstar, "cycles", "none"}

// Bounds of a gate in Å.
const (
	minGateAngstrom = 0.1
	maxGateAngstrom = 20.0
)

// choices takes over the flags that the user has given; the rest is the server's to choose.
func (f *dockFlags) choices(s *search) error {
	for _, bound := range []struct {
		flag            string
		value, low, top float64
	}{
		{"num-modes", float64(f.numModes), 1, 100}, {"energy-range", f.energyRange, 0.1, 100},
		{"shard-size", float64(f.shardSize), 1, 10}, {"ph", f.ph, 0, 14}, {"cpu", float64(f.cpu), 1, 256},
	} {
		if !(bound.value >= bound.low && bound.value <= bound.top) {
			return usage("--%s %g: must be %g to %g", bound.flag, bound.value, bound.low, bound.top)
		}
	}
	if !slices.Contains(dockPictures, f.picture) {
		return usage("--picture %q: must be %s", f.picture, strings.Join(dockPictures, ", "))
	}
	flags := f.cmd.Flags()
	exhaustiveness, err := parseExhaustiveness(f.exhaustiveness)
	if err != nil {
		return err
	}
	s.exhaustiveness = &exhaustiveness
	if flags.Changed("rank-by") && f.rankBy != rankByVina && f.rankBy != rankByCNN {
		return usage("--rank-by %s: must be %s or %s", f.rankBy, rankByVina, rankByCNN)
	}
	s.rankBy = f.rankBy
	s.numModes = given(flags.Changed("num-modes"), f.numModes)
	s.energyRange = given(flags.Changed("energy-range"), f.energyRange)
	s.seed = given(flags.Changed("seed"), f.seed)
	s.shardSize = given(flags.Changed("shard-size"), f.shardSize)
	s.cpuThreads = given(flags.Changed("cpu"), f.cpu)
	s.picture = given(flags.Changed("picture"), f.picture)
	s.ph = given(flags.Changed("ph"), f.ph)
	s.gate = given(flags.Changed("gate"), f.gate)
	return nil
}

// parseExhaustiveness reads a number of searches, or auto.
func parseExhaustiveness(text string) (mol.Exhaustiveness, error) {
	if strings.EqualFold(text, "auto") {
		return mol.AutoExhaustiveness, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > 128 {
		return 0, usage("--exhaustiveness %s: must be auto, or a whole number from 1 to 128", text)
	}
	return mol.Exhaustiveness(number), nil
}

func given[T any](changed bool, value T) *T {
	if !changed {
		return nil
	}
	return &value
}

// jobName names a job after its receptor and its ligands.
func jobName(r receptor, ligands []ligand) string {
	what := fmt.Sprintf("%d ligands", len(ligands))
	switch len(ligands) {
	case 0:
		what = "its own ligand"
	case 1:
		what = ligands[0].label
	}
	return shorten(what+" into "+r.title(), maxLabelChars)
}

// dock starts a docking, follows it to its end, shows the results and downloads them where that is asked for. The job is
// returned beside an error, as far as it is known.
func (inv *invocation) dock(ctx context.Context, d docking) (contract.Job, error) {
	receipt, err := inv.start(ctx, d)
	if err != nil {
		return contract.Job{}, err
	}
	inv.tellSubmitted(receipt.Body)
	if !inv.json {
		showForecast(inv.out, receipt.Body.Receptor)
	}
	return inv.complete(ctx, receipt.Body.JobID, d.top, func(j contract.Job) error { return inv.deliver(ctx, j, d.folder) })
}
