package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
)

// allScopes of a key, for help and completion (specification §2.7).
var allScopes = []string{"jobs:read", "jobs:write", "credits:read", "projects:read", "projects:write", "convert", "molecular:chat"}

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
			if err != nil {
				return err
			}
			if inv.json {
				return inv.print(keys.JSON())
			}
			return keysTable(inv.out, keys.Keys)
		})
}

func keysCreateCommand() *cobra.Command {
	var test bool
	var scopes []string
	var expires string
	cmd := command(cobra.Command{
		Use: "create NAME", Short: "Create an API key; it is shown this once",
		Example: "  molfabric keys create ci --scope jobs:read --scope jobs:write\n  molfabric keys create course --expires 90d\n  molfabric keys create thesis --expires 2030-01-31",
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
		key, err := inv.api.CreateKey(ctx, client.NewKey{Name: args[0], Environment: environment, Scopes: scopes, ExpiresAt: expiresAt})
		if err != nil {
			return err
		}
		if inv.json {
			return inv.print(key.JSON())
		}
		fmt.Fprintln(inv.out, key.Secret)
		fmt.Fprintf(inv.err, "This is key %s, %q. It is shown this once.\n", key.ID, key.Name)
		if key.ExpiresAt != nil {
			fmt.Fprintf(inv.err, "It stops by itself on %s.\n", clock(*key.ExpiresAt))
		}
		return nil
	})
	cmd.Flags().BoolVar(&test, "test", false, "a test key: never billed, cannot submit jobs")
	cmd.Flags().StringSliceVar(&scopes, "scope", client.Scopes, "what the key may do; may be repeated")
	cmd.Flags().StringVar(&expires, "expires", "", "when the key stops by itself: in so many days (90d) or hours (12h), or a date or time; at most five years (default never)")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(allScopes, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
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
			if err != nil {
				return err
			}
			if inv.json {
				return inv.print(revocation.JSON())
			}
			fmt.Fprintf(inv.out, "Key %s is revoked since %s.\n", revocation.ID, clock(revocation.RevokedAt))
			return nil
		})
}

// hasSession fails early where only a key is at hand.
func (inv *invocation) hasSession() error {
	if inv.api.Session() == "" {
		return errNotSignedIn
	}
	return nil
}
