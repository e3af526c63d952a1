// Package operator holds the commands of whoever runs a deployment: accounts, the audit log and sequence databases. What they do
// lies in api/auth, internal/auditlog and internal/sequences; here are their flags and tables.
package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/api/auth"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/roles"
)

// listedAccounts is how many accounts are listed where nobody says.
const listedAccounts = 50

// AccountCommand is `molfabric account`.
func AccountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "account", Short: "Look at accounts, give credit, lock, unlock and delete them",
		Long: `For whoever runs a deployment. An account is named by its address or its id. Everything that changes one is written
into the audit log (molfabric auditlog), with the name of the user who ran the command.

The accounts live in the deployment's Postgres (DATABASE_URL); where none is configured, in that of the system that runs
from the home directory, or would.

  molfabric account list ada
  molfabric account credit ada@example.org 25.00 --reason "workshop in Leeds"
  molfabric account lock mallory@example.org --reason "mines coins"
  molfabric account reset-password ada@example.org
  molfabric account delete ada@example.org --reason "asked for by mail on 3 May"`,
	}
	for _, c := range []*cobra.Command{
		listCommand(), showCommand(), creditCommand(), lockCommand(), unlockCommand(), resetCommand(), sessionsCommand(),
		deleteCommand(),
	} {
		config.Flags(c.Flags())
		cmd.AddCommand(c)
	}
	return cmd
}

func listCommand() *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list [TEXT]", Short: "List the newest accounts, or those whose address, name or id holds a text",
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		found, err := o.Accounts(ctx, strings.Join(args, ""), limit)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), found)
		}
		if len(found) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "There is no such account.")
			return nil
		}
		writeAccounts(cmd.OutOrStdout(), found)
		return nil
	})
	cmd.Flags().IntVar(&limit, "limit", listedAccounts, "at most so many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "show ACCOUNT", Short: "Show one account", Args: cobra.ExactArgs(1)}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		found, err := o.Find(ctx, args[0])
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), found)
		}
		writeAccount(cmd.OutOrStdout(), found)
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func creditCommand() *cobra.Command {
	var reason, reference string
	cmd := &cobra.Command{
		Use: "credit ACCOUNT AMOUNT", Short: "Give an account credit, or take some with a negative amount",
		Args: cobra.ExactArgs(2), Long: `Enters a bonus into the account's wallet, or an adjustment that takes credit away, never more than is available. The
amount is in pounds. The owner sees the reason in their statement. With --reference a repeat changes nothing.`,
		Example: `  molfabric account credit ada@example.org 25.00 --reason "workshop in Leeds" --reference leeds-2026-ada
  molfabric account credit ada@example.org --reason "entered twice" -- -25.00`,
	}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		pence, err := parsePounds(args[1])
		if err != nil {
			return err
		}
		state, done, err := o.Credit(ctx, args[0], pence, reason, reference)
		if err != nil {
			return err
		}
		said := "was entered"
		if !done {
			said = "was entered before under this reference; nothing has changed"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s. Available now: %s.\n", state.Email, billing.Display(pence), said,
			billing.Display(state.AvailablePence))
		return nil
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why; the owner sees it")
	cmd.Flags().StringVar(&reference, "reference", "", "name of this act: a repeat with the same name changes nothing")
	_ = cmd.MarkFlagRequired("reason") // defined above
	return cmd
}

func lockCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "lock ACCOUNT", Short: "Let nobody into an account", Args: cobra.ExactArgs(1),
		Long: `Ends the account's sessions, and refuses its password, keys and identities until it is unlocked. Keys that were used just
now work for another second. Jobs that run go on, and their files stay.`,
	}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		state, err := o.Lock(ctx, args[0], reason)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is locked. %d of its jobs have not ended and go on.\n", state.Email, state.JobsNotEnded)
		return nil
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log, not shown to the owner")
	_ = cmd.MarkFlagRequired("reason") // defined above
	return cmd
}

func unlockCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "unlock ACCOUNT", Short: "Let an account's owner in again", Args: cobra.ExactArgs(1)}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		state, err := o.Unlock(ctx, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is unlocked; its owner signs in again.\n", state.Email)
		return nil
	})
	return cmd
}

func resetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "reset-password ACCOUNT", Short: "Give an account a new password, and print it once", Args: cobra.ExactArgs(1),
		Long: `Makes a password, prints it and keeps only its hash. All browsers are signed out; API keys stay. Make sure that whoever asks
for it is the owner.`,
	}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		state, password, err := o.ResetPassword(ctx, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", password)
		fmt.Fprintf(cmd.ErrOrStderr(), "This is the new password of %s. It is kept nowhere else; its owner changes it after "+
			"signing in.\n",
			state.Email)
		return nil
	})
	return cmd
}

func sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "End the sessions of an account"}
	end := &cobra.Command{Use: "end ACCOUNT", Short: "Sign all browsers of an account out", Args: cobra.ExactArgs(1)}
	end.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		state, ended, err := o.EndSessions(ctx, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d sessions ended. Its keys stay; `molfabric account lock` stops those too.\n",
			state.Email, ended)
		return nil
	})
	config.Flags(end.Flags())
	cmd.AddCommand(end)
	return cmd
}

