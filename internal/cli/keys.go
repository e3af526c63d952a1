package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

func keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "List, create and revoke API keys", Args: cobra.ArbitraryArgs, RunE: groupRun,
		Long: "Manages API keys. It needs the session of `molfabric login`: a key cannot make or revoke keys.",
	}
	cmd.AddCommand(keysListCommand(), keysCreateCommand(), keysRevokeCommand())
	return cmd
}

func keysListCommand() *cobra.Command {
	return command(cobra.Command{Use: "list", Short: "List the account's API keys"}, cobra.NoArgs,
		func(ctx context.Context, inv *invocation, _ []string) error {
			if err := inv.hasSession(); err != nil {
				return err
			}
			keys, err := inv.api.ListKeys(ctx)
			return present(inv, keys, err, func(w io.Writer, list contract.KeyList) error {
				return keysTable(w, list.Keys)
			})
		})
}

func keysCreateCommand() *cobra.Command {
	var test bool
	var scopes []string
	var expires string
	cmd := command(cobra.Command{
		Use: "create NAME", Short: "Create an API key; it is shown this once",
		Example: "  molfabric keys create ci --scope jobs:read --scope jobs:write\n  molfabric keys create course --expires " +
			"90d\n  molfabric keys create thesis --expires 2030-01-31",
	}, one("NAME"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := inv.hasSession(); err != nil {
			return err
		}
		environment := "live"
		if test {
			environment = "test"
		}
		expiresAt, err := parseExpiry(expires, inv.now())
		if err != nil {
			return err
		}
		created, err := inv.api.CreateKey(ctx, contract.CreateRequest{Name: args[0], Environment: environment, Scopes: scopes,
			ExpiresAt: expiresAt})
		if err != nil {
			return err
		}
		if inv.json {
			return inv.print(created.JSON())
		}
		key := created.Body
		fmt.Fprintln(inv.out, key.Secret)
		fmt.Fprintf(inv.err, "This is key %s, %q. It is shown this once.\n", key.ID, key.Name)
		if key.ExpiresAt != nil {
			fmt.Fprintf(inv.err, "It stops by itself on %s.\n", clock(*key.ExpiresAt))
		}
		return nil
	})
	cmd.Flags().BoolVar(&test, "test", false, "a test key: never billed, cannot submit jobs")
	cmd.Flags().StringSliceVar(&scopes, "scope", contract.Scopes, "what the key may do; may be repeated")
	cmd.Flags().StringVar(&expires, "expires", "", "when the key stops by itself: in so many days (90d) or hours (12h), or a "+
		"date or time; at most five years (default never)")
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(contract.Scopes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// maxExpiryDays keeps the arithmetic in bounds; the server's own limit is five years.
const maxExpiryDays = 10_000

// parseExpiry reads a time to come: 90d, 12h, 2030-01-31 (its beginning, here) or RFC 3339. Nothing is nil: never.
func parseExpiry(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= maxExpiryDays {
			return given(true, now.AddDate(0, 0, n).UTC()), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return given(true, now.Add(d).UTC()), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			if !at.After(now) {
				return nil, usage("--expires %q: is in the past", text)
			}
			return given(true, at.UTC()), nil
		}
	}
	return nil, usage("--expires %q: write 90d, 12h, 2030-01-31 or 2030-01-31T12:00:00Z", text)
}

func keysRevokeCommand() *cobra.Command {
	return command(cobra.Command{Use: "revoke ID", Short: "Revoke an API key"}, one("ID"),
		func(ctx context.Context, inv *invocation, args []string) error {
			if err := inv.hasSession(); err != nil {
				return err
			}
			revocation, err := inv.api.RevokeKey(ctx, args[0])
			return present(inv, revocation, err, func(w io.Writer, r contract.Revocation) error {
				_, err := fmt.Fprintf(w, "Key %s is revoked since %s.\n", r.ID, clock(r.RevokedAt))
				return err
			})
		})
}

// hasSession fails early where only a key is at hand.
func (inv *invocation) hasSession() error {
	if inv.api.Session() == "" {
		return errNotSignedIn
	}
	return nil
}
