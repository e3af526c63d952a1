package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
)

func balanceCommand() *cobra.Command {
	var transactions bool
	var page client.Page
	var jobID string
	cmd := command(cobra.Command{
		Use: "balance", Short: "Show your credit, and with --transactions the ledger",
		Example: "  molfabric balance\n  molfabric balance --transactions --job job_0190…",
	}, cobra.NoArgs, func(ctx context.Context, inv *invocation, _ []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		if transactions || jobID != "" {
			return inv.showTransactions(ctx, page, jobID)
		}
		balance, err := inv.api.Balance(ctx)
		if err != nil {
			return err
		}
		if inv.json {
			return inv.print(balance.JSON())
		}
		showBalance(inv.out, balance)
		return nil
	})
	cmd.Flags().BoolVar(&transactions, "transactions", false, "list the ledger, newest first")
	cmd.Flags().StringVar(&jobID, "job", "", "only the ledger's entries of this job")
	cmd.Flags().IntVar(&page.Limit, "limit", 20, "how many entries, 1 to 100")
	cmd.Flags().StringVar(&page.Cursor, "cursor", "", "go on where an earlier page has ended")
	_ = cmd.RegisterFlagCompletionFunc("job", completeJobs) // the flag exists
	return cmd
}

func (inv *invocation) showTransactions(ctx context.Context, page client.Page, jobID string) error {
	transactions, err := inv.api.Transactions(ctx, page, jobID)
	if err != nil {
		return err
	}
	if inv.json {
		return inv.print(transactions.JSON())
	}
	if err := transactionsTable(inv.out, transactions.Transactions); err != nil {
		return err
	}
	if transactions.NextCursor != nil {
		fmt.Fprintf(inv.out, "\nThere are more: add --cursor %s\n", *transactions.NextCursor)
	}
	return nil
}