func deleteCommand() *cobra.Command {
	var reason string
	var forfeit, yes bool
	cmd := &cobra.Command{
		Use: "delete ACCOUNT", Short: "Delete an account, its files and its results, for good", Args: cobra.ExactArgs(1),
		Long: `Closes the account at once: nobody gets in, its keys, identities and shares end, and its address is free for another account,
which gets no free credit if this one had it. The schedulers then delete its files, results, projects and settings, within
minutes. The ledger, payments, how much its jobs used and the lines of the audit log are kept under the account's id, without
name, address and network addresses, as bookkeeping asks. It cannot be undone.

It refuses while jobs of the account run: cancel them first, so that the last bill is known. It refuses while credit is left,
unless --forfeit-credit gives it up; refund first what the owner has paid, at the payment provider.`,
		Example: `  molfabric account delete ada@example.org --reason "asked for by mail on 3 May"
  molfabric account delete acct_0190… --reason "asked for by mail" --forfeit-credit --yes`,
	}
	cmd.RunE = with(func(ctx context.Context, cmd *cobra.Command, args []string, o auth.Operator) error {
		state, err := o.Find(ctx, args[0])
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintf(cmd.ErrOrStderr(), "This deletes %s (%s), its %d jobs' files and results, and its projects, for good. It "+
				"has %s of credit.\nType its id to go on: ",
				state.Email, state.AccountID, state.Jobs, billing.Display(state.AvailablePence))
			if !confirmed(cmd.InOrStdin(), state.AccountID) {
				return errors.New("nothing was deleted: the id was not typed (--yes asks nothing)")
			}
		}
		given, accountID, err := o.Delete(ctx, state.AccountID, reason, forfeit)
		if fault.Is(err, fault.CreditNotConfirmed) {
			return fmt.Errorf("the account has %s of credit: refund it, or give it up with --forfeit-credit",
				billing.Display(state.AvailablePence))
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is closed; %s of credit was given up. Its files are deleted by the running schedulers "+
			"within minutes.\n",
			accountID, billing.Display(given.GivenUpPence))
		return nil
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log, so name nobody")
	cmd.Flags().BoolVar(&forfeit, "forfeit-credit", false, "give up the credit that is left")
	cmd.Flags().BoolVar(&yes, "yes", false, "ask nothing")
	_ = cmd.MarkFlagRequired("reason") // defined above
	return cmd
}

// maxAnswerBytes bounds what is read as an answer.
const maxAnswerBytes = 256

// confirmed reads a line and tells whether it is what was to be typed.
func confirmed(in io.Reader, want string) bool {
	line, err := bufio.NewReader(io.LimitReader(in, maxAnswerBytes)).ReadString('\n')
	return (err == nil || errors.Is(err, io.EOF)) && strings.TrimSpace(line) == want
}

// load reads the configuration. The log goes to a file of the home where that has the stores: their starting and stopping is
// nothing to read.
func load(cmd *cobra.Command) (cfg config.Config, log *slog.Logger, err error) {
	if cfg, err = config.Load(cmd.Flags()); err != nil {
		return cfg, nil, err
	}
	if cfg.DatabaseURL == "" {
		log, err = roles.QuietLog(&cfg)
	} else {
		log, err = roles.NewLog(cfg)
	}
	return cfg, log, err
}

// with reads the configuration and opens the accounts before a command runs.
func with(run func(context.Context, *cobra.Command, []string, auth.Operator) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, log, err := load(cmd)
		if err != nil {
			return err
		}
		return roles.WithOperator(cmd.Context(), cfg, log, func(ctx context.Context, o auth.Operator) error {
			return run(ctx, cmd, args, o)
		})
	}
}

// parsePounds reads an amount such as 25, 25.5 or -0.07 in pounds as pence.
func parsePounds(text string) (int64, error) {
	number, negative := strings.CutPrefix(strings.TrimPrefix(text, "£"), "-")
	number = strings.TrimPrefix(number, "£")
	pounds, pence, _ := strings.Cut(number, ".")
	wrong := fmt.Errorf("AMOUNT: %q must be pounds such as 25 or 25.50; -- stands before a negative one", text)
	if len(pence) > 2 || len(pounds) == 0 || len(pounds) > 9 {
		return 0, wrong
	}
	sum := int64(0)
	for _, digit := range pounds + pence + strings.Repeat("0", 2-len(pence)) {
		if digit < '0' || digit > '9' {
			return 0, wrong
		}
		sum = 10*sum + int64(digit-'0')
	}
	if negative {
		sum = -sum
	}
	return sum, nil
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

var errSince = errors.New("since: must be a day such as 2026-11-01, a time such as 2026-11-01T08:00:00Z, or a span such as 48h")

// parseSince reads a moment, or how long ago it was.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	span, err := time.ParseDuration(text)
	if err != nil || span < 0 {
		return time.Time{}, errSince
	}
	return now.Add(-span), nil
}
