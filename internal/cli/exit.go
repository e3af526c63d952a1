package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

// The exit codes of every command; they are part of the contract with scripts.
const (
	ExitOK           = 0
	ExitUnexpected   = 1
	ExitUsage        = 2
	ExitForbidden    = 3
	ExitNotFound     = 4
	ExitInvalid      = 5
	ExitCredit       = 6
	ExitJobFailed    = 7
	ExitPartlyFailed = 8
	ExitJobCancelled = 9
	ExitUnavailable  = 10
	ExitDifferent    = 11
	ExitInterrupted  = 130
)

var exitCodes = []struct {
	code    int
	meaning string
}{
	{ExitOK, "success; where a command waits for a job (watch, dock, --watch), the job has ended and everything in it succeeded"},
	{ExitUnexpected, "an unexpected failure, here or on the server"},
	{ExitUsage, "the command line is wrong"},
	{ExitForbidden, "not signed in, or not allowed"},
	{ExitNotFound, "no such job, key, file or project of yours, or it is over"},
	{ExitInvalid, "the server refuses the request as it is, or an input file cannot be read as what it should be"},
	{ExitCredit, "not enough credit"},
	{ExitJobFailed, "the job failed"},
	{ExitPartlyFailed, "the job ended with results, but a part of it failed (for docking: at least one ligand)"},
	{ExitJobCancelled, "the job was cancelled"},
	{ExitUnavailable, "the server does not answer, or asks to come back later"},
	{ExitDifferent, "a docking that was run again has found something else (reproduce --watch), or a receipt, a file or a " +
		"sample of the job does not hold (verify)"},
	{ExitInterrupted, "interrupted (Ctrl-C); a job that was submitted goes on, and an upload in parts can be resumed"},
}

func exitCodesTopic() *cobra.Command {
	var text strings.Builder
	text.WriteString("Every command ends with one of these codes:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&text, "%5d  %s\n", c.code, c.meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes of the commands mean",
		Long: strings.TrimRight(text.String(), "\n")}
}

// ExitCode is the exit code for an error of a command.
func ExitCode(err error) int {
	var (
		wrong   *usageError
		ended   *jobEnd
		network *client.NetworkError
		answer  *client.Error
		invalid *inputError
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &wrong):
		return ExitUsage
	case errors.As(err, &invalid), errors.Is(err, client.ErrOtherFile):
		return ExitInvalid
	case errors.As(err, &ended):
		return ended.exitCode()
	case errors.Is(err, errNotSignedIn):
		return ExitForbidden
	case errors.Is(err, errDifferent), errors.Is(err, errUnverified):
		return ExitDifferent
	case errors.As(err, &network):
		return ExitUnavailable
	case errors.As(err, &answer):
		return exitCodeOf(answer.Status)
	}
	return ExitUnexpected
}

func exitCodeOf(status int) int {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ExitForbidden
	case http.StatusPaymentRequired:
		return ExitCredit
	case http.StatusNotFound, http.StatusGone:
		return ExitNotFound
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return ExitUnavailable
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return ExitInvalid
	}
	return ExitUnexpected
}

// usageError is a wrong command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// inputError is an input file that is not what it should be.
type inputError struct{ message string }

func (e *inputError) Error() string { return e.message }

func invalidInput(format string, args ...any) error { return &inputError{fmt.Sprintf(format, args...)} }

var (
	errNotSignedIn = errors.New("you are not signed in")
	errInterrupted = errors.New("interrupted")
	errDifferent   = errors.New("the repetition has found something else")
	errUnverified  = errors.New("not verified")
)

// advisedError is an error with a next step of its own, where the one of its code would lead astray.
type advisedError struct {
	error
	next string
}

func (e *advisedError) Unwrap() error { return e.error }

// advise gives errors with this code a next step.
func advise(err error, code fault.Code, next string) error {
	if err == nil || client.CodeOf(err) != code {
		return err
	}
	return &advisedError{err, next}
}

