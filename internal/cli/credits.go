package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
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
		return present(inv, balance, err, func(w io.Writer, b contract.Balance) error {
			showBalance(w, b)
			return nil
		})
	})
	cmd.Flags().BoolVar(&transactions, "transactions", false, "list the ledger, newest first")
	cmd.Flags().StringVar(&jobID, "job", "", "only the ledger's entries of this job")
	pageFlags(cmd, &page)
	_ = cmd.RegisterFlagCompletionFunc("job", completeJobs) // the flag exists
	return cmd
}

func (inv *invocation) showTransactions(ctx context.Context, page client.Page, jobID string) error {
	transactions, err := inv.api.Transactions(ctx, page, jobID)
	return present(inv, transactions, err, func(w io.Writer, page contract.TransactionList) error {
		return more(w, transactionsTable(w, page.Transactions), page.NextCursor)
	})
}

func topUpCommand() *cobra.Command {
	return command(cobra.Command{
		Use: "topup [TIER]", Short: "Buy credit: print the address of the checkout, or list what can be bought",
		Long: `Prints the address of a page of the payment provider; open it in a browser to pay. Nothing is paid before that. Without a
tier it lists what can be bought. It needs the session of ` + "`molfabric login`" + `: a key cannot buy.`,
		Example: "  molfabric topup\n  molfabric topup topup-50",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, inv *invocation, args []string) error {
		if len(args) == 0 {
			return inv.showTiers(ctx)
		}
		if err := inv.hasSession(); err != nil {
			return err
		}
		checkout, err := inv.api.TopUp(ctx, args[0])
		return present(inv, checkout, err, func(w io.Writer, c contract.TopUpResponse) error {
			fmt.Fprintln(w, c.URL)
			_, err := fmt.Fprintln(inv.err, "Open the address in a browser to pay; `molfabric balance` shows the credit afterwards.")
			return err
		})
	})
}

func (inv *invocation) showTiers(ctx context.Context) error {
	pricing, err := inv.api.Pricing(ctx)
	return present(inv, pricing, err, func(w io.Writer, list contract.Pricing) error {
		return tiersTable(w, list.Tiers)
	})
}
