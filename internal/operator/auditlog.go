package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/internal/auditlog"
)

// listedLines is how many lines of the log are printed where nobody says.
const listedLines = 100

// AuditLogCommand is `molfabric auditlog`.
func AuditLogCommand() *cobra.Command {
	var account, event, since string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "auditlog", Short: "Print what happened to accounts and their money, and who did it", Args: cobra.NoArgs,
		Long: `Prints the newest lines of the audit log, oldest first: sign-ups, sign-ins, passwords, keys, payments, and everything that
operators did (molfabric account). The services may add lines and neither change nor remove them.`,
		Example: `  molfabric auditlog --account ada@example.org
  molfabric auditlog --event credit. --since 720h --json`,
	}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, _ []string, o auth.Operator) error {
		filter := auditlog.Filter{Event: event, Limit: limit}
		var err error
		if filter.Since, err = parseSince(since, time.Now()); err != nil {
			return err
		}
		if account != "" {
			found, err := o.Find(ctx, account)
			if err != nil {
				return err
			}
			filter.AccountID = found.AccountID
		}
		lines, err := auditlog.Read(ctx, o.DB, filter)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), lines)
		}
		if len(lines) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "The audit log has no such line.")
			return nil
		}
		writeLines(cmd.OutOrStdout(), lines)
		return nil
	})
	flags := cmd.Flags()
	flags.StringVar(&account, "account", "", "only those of this account: its address or id")
	flags.StringVar(&event, "event", "", "only events whose name begins so, such as credit. or key.created")
	flags.StringVar(&since, "since", "", "only what came after a day, a time, or so long ago: 2026-11-01, 48h")
	flags.IntVar(&limit, "limit", listedLines, "at most so many, the newest")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
