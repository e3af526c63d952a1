package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

func runsCommand() *cobra.Command {
	var filter client.RunFilter
	cmd := command(cobra.Command{
		Use: "runs [RUN]", Short: "List your docking runs, or show one",
		Long: `Lists docking runs, newest first: one for each docking job, with the receptor, the box and the search that its results have in
common. RUN, the id of a run, its name, or the id of its job, shows that one, and of a repetition what it has found. The
beginning or the end of an id will do, and so will "last".`,
		Example: "  molfabric runs --status running\n  molfabric runs last",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		if len(args) == 1 {
			return inv.showRun(ctx, args[0])
		}
		filter.Status = asStatuses(filter.Status)
		runs, err := inv.api.DockingRuns(ctx, filter)
		return present(inv, runs, err, func(w io.Writer, page contract.DockingRunList) error {
			return more(w, runsTable(w, page.Runs), page.NextCursor)
		})
	})
	statusFlag(cmd, &filter.Status, job.Statuses, "only runs whose job is in this state; may be repeated")
	pageFlags(cmd, &filter.Page)
	return cmd
}

func runsTable(w io.Writer, runs []contract.DockingRun) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "No docking runs. `molfabric dock` makes one.")
		return err
	}
	p := painter(w)
	t := newTable(p, []int{6}, "run", "job", "name", "status", "receptor", "docked", "redocking", "submitted")
	for _, run := range runs {
		docked := fmt.Sprintf("%d of %d", run.Counts.Completed, run.Counts.Total)
		redocking := ""
		if v := run.Validation; v != nil && v.RedockRMSDAngstrom != nil && v.Passed != nil {
			redocking = p.good(*v.Passed, fmt.Sprintf("%.2f Å", *v.RedockRMSDAngstrom))
		}
		t.AppendRow(table.Row{
			run.RunID, run.JobID, shorten(labelOf(run.JobName), labelChars), p.status(run.Status), receptorName(run), docked,
			redocking,
			clock(run.CreatedAt),
		})
	}
	return render(w, t)
}

// receptorName is what a run's receptor is called; servers that do not tell know its PDB id at most.
func receptorName(run contract.DockingRun) string {
	return shorten(labelOf(cmp.Or(run.Receptor.Name, orText(run.Receptor.PDBID, "a file"))), labelChars)
}

// showRun shows one run.
func (inv *invocation) showRun(ctx context.Context, named string) error {
	runID, err := inv.runID(ctx, named)
	if err != nil {
		return err
	}
	run, err := inv.api.DockingRun(ctx, runID)
	return present(inv, run, runAdvice(err), func(w io.Writer, run contract.DockingRun) error {
		runTable(w, run)
		return nil
	})
}

// runTable prints a run's facts, one a line.
func runTable(w io.Writer, run contract.DockingRun) {
	p := painter(w)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s %s\n", name, value)
		}
	}
	line("run", run.RunID)
	line("job", run.JobID)
	line("name", labelOf(run.JobName))
	line("status", p.status(run.Status))
	line("ligands", fmt.Sprintf("%d: %d docked, %d failed", run.Counts.Total, run.Counts.Completed, run.Counts.Failed))
	receptor := receptorName(run)
	if run.Receptor.Protonation != nil {
		receptor += "; " + labelOf(*run.Receptor.Protonation)
	}
	if run.Receptor.Reused != nil && *run.Receptor.Reused {
		receptor += "; an earlier preparation was taken over"
	}
	line("receptor", receptor)
	if run.Box != nil {
		line("box", boxText(run.Box.Source, run.Box.Center[:], run.Box.Size[:]))
	}
	line("seed", fmt.Sprint(run.Seed))
	if v := run.Validation; v != nil && v.RedockRMSDAngstrom != nil && v.Passed != nil {
		line("redocking", fmt.Sprintf("%s %.2f Å from the crystal pose, %s", labelOf(v.NativeComponentID), *v.RedockRMSDAngstrom,
			p.good(*v.Passed, map[bool]string{true: "found again", false: "not found again"}[*v.Passed])))
	}
	line("submitted", clock(run.CreatedAt))
	line("repeats", orText(run.ReproducesRunID, ""))
	if run.Reproduction != nil {
		showReproduction(w, *run.Reproduction)
	}
}

// runAdvice gives a run that is not there its own next step.
func runAdvice(err error) error {
	return advise(err, fault.NotFound, runsHint)
}
