package cli

import (
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

// maxQueryChars is doc/contract.md §2.2's bound of a look-up.
const maxQueryChars = 512

func ligandsCommand() *cobra.Command {
	return command(cobra.Command{
		Use: "ligands QUERY", Short: "Look a ligand up by name, synonym or PDB component id",
		Long: `Looks a name, a synonym or a component id up among the components of the Protein Data Bank. What is found is docked with
--ligand NAME=ccd:ID.`,
		Example: "  molfabric ligands imatinib\n  molfabric dock 1IEP --pocket-ligand STI --ligand imatinib=ccd:STI",
	}, one("QUERY"), func(ctx context.Context, inv *invocation, args []string) error {
		if chars := utf8.RuneCountInString(args[0]); chars < 1 || chars > maxQueryChars {
			return usage("QUERY must have 1 to %d characters", maxQueryChars)
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		found, err := inv.api.ResolveLigand(ctx, args[0])
		return present(inv, found, err, func(w io.Writer, list contract.LigandCandidates) error {
			return candidatesTable(w, list.Candidates)
		})
	})
}

func candidatesTable(w io.Writer, candidates []contract.LigandCandidate) error {
	if len(candidates) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is called so here. Give the ligand as SMILES (--ligand NAME=SMILES), or as a file.")
		return err
	}
	t := newTable(painter(w), nil, "id", "name", "formula", "SMILES")
	for _, c := range candidates {
		id := orText(c.ComponentID, c.SourceID)
		t.AppendRow(table.Row{labelOf(id), shorten(labelOf(c.Name), labelChars), labelOf(orText(c.Formula, "")),
			shorten(labelOf(c.SMILES), 60)})
	}
	return render(w, t)
}
