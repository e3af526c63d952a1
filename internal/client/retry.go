package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// maxAttempts bounds how often one call is tried: with the waits between, about four seconds, enough for a restart.
	maxAttempts = 5
	// firstWait and longestWait bound the waits, which double from one to the other.
	firstWait   = 250 * time.Millisecond
	longestWait = 5 * time.Second
	// maxRetryAfter is the longest wait that a server may ask for; beyond it the caller is told instead of kept.
	maxRetryAfter = 60 * time.Second
)

// attempts runs once until it succeeds, until its error is permanent or until maxAttempts. idempotent says that once may be
// repeated although nobody knows whether the server has carried it out.
func (c *Client) attempts(ctx context.Context, idempotent bool, once func() error) error {
	for attempt := 1; ; attempt++ {
		err := once()
		if err == nil || attempt == maxAttempts || !retryable(err, idempotent) {
			return err
		}
		delay, ok := pause(err, attempt, c.jitter())
		if !ok {
			return err
		}
		if c.wait(ctx, delay) != nil {
			return ctx.Err()
		}
	}
}

// retryable judges an error. 429 and 503 say that nothing was done, and IDEMPOTENCY_IN_PROGRESS that the call's own earlier
// try is still at work; a broken connection, a proxy's 502 and 504 and broken bytes leave it open.
func retryable(err error, idempotent bool) bool {
	var (
		answer  *Error
		network *NetworkError
		broken  *ChecksumError
	)
	switch {
	case errors.As(err, &answer):
		switch answer.Status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return true
		case http.StatusBadGateway, http.StatusGatewayTimeout:
			return idempotent
		}
		return answer.Code == fault.IdempotencyInProgress
	case errors.As(err, &network), errors.As(err, &broken):
		return idempotent
	}
	return false
}

// pause is how long to wait after the given failed attempt, counted from 1. ok is false when the server asks for more than
// maxRetryAfter. What a server asks for is the least; a random part keeps many clients from coming back at once.
func pause(err error, attempt int, jitter float64) (delay time.Duration, ok bool) {
	delay = min(firstWait<<(attempt-1), longestWait)
	delay = delay/2 + time.Duration(jitter*float64(delay/2))
	var answer *Error
	if errors.As(err, &answer) && answer.RetryAfter > 0 {
		if answer.RetryAfter > maxRetryAfter {
			return 0, false
		}
		delay += answer.RetryAfter
	}
	return delay, true
}

func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func random() float64 { return rand.Float64() } //nolint:gosec // G404: jitter, not a secret