// jobEnd is a job that did not end well.
type jobEnd struct {
	job    contract.Job
	detail string // what is known beside the job's own error
}

func (e *jobEnd) Error() string {
	text := fmt.Sprintf("job %s %s", e.job.JobID, ending(e.job.Status))
	switch {
	case e.job.Error != nil:
		text += fmt.Sprintf(": %s (%s)", e.job.Error.Message, e.job.Error.Code)
	case e.detail != "":
		text += ": " + e.detail
	case e.job.StatusReason != nil && *e.job.StatusReason != "":
		text += ": " + *e.job.StatusReason
	}
	return text
}

func ending(status job.Status) string {
	switch status {
	case job.CompletedWithFailures:
		return "ended with failures"
	case job.Cancelled:
		return "was cancelled"
	}
	return "failed"
}

func (e *jobEnd) exitCode() int {
	switch e.job.Status {
	case job.CompletedWithFailures:
		return ExitPartlyFailed
	case job.Cancelled:
		return ExitJobCancelled
	}
	return ExitJobFailed
}

// endOf is the error of a job that has ended, nil for one that ended well.
func endOf(j contract.Job, detail string) error {
	if j.Status == job.Completed {
		return nil
	}
	return &jobEnd{job: j, detail: detail}
}

// hint is the next step after an error, or "".
func hint(err error) string {
	var (
		network *client.NetworkError
		ended   *jobEnd
		advised *advisedError
	)
	switch {
	case errors.As(err, &advised):
		return advised.next
	case errors.Is(err, errNotSignedIn):
		return "run `molfabric login`, or set " + envKey
	case errors.As(err, &network):
		return "`molfabric up` starts a server on this machine; --server or " + envServer + " names another"
	case errors.As(err, &ended):
		return ended.next()
	case errors.Is(err, client.ErrOtherFile):
		return "give the file as it was, or upload it anew without --resume"
	}
	return hintOf(client.CodeOf(err))
}

// next is what can be done about a job that did not end well.
func (e *jobEnd) next() string {
	again := "`molfabric retry " + e.job.JobID + "` runs what did not succeed again"
	switch {
	case e.job.Status == job.Cancelled:
		return again
	case e.job.Status != job.Failed:
		return ""
	case e.job.Error != nil && e.job.Error.Retryable:
		return "`molfabric logs " + e.job.JobID + "` shows what its programs said; " + again
	}
	return "`molfabric logs " + e.job.JobID + "` shows what its programs said"
}

// hintOf is the next step after an error with this code, or "".
func hintOf(code fault.Code) string {
	switch code {
	case fault.Unauthorized:
		return "run `molfabric login` for a new key and session"
	case fault.SessionRequired:
		return "run `molfabric login`: this takes a session, not a key"
	case fault.InsufficientScope:
		return "`molfabric login` makes a key with the scopes of all commands; `molfabric keys create --scope …` chooses"
	case fault.TestKeyLiveBilling:
		return "use a live key: `molfabric login` makes one"
	case fault.InsufficientCredits:
		return "`molfabric balance` shows your credit, `molfabric topup` buys more; a smaller library or a lower " +
			"--exhaustiveness costs less"
	case fault.NotFound:
		return "`molfabric jobs` lists your jobs"
	case fault.JobNotCancellable:
		return "the job has ended: `molfabric status` shows how"
	case fault.JobNotRetryable:
		return "`molfabric tasks JOB` shows how each task went; a job that has ended well runs again with --all"
	case fault.UnknownTier:
		return "`molfabric topup` lists what can be bought"
	case fault.UploadExpired:
		return "upload the file anew, without --resume"
	case fault.VersionConflict:
		return "somebody has saved meanwhile, and nothing was changed: look at the newest version first"
	case fault.RateLimited, fault.ProviderUnavailable:
		return "try again in a minute"
	}
	return ""
}
