package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// resultFlags are the flags of `results` as they are written.
type resultFlags struct {
	filter    client.ResultFilter
	maxScore  float64
	passed    bool
	csv, sdf  bool
	file      string
	changed   func(flag string) bool
	mediaType string // of an export; "" for none
}

func resultsCommand() *cobra.Command {
	var f resultFlags
	cmd := command(cobra.Command{
		Use: "results JOB", Short: "List a run's ligands by score, or export them as CSV or SDF",
		Long: `Lists what became of a docking's ligands, best first. JOB is the id of the job or of its run, the run's own name, the
beginning or the end of an id, or "last". It works while the job runs.
--csv and --sdf write all that fit the filters, the SDF with the best pose of each; to standard output, or with -o to a file.`,
		Example: `  molfabric results last
  molfabric results run_0190… --max-score -8 --interaction A:ASP:381:hydrogen_bond
  molfabric results job_0190… --sort ligandEfficiency --csv -o table.csv`,
	}, one("JOB"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		runID, err := inv.runID(ctx, args[0])
		if err != nil {
			return err
		}
		if f.mediaType != "" {
			return inv.export(f.file, func(path string) error {
				return runAdvice(inv.api.ExportResults(ctx, runID, f.filter, f.mediaType, path))
			})
		}
		results, err := inv.api.DockingResults(ctx, runID, f.filter)
		return present(inv, results, runAdvice(err), func(w io.Writer, page contract.DockingResultList) error {
			return more(w, resultsTable(w, page.Results), page.NextCursor)
		})
	})
	f.define(cmd)
	cmd.ValidArgsFunction = completeJobs
	return cmd
}

func (f *resultFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.changed = flags.Changed
	flags.StringVar(&f.filter.Sort, "sort", "",
		"score, ligandEfficiency, cnnScore, index, label or createdAt; a minus in front turns it around (default: what the run "+
			"ranks by)")
	flags.StringSliceVar(&f.filter.Status, "status", nil, "only ligands in this state, such as failed; may be repeated")
	flags.Float64Var(&f.maxScore, "max-score", 0, "only ligands with this score or a lower one, in kcal/mol, such as -8")
	flags.StringArrayVar(&f.filter.Interactions, "interaction", nil, "only ligands whose best pose has this contact, "+
		"CHAIN:RESIDUE:NUMBER:TYPE, * for any part; may be repeated")
	flags.StringVar(&f.filter.Text, "search", "", "only ligands whose name holds this text")
	flags.BoolVar(&f.passed, "passed-checks", true, "only ligands whose best pose has passed every check; =false: has not")
	flags.BoolVar(&f.csv, "csv", false, "write a table")
	flags.BoolVar(&f.sdf, "sdf", false, "write structures")
	flags.StringVarP(&f.file, "output", "o", "", "file for --csv or --sdf")
	pageFlags(cmd, &f.filter.Page)
	sorts := []string{
		"score", "-score", "ligandEfficiency", "-ligandEfficiency", "cnnScore", "-cnnScore", "index", "label", "createdAt",
		"-createdAt",
	}
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(sorts, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// check settles what is listed, and how.
func (f *resultFlags) check() error {
	switch {
	case f.csv && f.sdf:
		return usage("--csv and --sdf exclude each other")
	case f.file != "" && !f.csv && !f.sdf:
		return usage("-o needs --csv or --sdf, which say what the file holds")
	case f.csv:
		f.mediaType = client.MediaCSV
	case f.sdf:
		f.mediaType = client.MediaSDF
	}
	if f.mediaType != "" && !f.changed("limit") {
		f.filter.Limit = 0 // an export is whole
	}
	f.filter.Status = asStatuses(f.filter.Status)
	f.filter.MaxScore = given(f.changed("max-score"), f.maxScore)
	f.filter.PassedChecks = given(f.changed("passed-checks"), f.passed)
	return nil
}

// export writes what write writes to a file: to the one that was asked for, or by way of one to standard output, so that an export
// that breaks off and is begun again is printed once.
func (inv *invocation) export(file string, write func(path string) error) error {
	if file != "" {
		if err := write(file); err != nil {
			return err
		}
		return inv.saved(file)
	}
	folder, err := os.MkdirTemp("", "molfabric-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "export")
	if err := write(path); err != nil {
		return err
	}
	written, err := os.Open(path)
	if err != nil {
		return err
	}
	defer written.Close()
	_, err = io.Copy(inv.out, written)
	return err
}

// saved says where a file lies.
func (inv *invocation) saved(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(inv.err, "%s: %s\n", path, bytesText(info.Size()))
	return nil
}

func resultsTable(w io.Writer, results []contract.DockingResult) error {
	if len(results) == 0 {
		_, err := fmt.Fprintln(w, "No ligands fit.")
		return err
	}
	p := painter(w)
	t := newTable(p, []int{1, 3, 4, 5}, "rank", "ligand", "score (kcal/mol)", "efficiency", "poses", "checks", "key contacts",
		"result")
	for _, r := range results {
		rank := any("–")
		if r.Rank != nil {
			rank = *r.Rank
		}
		contacts := contactsText(r.Interactions)
		if r.Status == ligandFailed {
			contacts = shorten(labelOf("failed at "+orText(r.FailureStage, "an unknown step")+": "+
				orText(r.Error, "no reason given")), noteChars/2)
		} else if r.Status != ligandCompleted {
			contacts = strings.ToLower(r.Status)
		}
		checks := "–"
		if r.PassedChecks != nil {
			checks = p.good(*r.PassedChecks, map[bool]string{true: "passed", false: "flawed"}[*r.PassedChecks])
		}
		t.AppendRow(table.Row{rank, shorten(labelOf(r.Label), labelChars), decimals(r.BestScoreKcalMol, 2),
			decimals(r.LigandEfficiency, 3), r.PoseCount, checks, contacts, r.ResultID})
	}
	return render(w, t)
}
