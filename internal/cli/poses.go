package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

func posesCommand() *cobra.Command {
	var page client.Page
	cmd := command(cobra.Command{
		Use: "poses JOB [LIGAND]", Short: "List the poses of a ligand",
		Example: "  molfabric poses last imatinib\n  molfabric poses job_0190… imatinib\n  molfabric poses result_0190…",
		Long: `Lists the poses of a ligand, best first. JOB is a docking: the id of the job or of its run, the beginning or the end of
an id, or "last". LIGAND is the ligand's name or id, or the beginning of it; a docking of one ligand needs none. The id of a result,
which ` + "`molfabric results`" + ` shows, says both at once.`,
	}, cobra.RangeArgs(1, 2), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		resultID, err := inv.resultID(ctx, args)
		if err != nil {
			return err
		}
		poses, err := inv.api.DockingPoses(ctx, resultID, page)
		return present(inv, poses, posesAdvice(err), func(w io.Writer, page contract.DockingPoseList) error {
			return more(w, posesTable(w, page.Poses), page.NextCursor)
		})
	})
	pageFlags(cmd, &page)
	cmd.ValidArgsFunction = completeJobs
	return cmd
}

// posesAdvice gives a result that is not there its own next step.
func posesAdvice(err error) error {
	return advise(err, fault.NotFound, "`molfabric results JOB` lists the results of a docking")
}

func posesTable(w io.Writer, poses []contract.DockingPose) error {
	if len(poses) == 0 {
		_, err := fmt.Fprintln(w, "No poses yet.")
		return err
	}
	p := painter(w)
	t := newTable(p, []int{1, 2, 3, 4, 5, 6, 7},
		"rank", "score (kcal/mol)", "CNN score", "CNN pK", "RMSD ≥ (Å)", "RMSD ≤ (Å)", "to crystal (Å)", "checks", "pose")
	for _, pose := range poses {
		checks := "–"
		if pose.Checks != nil {
			flaws := pose.Flaws()
			checks = verdictText(p, pose.Checks.Passed, len(flaws))
			if len(flaws) > 0 {
				checks += ": " + shorten(labelOf(strings.Join(flaws, ", ")), 60)
			}
		}
		t.AppendRow(table.Row{
			pose.Rank, fmt.Sprintf("%.2f", pose.ScoreKcalMol), decimals(pose.CNNScore, 2), decimals(pose.CNNAffinityPk, 1),
			fmt.Sprintf("%.2f", pose.RMSDLowerBound), fmt.Sprintf("%.2f", pose.RMSDUpperBound),
			decimals(pose.ReferenceRMSDAngstrom, 2), checks, pose.PoseID,
		})
	}
	return render(w, t)
}

func interactionsCommand() *cobra.Command {
	var types []string
	var rank int
	var changed func(flag string) bool
	cmd := command(cobra.Command{
		Use: "interactions JOB [LIGAND]", Short: "List the contacts of a pose with the receptor",
		Example: "  molfabric interactions last imatinib\n  molfabric interactions job_0190… imatinib --rank 2 --type " +
			"hydrogen_bond\n" +
			"  molfabric interactions pose_0190…",
		Long: `Lists the contacts of a ligand's best pose with the receptor, by the receptor's own numbering and atom serials; --rank
chooses another pose. JOB and LIGAND are those of ` + "`molfabric poses`" + `; the id of a pose or of a result says both at once.`,
	}, cobra.RangeArgs(1, 2), func(ctx context.Context, inv *invocation, args []string) error {
		if rank < 1 || rank > contract.MaxPage {
			return usage("--rank %d: must be 1 to %d; 1 is the best pose", rank, contract.MaxPage)
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		poseID := args[0]
		switch isPose := strings.HasPrefix(args[0], posePrefix); {
		case isPose && (len(args) > 1 || changed("rank")):
			return usage("%s is a pose already; leave the ligand and --rank out", args[0])
		case !isPose:
			var err error
			if poseID, err = inv.poseID(ctx, args, rank); err != nil {
				return err
			}
		}
		contacts, err := inv.api.Interactions(ctx, poseID, types)
		if err != nil {
			return advise(err, fault.NotFound, "`molfabric poses JOB LIGAND` lists the poses of a ligand")
		}
		if inv.json {
			return inv.print(contacts.JSON())
		}
		return interactionsTable(inv.out, contacts.Body)
	})
	changed = cmd.Flags().Changed
	cmd.ValidArgsFunction = completeJobs
	cmd.Flags().IntVar(&rank, "rank", 1, "the ligand's pose of this rank; 1 is the best")
	cmd.Flags().StringSliceVar(&types, "type", nil, "only contacts of this type; may be repeated")
	var kinds []string
	for _, kind := range contactKinds {
		kinds = append(kinds, kind.kind)
	}
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

func interactionsTable(w io.Writer, contacts contract.DockingInteractions) error {
	switch {
	case !contacts.Analysed:
		_, err := fmt.Fprintln(w, "The pose has not been analysed: its job runs still, or the ligand's better poses were "+
			"analysed alone.")
		return err
	case len(contacts.Interactions) == 0:
		_, err := fmt.Fprintln(w, "No contacts.")
		return err
	}
	t := newTable(painter(w), []int{5, 6, 7}, "type", "chain", "residue", "atom", "serial", "distance (Å)", "angle (°)",
		"ligand atoms")
	for _, c := range contacts.Interactions {
		serial := "–"
		if c.Receptor.AtomSerial != nil {
			serial = fmt.Sprint(*c.Receptor.AtomSerial)
		}
		t.AppendRow(table.Row{
			c.Type, labelOf(c.Receptor.Chain), labelOf(fmt.Sprintf("%s %d%s", c.Receptor.ResidueName, c.Receptor.Residue,
				c.Receptor.InsertionCode)),
			labelOf(c.Receptor.AtomName), serial, fmt.Sprintf("%.2f", c.DistanceAngstrom), decimals(c.AngleDegrees, 0),
			strings.Trim(fmt.Sprint(c.Ligand.AtomIndices), "[]"),
		})
	}
	if err := render(w, t); err != nil {
		return err
	}
	if method := contacts.Interactions[0].Method; method != nil {
		fmt.Fprintf(w, "\nFound by %s %s; ligand atoms are counted from 0, as in the pose's SDF record.\n", labelOf(method.Tool),
			labelOf(method.Version))
	}
	return nil
}
