package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/fault"
)

func posesCommand() *cobra.Command {
	var page client.Page
	cmd := command(cobra.Command{
		Use: "poses RESULT", Short: "List the poses of a ligand", Example: "  molfabric poses result_0190…",
		Long: "Lists the poses of a ligand, best first; RESULT is the id that `molfabric results` shows.",
	}, one("RESULT"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		poses, err := inv.api.DockingPoses(ctx, args[0], page)
		if err != nil {
			return advise(err, fault.NotFound, "`molfabric results RUN` lists the results of a run")
		}
		if inv.json {
			return inv.print(poses.JSON())
		}
		if err := posesTable(inv.out, poses.Poses); err != nil {
			return err
		}
		more(inv.out, poses.NextCursor)
		return nil
	})
	pageFlags(cmd, &page)
	return cmd
}

func posesTable(w io.Writer, poses []client.DockingPose) error {
	if len(poses) == 0 {
		_, err := fmt.Fprintln(w, "No poses yet.")
		return err
	}
	p := painter(w)
	t := newTable(p, []int{1, 2, 3, 4, 5}, "rank", "score (kcal/mol)", "RMSD ≥ (Å)", "RMSD ≤ (Å)", "to crystal (Å)", "checks", "pose")
	for _, pose := range poses {
		checks := "–"
		if pose.Checks != nil {
			var flaws []string
			for name, passed := range pose.Checks.Tests {
				if !passed {
					flaws = append(flaws, name)
				}
			}
			slices.Sort(flaws)
			checks = verdictText(p, pose.Checks.Passed, len(flaws))
			if len(flaws) > 0 {
				checks += ": " + shorten(labelOf(strings.Join(flaws, ", ")), 60)
			}
		}
		t.AppendRow(table.Row{
			pose.Rank, fmt.Sprintf("%.2f", pose.ScoreKcalMol), fmt.Sprintf("%.2f", pose.RMSDLowerBound), fmt.Sprintf("%.2f", pose.RMSDUpperBound),
			decimals(pose.ReferenceRMSDAngstrom, 2), checks, pose.PoseID,
		})
	}
	return render(w, t)
}

func interactionsCommand() *cobra.Command {
	var types []string
	cmd := command(cobra.Command{
		Use: "interactions POSE", Short: "List the contacts of a pose with the receptor", Example: "  molfabric interactions pose_0190… --type hydrogen_bond",
		Long: `Lists the contacts of a pose with the receptor, by the receptor's own numbering and atom serials; POSE is the id that
` + "`molfabric poses`" + ` shows.`,
	}, one("POSE"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		contacts, err := inv.api.Interactions(ctx, args[0], types)
		if err != nil {
			return advise(err, fault.NotFound, "`molfabric poses RESULT` lists the poses of a ligand")
		}
		if inv.json {
			return inv.print(contacts.JSON())
		}
		return interactionsTable(inv.out, contacts)
	})
	cmd.Flags().StringSliceVar(&types, "type", nil, "only contacts of this type; may be repeated")
	var kinds []string
	for _, kind := range contactKinds {
		kinds = append(kinds, kind.kind)
	}
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

func interactionsTable(w io.Writer, contacts client.Interactions) error {
	switch {
	case !contacts.Analysed:
		_, err := fmt.Fprintln(w, "The pose has not been analysed: its job runs still, or the ligand's better poses were analysed alone.")
		return err
	case len(contacts.Interactions) == 0:
		_, err := fmt.Fprintln(w, "No contacts.")
		return err
	}
	t := newTable(painter(w), []int{5, 6, 7}, "type", "chain", "residue", "atom", "serial", "distance (Å)", "angle (°)", "ligand atoms")
	for _, c := range contacts.Interactions {
		serial := "–"
		if c.Receptor.AtomSerial != nil {
			serial = fmt.Sprint(*c.Receptor.AtomSerial)
		}
		t.AppendRow(table.Row{
			c.Type, labelOf(c.Receptor.Chain), labelOf(fmt.Sprintf("%s %d%s", c.Receptor.ResidueName, c.Receptor.Residue, c.Receptor.InsertionCode)),
			labelOf(c.Receptor.AtomName), serial, fmt.Sprintf("%.2f", c.DistanceAngstrom), decimals(c.AngleDegrees, 0), strings.Trim(fmt.Sprint(c.Ligand.AtomIndices), "[]"),
		})
	}
	if err := render(w, t); err != nil {
		return err
	}
	if method := contacts.Interactions[0].Method; method != nil {
		fmt.Fprintf(w, "\nFound by %s %s; ligand atoms are counted from 0, as in the pose's SDF record.\n", labelOf(method.Tool), labelOf(method.Version))
	}
	return nil
}
