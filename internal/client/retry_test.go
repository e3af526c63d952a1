package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

func TestRetryable(t *testing.T) {
	t.Parallel()
	broken := &NetworkError{Err: errors.New("connection reset")}
	tests := []struct {
		name                  string
		err                   error
		idempotent, otherwise bool
	}{
		{"rate limit", &Error{Status: 429, Code: fault.RateLimited}, true, true},
		{"store away", &Error{Status: 503, Code: fault.ProviderUnavailable}, true, true},
		{"own earlier try", &Error{Status: 409, Code: fault.IdempotencyInProgress}, true, true},
		{"proxy without server", &Error{Status: 502}, true, false},
		{"proxy's patience", &Error{Status: 504}, true, false},
		{"connection", broken, true, false},
		{"checksum", &ChecksumError{}, true, false},
		{"server's fault", &Error{Status: 500, Code: fault.Internal}, false, false},
		{"validation", &Error{Status: 400, Code: fault.Validation}, false, false},
		{"other conflict", &Error{Status: 409, Code: fault.JobNotCancellable}, false, false},
		{"caller has gone", context.Canceled, false, false},
		{"own file", errors.New("no space left on device"), false, false},
	}
	for _, test := range tests {
		if got := retryable(test.err, true); got != test.idempotent {
			t.Errorf("%s, idempotent: got %v, want %v", test.name, got, test.idempotent)
		}
		if got := retryable(test.err, false); got != test.otherwise {
			t.Errorf("%s, not idempotent: got %v, want %v", test.name, got, test.otherwise)
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	broken := &NetworkError{Err: errors.New("connection reset")}
	tests := []struct {
		name    string
		err     error
		attempt int
		jitter  float64
		want    time.Duration
		ok      bool
	}{
		{"first", broken, 1, 0, firstWait / 2, true},
		{"first, latest", broken, 1, 1, firstWait, true},
		{"doubles", broken, 3, 1, 4 * firstWait, true},
		{"bounded", broken, 30, 1, longestWait, true},
		{"asked for", &Error{Status: 429, RetryAfter: 3 * time.Second}, 1, 0, 3*time.Second + firstWait/2, true},
		{"asked for too much", &Error{Status: 429, RetryAfter: maxRetryAfter + time.Second}, 1, 0, 0, false},
	}
	for _, test := range tests {
		got, ok := pause(test.err, test.attempt, test.jitter)
		if got != test.want || ok != test.ok {
			t.Errorf("%s: got %v, %v; want %v, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}
