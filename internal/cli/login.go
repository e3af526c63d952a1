package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// maxSecretBytes bounds a line of standard input: the longest password is 128 characters.
const maxSecretBytes = 4096

func loginCommand() *cobra.Command {
	var email string
	var passwordStdin, signUp bool
	cmd := command(cobra.Command{
		Use: "login", Short: "Sign in, and keep an API key for this machine",
		Long: `Signs in with email and password and makes an API key named after this machine. The server's address, the key and the
session are kept in the configuration file, readable by you alone ($MOLFABRIC_CONFIG, else molfabric/config.json in
$XDG_CONFIG_HOME or ~/.config). A key that an earlier login has made for this machine is revoked.`,
		Example: "  molfabric login --sign-up\n  molfabric login --server https://molfabric.example.org --email " +
			"ada@example.org\n  molfabric login --email ada@example.org --password-stdin < password.txt",
	}, cobra.NoArgs, func(ctx context.Context, inv *invocation, _ []string) error {
		email, password, err := inv.credentials(email, passwordStdin, signUp)
		if err != nil {
			return err
		}
		return inv.login(ctx, email, password, signUp)
	})
	cmd.Flags().StringVar(&email, "email", "", "address of the account; asked for when left out")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from the first line of standard input")
	cmd.Flags().BoolVar(&signUp, "sign-up", false, "open a new account")
	return cmd
}

func (inv *invocation) login(ctx context.Context, email, password string, signUp bool) error {
	signed, err := inv.sign(ctx, email, password, signUp)
	if err != nil {
		return err
	}
	if inv.api.Session() == "" {
		return inv.followLink(signed)
	}
	account := signed.Body
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	created, err := inv.api.CreateKey(ctx, contract.CreateRequest{
		Name: shorten("molfabric on "+host, maxKeyName), Environment: "live", Scopes: contract.Scopes,
	})
	if err != nil {
		return fmt.Errorf("signed in, but no key was made: %w", err)
	}
	old, key := inv.settings, created.Body
	inv.settings = settings{Server: inv.api.Server(), Email: account.Email, APIKey: key.Secret, KeyID: key.ID,
		Session: inv.api.Session()}
	if err := inv.settings.save(inv.path); err != nil {
		return fmt.Errorf("keeping the key: %w", err)
	}
	if old.KeyID != "" && sameServer(old.Server, inv.settings.Server) && old.Email == account.Email {
		if _, err := inv.api.RevokeKey(ctx, old.KeyID); err != nil {
			fmt.Fprintf(inv.err, "The earlier key %s was not revoked: %v\n", old.KeyID, err)
		}
	}
	if inv.json {
		return inv.print(signed.JSON())
	}
	fmt.Fprintf(inv.out, "Signed in to %s as %s.\nThe key %s…%s is kept in %s.\n", inv.api.Server(), account.Email, key.Prefix,
		key.Last4, inv.path)
	return nil
}

// followLink tells what to do where an account is opened when its address has been proved.
func (inv *invocation) followLink(signed client.Answer[contract.Account]) error {
	if inv.json {
		return inv.print(signed.JSON())
	}
	fmt.Fprintf(inv.out, "A mail to %s has the link that opens the account. Follow it, then sign in: molfabric login --server %s "+
		"--email %s\n",
		signed.Body.Email, inv.api.Server(), signed.Body.Email)
	return nil
}

// maxKeyName is the longest name of a key (doc/contract.md §2.7).
const maxKeyName = 100

func (inv *invocation) sign(ctx context.Context, email, password string, signUp bool) (client.Answer[contract.Account], error) {
	if signUp {
		return inv.api.SignUp(ctx, email, password, "")
	}
	account, err := inv.api.SignIn(ctx, email, password)
	return account, advise(err, fault.Unauthorized, "check both, or open an account with --sign-up")
}

// credentials takes email and password from flags and standard input, and asks a person for the rest.
func (inv *invocation) credentials(email string, passwordStdin, signUp bool) (string, string, error) {
	terminal := terminalOf(inv.in)
	lines := bufio.NewReader(io.LimitReader(inv.in, maxSecretBytes))
	if email == "" {
		if passwordStdin || terminal == nil {
			return "", "", usage("give --email, and the password with --password-stdin: standard input is no terminal to ask on")
		}
		fmt.Fprint(inv.err, "Email: ")
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", "", usage("no email was given")
		}
		email = strings.TrimSpace(line)
	}
	switch {
	case passwordStdin:
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", "", fmt.Errorf("reading the password: %w", err)
		}
		password := strings.TrimRight(line, "\r\n")
		if password == "" {
			return "", "", usage("standard input holds no password")
		}
		return email, password, nil
	case terminal == nil:
		return "", "", usage("give the password with --password-stdin: standard input is no terminal to ask on")
	}
	password, err := inv.askPassword(terminal, "Password: ")
	if err != nil || !signUp {
		return email, password, err
	}
	again, err := inv.askPassword(terminal, "Password again: ")
	if err == nil && again != password {
		err = usage("the two passwords differ")
	}
	return email, password, err
}

func (inv *invocation) askPassword(terminal *os.File, prompt string) (string, error) {
	fmt.Fprint(inv.err, prompt)
	text, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(inv.err)
	if err != nil || len(text) == 0 {
		return "", usage("no password was given")
	}
	return string(text), nil
}

func logoutCommand() *cobra.Command {
	return command(cobra.Command{
		Use: "logout", Short: "Sign out: revoke this machine's key and forget it",
	}, cobra.NoArgs, func(ctx context.Context, inv *invocation, _ []string) error {
		if inv.settings.APIKey == "" && inv.settings.Session == "" {
			return errNotSignedIn
		}
		if !sameServer(inv.api.Server(), inv.settings.Server) {
			return usage("you are signed in to %s, not to %s", inv.settings.Server, inv.api.Server())
		}
		if err := inv.endSession(ctx); client.StatusOf(err) == 0 && err != nil {
			return err // the server is away: keep what is needed to sign out later
		} else if err != nil {
			fmt.Fprintf(inv.err, "The server did not take it: %v. If the key %s is still listed at the next login, revoke it.\n",
				err, inv.settings.KeyID)
		}
		if err := (settings{Server: inv.settings.Server, Email: inv.settings.Email}).save(inv.path); err != nil {
			return err
		}
		if !inv.json {
			fmt.Fprintln(inv.out, "Signed out.")
		}
		return nil
	})
}

func (inv *invocation) endSession(ctx context.Context) error {
	if inv.settings.KeyID != "" {
		if _, err := inv.api.RevokeKey(ctx, inv.settings.KeyID); err != nil {
			return err
		}
	}
	return inv.api.SignOut(ctx)
}

// IsTerminal tells whether somebody reads along.
func IsTerminal(w io.Writer) bool { return terminalOf(w) != nil }

// terminalOf is the file behind a reader or writer when it is a terminal, else nil.
func terminalOf(stream any) *os.File {
	file, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
}
