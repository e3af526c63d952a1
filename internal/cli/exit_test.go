package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	answer := func(status int, code fault.Code) error {
		return fmt.Errorf("calling: %w", &client.Error{Status: status, Code: code, Message: "m"})
	}
	tests := []struct {
		name string
		err  error
		want int
		hint string // part of the next step
	}{
		{"none", nil, ExitOK, ""},
		{"usage", usage("x"), ExitUsage, ""},
		{"file", invalidInput("x"), ExitInvalid, ""},
		{"not signed in", errNotSignedIn, ExitForbidden, "molfabric login"},
		{"unauthorized", answer(401, fault.Unauthorized), ExitForbidden, "molfabric login"},
		{"wrong password", advise(answer(401, fault.Unauthorized), fault.Unauthorized, "open one with --sign-up"), ExitForbidden,
			"--sign-up"},
		{"session", answer(403, fault.SessionRequired), ExitForbidden, "molfabric login"},
		{"scope", answer(403, fault.InsufficientScope), ExitForbidden, "keys create"},
		{"not found", answer(404, fault.NotFound), ExitNotFound, "molfabric jobs"},
		{"gone", answer(410, ""), ExitNotFound, ""},
		{"validation", answer(400, fault.Validation), ExitInvalid, ""},
		{"conflict", answer(409, fault.JobNotCancellable), ExitInvalid, "molfabric status"},
		{"unsupported", answer(422, fault.UnsupportedSimulator), ExitInvalid, ""},
		{"credit", answer(402, fault.InsufficientCredits), ExitCredit, "molfabric balance"},
		{"limit", answer(429, fault.RateLimited), ExitUnavailable, "a minute"},
		{"store away", answer(503, fault.ProviderUnavailable), ExitUnavailable, "a minute"},
		{"server's fault", answer(500, fault.Internal), ExitUnexpected, ""},
		{"nobody there", &client.NetworkError{Server: "s", Err: errors.New("refused")}, ExitUnavailable, "molfabric up"},
		{"job failed", &jobEnd{job: contract.Job{JobID: "job_1", Status: job.Failed}}, ExitJobFailed, "logs job_1"},
		{"partly", &jobEnd{job: contract.Job{Status: job.CompletedWithFailures}}, ExitPartlyFailed, ""},
		{"worth a retry", &jobEnd{job: contract.Job{JobID: "job_1", Status: job.Failed, Error: &contract.JobError{Retryable: true}}},
			ExitJobFailed, "retry job_1"},
		{"cancelled", &jobEnd{job: contract.Job{JobID: "job_1", Status: job.Cancelled}}, ExitJobCancelled, "retry job_1"},
		{"not retryable", answer(409, fault.JobNotRetryable), ExitInvalid, "molfabric tasks"},
		{"another version", answer(409, fault.VersionConflict), ExitInvalid, "somebody has saved"},
		{"another file", fmt.Errorf("uploading: %w", client.ErrOtherFile), ExitInvalid, "without --resume"},
		{"expired upload", answer(410, fault.UploadExpired), ExitNotFound, "without --resume"},
		{"no such tier", answer(400, fault.UnknownTier), ExitInvalid, "molfabric topup"},
		{"interrupted", errInterrupted, ExitInterrupted, ""},
		{"context", fmt.Errorf("x: %w", context.Canceled), ExitInterrupted, ""},
		{"checksum", &client.ChecksumError{}, ExitUnexpected, ""},
	}
	for _, test := range tests {
		if got := ExitCode(test.err); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
		if got := hint(test.err); !strings.Contains(got, test.hint) || test.hint == "" && got != "" {
			t.Errorf("%s: got hint %q, want one with %q", test.name, got, test.hint)
		}
	}
}

func TestJobEnd(t *testing.T) {
	t.Parallel()
	reason := "cancelled by its owner"
	tests := []struct {
		job    contract.Job
		detail string
		want   string
	}{
		{contract.Job{JobID: "job_1", Status: job.Failed, Error: &contract.JobError{Code: "RECEPTOR_UNREADABLE", Message: "no atoms"}},
			"", "job job_1 failed: no atoms (RECEPTOR_UNREADABLE)"},
		{contract.Job{JobID: "job_1", Status: job.CompletedWithFailures}, "2 of 5 ligands have no result",
			"job job_1 ended with failures: 2 of 5 ligands have no result"},
		{contract.Job{JobID: "job_1", Status: job.Cancelled, StatusReason: &reason}, "",
			"job job_1 was cancelled: cancelled by its owner"},
	}
	for _, test := range tests {
		if got := endOf(test.job, test.detail); got == nil || got.Error() != test.want {
			t.Errorf("got %v, want %q", got, test.want)
		}
	}
	if got := endOf(contract.Job{Status: job.Completed}, ""); got != nil {
		t.Errorf("completed: got %v, want nil", got)
	}
}
