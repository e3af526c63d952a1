// Package cli holds the commands that a user of the API types, for dockings, jobs, files, projects and the account, and the
// demonstration. It talks to a server through internal/client alone, so that whatever it can do, every other program can do over
// HTTP. It starts no server: main.go's own commands do.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// The environment variables that the commands read.
const (
	envServer = "MOLFABRIC_SERVER"
	envKey    = "MOLFABRIC_API_KEY"
	envConfig = "MOLFABRIC_CONFIG"
)

// defaultServer is where `molfabric up` listens.
const defaultServer = "http://127.0.0.1:8080"

// AddCommands hangs the client's commands below the root, in the groups of its help. version is what --version prints, and what
// servers see.
func AddCommands(root *cobra.Command, version string) {
	root.Version = version
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"docking", "Docking:", []*cobra.Command{
			dockCommand(), ligandsCommand(), pocketsCommand(), runsCommand(), resultsCommand(), posesCommand(),
			interactionsCommand(), reproduceCommand(), bundleCommand(),
		}},
		{"dynamics", "Molecular dynamics:", []*cobra.Command{mdCommand()}},
		{"rendering", "Pictures and films:", []*cobra.Command{studioCommand(), imageCommand(), renderCommand()}},
		{"folding", "Structure prediction:", []*cobra.Command{foldCommand()}},
		{"waves", "Waves:", []*cobra.Command{wavesCommand()}},
		{"search", "Sequence search:", []*cobra.Command{blastCommand(), hitsCommand(), databasesCommand()}},
		{"jobs", "Jobs:", []*cobra.Command{
			submitCommand(), jobsCommand(), statusCommand(), watchCommand(), tasksCommand(), logsCommand(),
			outputsCommand(), provenanceCommand(), receiptCommand(), verifyCommand(), retryCommand(), cancelCommand(),
			deleteFilesCommand(),
		}},
		{"files", "Files and projects:", []*cobra.Command{uploadCommand(), projectsCommand()}},
		{"account", "Your account, and the service:", []*cobra.Command{
			loginCommand(), logoutCommand(), keysCommand(), balanceCommand(), topUpCommand(), licensesCommand(), webhooksCommand(),
			noticesCommand(), serviceCommand(), closeAccountCommand(),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range group.commands {
			command.GroupID = group.id
			root.AddCommand(command)
		}
	}
	root.AddCommand(exitCodesTopic())
}

// Execute runs the root command with the process' arguments and returns the exit code (see ExitOK). It prints the error, with
// the next step where there is one. ctx should end at SIGINT and SIGTERM.
func Execute(ctx context.Context, root *cobra.Command) int {
	root.SilenceErrors, root.SilenceUsage, root.SuggestionsMinimumDistance = true, true, 2
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	if !root.Runnable() {
		root.Args, root.RunE = cobra.ArbitraryArgs, groupRun
	}
	markUsage(root)
	failed, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	report(root.ErrOrStderr(), failed, err)
	return ExitCode(err)
}

// markUsage makes wrong arguments of every command a *usageError.
func markUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage("%v", err)
			}
			return nil
		}
	}
	for _, below := range cmd.Commands() {
		markUsage(below)
	}
}

// groupRun is what a command does that only holds others.
func groupRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	message := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		message += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usage("%s", message)
}

// report prints an error for people.
func report(w io.Writer, failed *cobra.Command, err error) {
	if errors.Is(err, errInterrupted) { // has been explained where it happened
		return
	}
	fmt.Fprintf(w, "molfabric: %v\n", err)
	if next := hint(err); next != "" {
		fmt.Fprintf(w, "  %s\n", next)
	}
	var wrong *usageError
	if errors.As(err, &wrong) && failed != nil {
		fmt.Fprintf(w, "  `%s --help` shows how it is used\n", failed.CommandPath())
	}
}

// one takes exactly one argument, and says what is missing by its name.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usage("%s is missing", what)
		case 1:
			return nil
		}
		return usage("only one %s is taken, but %q follows it", what, args[1])
	}
}

// two takes exactly two arguments, and says by its name which is missing.
func two(what, further string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return one(what)(cmd, nil)
		}
		return one(further)(cmd, args[1:])
	}
}

// connection is the flags that every command has.
type connection struct {
	server, key string
	json        bool
}

