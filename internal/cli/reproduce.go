package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

func reproduceCommand() *cobra.Command {
	var watch bool
	cmd := command(cobra.Command{
		Use: "reproduce RUN", Short: "Run a docking again with pinned inputs, and compare",
		Long: `Submits a run again as a job of its own, with its inputs held against their digests and its seed pinned; the job is charged as
any other. With --watch it stays, and says whether the poses are identical, within tolerance or different, and why; different ends
with exit code 11. ` + "`molfabric runs RUN`" + ` shows the same later.`,
		Example: "  molfabric reproduce run_0190… --watch",
	}, one("RUN"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		runID, err := inv.runID(ctx, args[0])
		if err != nil {
			return err
		}
		receipt, err := inv.api.Reproduce(ctx, runID)
		if err != nil {
			return runAdvice(err)
		}
		if watch {
			return inv.watchReproduction(ctx, receipt.Body)
		}
		if inv.json {
			return inv.print(receipt.JSON())
		}
		inv.showReproduceReceipt(receipt.Body)
		fmt.Fprintf(inv.out, "  molfabric watch %s   follows it\n  molfabric runs %s    shows what it has found\n",
			receipt.Body.JobID,
			receipt.Body.RunID)
		return nil
	})
	cmd.Flags().BoolVar(&watch, "watch", false, "stay, and show what it has found")
	return cmd
}

func (inv *invocation) showReproduceReceipt(receipt contract.DockingReproduceResponse) {
	fmt.Fprintf(inv.out, "Run %s repeats %s, as job %s; it is expected to cost %s.\n", receipt.RunID, receipt.ReproducesRunID,
		receipt.JobID,
		money(receipt.EstimatedCost, receipt.Currency))
}

// watchReproduction follows a repetition to its end and shows the verdict. Ligands that fail again as they failed are no failure
// of the repetition; errDifferent is one.
func (inv *invocation) watchReproduction(ctx context.Context, receipt contract.DockingReproduceResponse) error {
	if !inv.json {
		inv.showReproduceReceipt(receipt)
	}
	j, err := inv.follow(ctx, receipt.JobID, nil)
	if err != nil {
		return err
	}
	run, err := inv.api.DockingRun(ctx, receipt.RunID)
	if err != nil {
		return runAdvice(err)
	}
	if inv.json {
		err = inv.print(run.JSON())
	} else if run.Body.Reproduction != nil {
		fmt.Fprintln(inv.out)
		showReproduction(inv.out, *run.Body.Reproduction)
	}
	switch {
	case err != nil:
		return err
	case j.Body.Status != job.Completed && j.Body.Status != job.CompletedWithFailures:
		return endOf(j.Body, "")
	case run.Body.Reproduction != nil && run.Body.Reproduction.Verdict == contract.VerdictDifferent:
		return errDifferent
	}
	return nil
}

// showReproduction says what a repetition has found.
func showReproduction(w io.Writer, r contract.DockingReproduction) {
	p := painter(w)
	switch r.Verdict {
	case contract.VerdictIdentical:
		fmt.Fprintf(w, "%s: all %d ligands have the same poses, to the byte.\n", p.good(true, "Identical"), r.Compared.Ligands)
	case contract.VerdictWithinTolerance:
		fmt.Fprintf(w, "%s: scores differ by at most %s kcal/mol, which is within %g; %d of %d ligands are identical.\n",
			p.good(true, "Within tolerance"), decimals(r.Compared.ScoreDifferenceMaxKcalMol, 3), r.Tolerance.ScoreKcalMol,
			r.Compared.Identical, r.Compared.Ligands)
	case contract.VerdictDifferent:
		fmt.Fprintf(w, "%s: %d of %d ligands are identical.\n", p.good(false, "Different"), r.Compared.Identical,
			r.Compared.Ligands)
	default:
		fmt.Fprintln(w, "There is no verdict before both runs have ended.")
	}
	for _, reason := range r.Reasons {
		fmt.Fprintf(w, "  %s\n", labelOf(reason))
	}
}

func bundleCommand() *cobra.Command {
	var file string
	cmd := command(cobra.Command{
		Use: "bundle RUN -o FILE", Short: "Download a run with all that made it, as an RO-Crate",
		Long: `Downloads a run's provenance bundle: an RO-Crate (https://w3id.org/ro/crate) in a zip, with inputs, results, digests, versions, seeds,
commands, cost, citations and a paragraph for a methods section.`,
		Example: "  molfabric bundle run_0190… -o crate.zip",
	}, one("RUN"), func(ctx context.Context, inv *invocation, args []string) error {
		if file == "" {
			return usage("-o is missing: say where the bundle goes, such as -o crate.zip")
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		runID, err := inv.runID(ctx, args[0])
		if err != nil {
			return err
		}
		return inv.export(file, func(path string) error { return runAdvice(inv.api.Bundle(ctx, runID, path)) })
	})
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write")
	return cmd
}
