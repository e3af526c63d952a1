package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// maxAnswerBytes bounds what is read as an answer to a question.
const maxAnswerBytes = 256

func deleteFilesCommand() *cobra.Command {
	var yes bool
	cmd := jobCommand(cobra.Command{
		Use: "delete-files JOB", Short: "Delete the files and results of a job that has ended, for good",
		Long: `Deletes what a job has made and found: outputs, logs, checkpoints, docking and search results, and the shares that show them;
and the uploads that no other job and no project refers to. The job's record, its history, its use and its bill stay, and say
that the files were deleted. The job cannot be retried afterwards.

A job that runs is refused: cancel it first. So is one whose files another job reads that has not ended.`,
		Example: "  molfabric outputs job_0190… -o copy/    # keeps a copy\n  molfabric delete-files job_0190…\n  molfabric " +
			"delete-files job_0190… --yes",
	}, func(ctx context.Context, inv *invocation, jobID string) error {
		if err := inv.confirm(yes, fmt.Sprintf("This deletes the files and results of %s for good.", jobID)); err != nil {
			return err
		}
		deletion, err := inv.api.DeleteFiles(ctx, jobID)
		return present(inv, deletion, err, func(w io.Writer, d contract.FilesDeletion) error {
			_, err := fmt.Fprintf(w, "%s: %s\n", d.JobID, d.Message)
			return err
		})
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "ask nothing")
	return cmd
}

func closeAccountCommand() *cobra.Command {
	var email string
	var passwordStdin, forfeit, yes bool
	cmd := command(cobra.Command{
		Use: "close-account", Short: "Close your account and delete all that is in it, for good",
		Long: `Asks for the account's password and closes it at once: nobody gets in any more, its keys and shares end, and its files, results,
projects and settings are deleted within minutes. Its bills, and how much its jobs used, are kept as bookkeeping asks, without
your name and address. The address may open another account, which gets no free credit if this one had it.

Jobs that run are refused: cancel them first. Credit that is left is lost: --forfeit-credit says that you know. Ask whoever runs
the service for a refund before. An account that signs in at an identity provider alone has no password: close it in a browser
that has just signed in (POST /v1/account/close).`,
		Example: "  molfabric close-account\n  molfabric close-account --email ada@example.org --forfeit-credit --yes " +
			"--password-stdin < password.txt",
	}, cobra.NoArgs, func(ctx context.Context, inv *invocation, _ []string) error {
		email, password, err := inv.credentials(first(email, inv.settings.Email), passwordStdin, false)
		if err != nil {
			return err
		}
		return inv.closeAccount(ctx, email, password, forfeit, yes)
	})
	cmd.Flags().StringVar(&email, "email", "", "address of the account; that of the last login when left out")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from the first line of standard input")
	cmd.Flags().BoolVar(&forfeit, "forfeit-credit", false, "give up the credit that is left")
	cmd.Flags().BoolVar(&yes, "yes", false, "ask nothing")
	return cmd
}

func (inv *invocation) closeAccount(ctx context.Context, email, password string, forfeit, yes bool) error {
	if _, err := inv.sign(ctx, email, password, false); err != nil {
		return err
	}
	credit, err := inv.api.Balance(ctx)
	if err != nil {
		return err
	}
	balance := credit.Body
	if balance.AvailableCents > 0 && !forfeit {
		return usage("the account has %s of credit, which is lost when it is closed: ask for a refund, or add --forfeit-credit",
			balance.AvailableDisplay)
	}
	question := fmt.Sprintf("This closes the account %s and deletes all that is in it, for good. %s of credit is lost.", email,
		balance.AvailableDisplay)
	if err := inv.confirm(yes, question); err != nil {
		return err
	}
	closed, err := inv.api.CloseAccount(ctx, password, balance.AvailableCents)
	if err != nil {
		return advise(err, fault.JobNotEnded, "`molfabric jobs --status running --status queued` shows them")
	}
	if inv.settings.Email == email && sameServer(inv.api.Server(), inv.settings.Server) {
		if err := (settings{Server: inv.settings.Server}).save(inv.path); err != nil {
			return err
		}
	}
	if inv.json {
		return inv.print(closed.JSON())
	}
	fmt.Fprintln(inv.out, closed.Body.Message)
	return nil
}

// confirm asks a person before something that cannot be undone; yes has answered.
func (inv *invocation) confirm(yes bool, what string) error {
	if yes {
		return nil
	}
	if terminalOf(inv.in) == nil {
		return usage("%s Add --yes: standard input is no terminal to ask on", what)
	}
	fmt.Fprintf(inv.err, "%s\nType yes to go on: ", what)
	line, err := bufio.NewReader(io.LimitReader(inv.in, maxAnswerBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(line) != "yes" {
		return usage("nothing was deleted")
	}
	return nil
}