func (c *connection) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.server, "server", "", "address of the server (default $"+envServer+", else where you have signed in, else "+
		defaultServer+")")
	flags.StringVar(&c.key, "key", "", "API key (default $"+envKey+", else the one that molfabric login has kept)")
	flags.BoolVar(&c.json, "json", false, "print the API's JSON to standard output, and nothing else")
}

// command makes a command whose body gets an invocation.
func command(
	spec cobra.Command, args cobra.PositionalArgs, run func(ctx context.Context, inv *invocation, args []string) error,
) *cobra.Command {
	cmd := &spec
	var flags connection
	flags.define(cmd)
	cmd.Args = args
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		inv, err := flags.open(cmd)
		if err != nil {
			return err
		}
		defer inv.api.Close()
		return run(cmd.Context(), inv, given)
	}
	return cmd
}

// sessionCommand makes a command that needs a session; advice is for what it does not find.
func sessionCommand(
	spec cobra.Command, args cobra.PositionalArgs, advice string,
	run func(ctx context.Context, inv *invocation, args []string) error,
) *cobra.Command {
	return command(spec, args, func(ctx context.Context, inv *invocation, given []string) error {
		if err := inv.hasSession(); err != nil {
			return err
		}
		return advise(run(ctx, inv, given), fault.NotFound, advice)
	})
}

// invocation is one run of a command: whom it talks to, and where it prints.
type invocation struct {
	api      *client.Client
	settings settings
	path     string // of the settings
	signedIn bool   // a credential is at hand
	json     bool
	in       io.Reader
	out      io.Writer // results
	err      io.Writer // progress and remarks
	now      func() time.Time
	getenv   func(string) string
}

func (c *connection) open(cmd *cobra.Command) (*invocation, error) {
	path, err := settingsPath(os.Getenv)
	if err != nil {
		return nil, err
	}
	kept, err := loadSettings(path)
	if err != nil {
		return nil, err
	}
	options := c.choose(kept, os.Getenv)
	options.UserAgent = "molfabric/" + cmd.Root().Version
	options.NoReuse = cmd.Flags().Changed(noReuseFlag)
	api, err := client.New(options)
	if err != nil {
		return nil, usage("%v", err)
	}
	return &invocation{
		api: api, settings: kept, path: path, signedIn: options.APIKey != "" || options.Session != "", json: c.json,
		in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), now: time.Now, getenv: os.Getenv,
	}, nil
}

// choose decides whom to talk to, and as whom: flags before the environment before the settings. What the settings hold for
// one server is never sent to another.
func (c *connection) choose(kept settings, getenv func(string) string) client.Options {
	options := client.Options{Server: first(c.server, getenv(envServer), kept.Server, defaultServer),
		APIKey: first(c.key, getenv(envKey))}
	if sameServer(options.Server, kept.Server) {
		options.APIKey, options.Session = first(options.APIKey, kept.APIKey), kept.Session
	}
	return options
}

func sameServer(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

func first(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

const noReuseFlag = "no-reuse"

// offerNoReuse is the flag of commands that submit what may have been done before.
func offerNoReuse(cmd *cobra.Command) {
	cmd.Flags().Bool(noReuseFlag, false, "run everything, also what your account has run before with the same inputs and programs")
}

// authorized fails early, and with the way out, where no credential is at hand.
func (inv *invocation) authorized() error {
	if !inv.signedIn {
		return errNotSignedIn
	}
	return nil
}

// pageFlags are the flags of a list that is read page by page.
func pageFlags(cmd *cobra.Command, page *client.Page) {
	cmd.Flags().IntVar(&page.Limit, "limit", 20, fmt.Sprintf("how many, 1 to %d", contract.MaxPage))
	cmd.Flags().StringVar(&page.Cursor, "cursor", "", "go on where an earlier page has ended")
}

// more says how to read the next page, where there is one. err is that of writing this one.
func more(w io.Writer, err error, next *string) error {
	if err == nil && next != nil {
		_, err = fmt.Fprintf(w, "\nThere are more: add --cursor %s\n", *next)
	}
	return err
}

// present shows an answer: with --json as the API wrote it, else as show writes it for people. err is the call's.
func present[T any](inv *invocation, answer client.Answer[T], err error, show func(w io.Writer, body T) error) error {
	switch {
	case err != nil:
		return err
	case inv.json:
		return inv.print(answer.JSON())
	}
	return show(inv.out, answer.Body)
}

// print writes what the API has said.
func (inv *invocation) print(text json.RawMessage) error {
	_, err := fmt.Fprintf(inv.out, "%s\n", text)
	return err
}
