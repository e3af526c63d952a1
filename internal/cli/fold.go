package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fasta"
	"github.com/molfabric/molfabric/internal/job"
)

// What `fold` asks for, and the bounds of the engine.
const (
	esmfold          = "esmfold"
	alphafold        = "alphafold"
	foldOnCPU        = "cpu"
	foldOnCUDA       = "cuda"
	maxFoldTasks     = 1000
	maxFoldFileBytes = 4 << 20
	maxFoldModels    = 5
	usualRecycles    = 3
	maxRecycles      = 20
	maxFoldSeeds     = 8
	maxFolds         = 1000
	foldAligned      = "database"
	foldSingle       = "single_sequence"
	foldResults      = "results.json"
	foldSchema       = "molfabric.fold.results/v1"
)

var foldBound = fileBound{maxFoldFileBytes, "cut it into several jobs"}

type foldRequest struct {
	jobRequest[foldParams]
	TaskCount  int               `json:"taskCount,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

type foldParams struct {
	Model    string `json:"foldModel"`
	Models   *int   `json:"foldModels,omitempty"`
	Recycles *int   `json:"foldRecycles,omitempty"`
	Seeds    *int   `json:"foldSeeds,omitempty"`
	Relax    *bool  `json:"foldRelax,omitempty"`
	MSA      string `json:"foldMsa,omitempty"`
	// Templates are ids of the Protein Data Bank.
	Templates []string `json:"foldTemplates,omitempty"`
	Lengths   []int    `json:"foldLengths,omitempty"` // of an estimate
	Seed      *int64   `json:"seed,omitempty"`
}

// foldFlags are the flags of `fold` as they are written.
type foldFlags struct {
	changed                     func(flag string) bool
	model, device, name, folder string
	msa                         string
	shards                      int
	models, recycles, seeds     int
	seed                        int64
	relax                       bool
	templates                   []string
	estimate, detach, watch     bool
}

const foldText = `Predicts the structures of proteins from their sequences with ESMFold or AlphaFold 2: reads a FASTA file with one or many records,
names those that cannot be folded before anything is sent, submits the others as one job, follows it, and shows how sure the model
is of each. ":" joins the chains of a complex. A pLDDT above 70 is a good backbone, below 50 hardly a structure.`

func foldCommand() *cobra.Command {
	var options foldFlags
	cmd := command(cobra.Command{
		Use: "fold SEQUENCES.fasta", Short: "Predict structures from sequences with ESMFold or AlphaFold 2", Long: foldText,
		Example: `  molfabric fold seqs.fasta --model esmfold --watch --out structures
  molfabric fold seqs.fasta --model alphafold --models 3 --recycles 6
  molfabric fold complex.fasta --device cuda --detach
  molfabric fold seqs.fasta --estimate`,
	}, one("SEQUENCES.fasta"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := options.check(); err != nil {
			return err
		}
		folded, err := inv.judgeSequences(args[0], options.device)
		if err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		if options.estimate {
			return inv.priceFolds(ctx, folded, options)
		}
		return inv.foldFile(ctx, args[0], options)
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"fasta", "fa", "faa"}, cobra.ShellCompDirectiveFilterFileExt
	}
	options.define(cmd)
	return cmd
}

func (f *foldFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.changed = flags.Changed
	flags.SortFlags = false // the order below goes from what is folded to how
	flags.StringVar(&f.model, "model", esmfold, "the model that predicts: esmfold or alphafold")
	flags.StringVar(&f.device, "device", foldOnCPU, fmt.Sprintf("cpu (up to %d residues) or cuda (up to %d)", fasta.MaxCPUTokens,
		fasta.MaxGPUTokens))
	flags.IntVar(&f.models, "models", maxFoldModels, "alphafold: models that predict each protein, the best ranked first (1 to 5)")
	flags.IntVar(&f.recycles, "recycles", usualRecycles, "alphafold: passes after the first (0 to 20)")
	flags.IntVar(&f.seeds, "seeds", 1, "alphafold: seeds that every model predicts with (1 to 8)")
	flags.BoolVar(&f.relax, "relax", false, "alphafold: relax the best model with OpenMM")
	flags.StringSliceVar(&f.templates, "templates", nil, "alphafold: entries of the Protein Data Bank that models may take as "+
		"templates: 1CBS,2CBS")
	flags.StringVar(&f.msa, "msa", "", "alphafold: database or single_sequence (default: database where the service has one)")
	flags.Int64Var(&f.seed, "seed", 0, "the first seed (default: the job's own)")
	flags.IntVar(&f.shards, "shards", 0, "tasks to fold with, side by side (default: about an hour of work each)")
	flags.StringVar(&f.name, "name", "", "name of the job (default: made from the file)")
	flags.StringVarP(&f.folder, "output", "o", "", "folder to download the structures into; also --out")
	offerNoReuse(cmd)
	flags.BoolVar(&f.estimate, "estimate", false, "show the price of these proteins, and do nothing else")
	flags.BoolVar(&f.watch, "watch", true, "stay, and show progress and result")
	flags.BoolVar(&f.detach, "detach", false, "submit, and do not stay")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "out" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
	// the flags exist
	_ = cmd.RegisterFlagCompletionFunc("model", cobra.FixedCompletions([]string{esmfold, alphafold},
		cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("msa", cobra.FixedCompletions([]string{foldAligned, foldSingle},
		cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("device", cobra.FixedCompletions([]string{foldOnCPU, foldOnCUDA},
		cobra.ShellCompDirectiveNoFileComp))
}

func (f *foldFlags) check() error {
	leaves := f.detach || f.changed("watch") && !f.watch
	switch {
	case f.detach && f.changed("watch") && f.watch:
		return usage("--watch and --detach exclude each other")
	case f.estimate && leaves || f.folder != "" && (f.estimate || leaves):
		return usage("--estimate, --detach and --output exclude each other")
	case f.model != esmfold && f.model != alphafold:
		return usage("--model %q: must be esmfold or alphafold", f.model)
	case f.models < 1 || f.models > maxFoldModels:
		return usage("--models %d: must be 1 to %d", f.models, maxFoldModels)
	case f.recycles < 0 || f.recycles > maxRecycles:
		return usage("--recycles %d: must be 0 to %d", f.recycles, maxRecycles)
	case f.seeds < 1 || f.seeds > maxFoldSeeds:
		return usage("--seeds %d: must be 1 to %d", f.seeds, maxFoldSeeds)
	case f.model != alphafold && (f.changed("models") || f.changed("recycles") || f.changed("seeds") || f.changed("relax") ||
		f.changed("msa") || f.changed("templates")):
		return usage("--models, --recycles, --seeds, --relax, --templates and --msa are of --model alphafold")
	case f.changed("msa") && f.msa != foldAligned && f.msa != foldSingle:
		return usage("--msa %q: must be %s or %s", f.msa, foldAligned, foldSingle)
	case f.device != foldOnCPU && f.device != foldOnCUDA:
		return usage("--device %q: must be cpu or cuda", f.device)
	case f.changed("shards") && (f.shards < 1 || f.shards > maxFoldTasks):
		return usage("--shards %d: must be 1 to %d", f.shards, maxFoldTasks)
	}
	return nil
}

// judgeSequences returns the records that can be folded, and names the others, as the service will; a file of nothing else is
// refused.
func (inv *invocation) judgeSequences(path, device string) ([]fasta.Judged, error) {
	if err := checkPlain(path, foldBound); err != nil {
		return nil, err
	}
	content, err := readPlain(path)
	if err != nil {
		return nil, err
	}
	records, err := fasta.Read(content)
	if err != nil {
		return nil, invalidInput("%s: %v", path, err)
	}
	most := fasta.MaxCPUTokens
	if device == foldOnCUDA {
		most = fasta.MaxGPUTokens
	}
	var folded []fasta.Judged
	for _, one := range fasta.Judge(records, most) {
		if one.Reason == "" {
			folded = append(folded, one)
			continue
		}
		fmt.Fprintf(inv.err, "Not folded: %s %s.\n", one.Name, one.Reason)
	}
	if len(folded) == 0 {
		return nil, invalidInput("%s: has no sequence that can be folded", path)
	}
	return folded, nil
}

// readPlain reads a file that may be compressed with gzip, of at most foldBound.
func readPlain(path string) ([]byte, error) {
	file, err := openPlain(path, foldBound)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(file)
}

// params are the model's own settings, where they are written.
func (f *foldFlags) params() foldParams {
	p := foldParams{Model: f.model}
	if f.changed("seed") {
		p.Seed = &f.seed
	}
	if f.model == alphafold {
		p.Models, p.Recycles, p.Seeds, p.Relax = &f.models, &f.recycles, &f.seeds, &f.relax
		p.MSA, p.Templates = f.msa, f.templates
	}
	return p
}

// request is a job of these settings, without its sequences.
func (f *foldFlags) request() foldRequest {
	return foldRequest{TaskCount: f.shards, Parameters: map[string]string{"foldDevice": f.device},
		jobRequest: jobRequest[foldParams]{JobType: "simulation", Simulator: f.model, SimulationParams: f.params()}}
}

// priceFolds prices the proteins that can be folded, which the service need not see for that: it goes by their lengths.
func (inv *invocation) priceFolds(ctx context.Context, folded []fasta.Judged, f foldFlags) error {
	if len(folded) > maxFolds {
		return invalidInput("the file has %d proteins; a job may have at most %d", len(folded), maxFolds)
	}
	request, longest := f.request(), 0
	for _, one := range folded {
		length := one.Tokens()
		request.SimulationParams.Lengths = append(request.SimulationParams.Lengths, length)
		longest = max(longest, length)
	}
	price, err := inv.api.Estimate(ctx, request)
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(price.JSON())
	}
	fmt.Fprintf(inv.out, "%s for %s of up to %d residues.\n",
		painter(inv.out).bold(money(price.Body.EstimatedCost, price.Body.Currency)),
		counted(len(folded), "protein", "proteins"), longest)
	return nil
}

// foldFile submits the job.
func (inv *invocation) foldFile(ctx context.Context, path string, f foldFlags) error {
	request := f.request()
	scene, err := inv.uploadPlain(ctx, path, plainName(path), foldBound, client.UploadOptions{})
	if err != nil {
		return inv.unsubmitted(ctx, err)
	}
	request.SceneFile = scene.StorageKey
	request.JobName = shorten(labelOf(first(f.name, "folds of "+plainName(path))), maxLabelChars)
	receipt, err := inv.submit(ctx, request, "")
	if err != nil {
		return err
	}
	if f.detach || !f.watch {
		return inv.showReceipt(receipt)
	}
	inv.tellSubmitted(receipt.Body)
	_, err = inv.complete(ctx, receipt.Body.JobID, defaultTop,
		func(j contract.Job) error { return inv.deliverFolds(ctx, j, f.folder) })
	return err
}

// folds is what is shown of results.json.
type folds struct {
	Schema    string `json:"schema"`
	Untrained bool   `json:"untrained"`
	Sequences []struct {
		Name      string   `json:"name"`
		Residues  int      `json:"residues"`
		MeanPLDDT float64  `json:"meanPlddt"`
		PTM       float64  `json:"ptm"`
		IPTM      *float64 `json:"iptm"`
		File      string   `json:"file"`
	} `json:"sequences"`
	Failures []struct {
		Item    string `json:"item"`
		Message string `json:"message"`
	} `json:"failures"`
}

// deliverFolds shows what a job has folded, and downloads it where that is asked for.
func (inv *invocation) deliverFolds(ctx context.Context, j contract.Job, folder string) error {
	if j.Status != job.Completed && j.Status != job.CompletedWithFailures {
		return nil
	}
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return err
	}
	if !inv.json {
		var found folds
		if err := inv.readDocument(ctx, outputs.Body, foldResults, &found); err != nil {
			return err
		}
		if found.Schema != foldSchema {
			return fmt.Errorf("job %s has no %s that this program can read", j.JobID, foldResults)
		}
		if err := foldsTable(inv.out, found); err != nil {
			return err
		}
	}
	if folder == "" {
		return nil
	}
	if err := inv.download(ctx, j.JobID, outputs.Body.Outputs, folder); err != nil {
		return err
	}
	if !inv.json {
		fmt.Fprintf(inv.out, "%d files lie in %s; report.html shows them.\n", len(outputs.Body.Outputs), folder)
	}
	return nil
}

func foldsTable(w io.Writer, found folds) error {
	if found.Untrained {
		fmt.Fprintln(w, "\nUNTRAINED: these are structures of random weights, which mean nothing.")
	}
	t := newTable(painter(w), []int{2, 3, 4, 5}, "protein", "residues", "mean pLDDT", "pTM", "ipTM", "file")
	for _, one := range found.Sequences {
		ptm := one.PTM
		t.AppendRow(table.Row{shorten(one.Name, maxLabelChars), one.Residues, fmt.Sprintf("%.1f", one.MeanPLDDT), decimals(&ptm, 3),
			decimals(one.IPTM, 3), one.File + ".cif"})
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, t.Render()); err != nil {
		return err
	}
	var lines strings.Builder
	for _, one := range found.Failures {
		fmt.Fprintf(&lines, "Not folded: %s %s.\n", one.Item, strings.TrimSuffix(one.Message, "."))
	}
	_, err := io.WriteString(w, lines.String())
	return err
}
