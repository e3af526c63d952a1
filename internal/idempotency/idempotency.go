// Package idempotency makes an operation answer a repeated request as it did the first time. A claim is a row in Postgres
// that is written in the transaction of the operation itself: an operation that fails leaves none. It knows no HTTP and no
// operation; which operations take keys is the front door's knowledge.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	// Lifetime is how long a key answers with its first response; the contract promises at least a day.
	Lifetime = 48 * time.Hour
	// MinKeyChars is the least length of a key (doc/contract.md §8).
	MinKeyChars = 8
	// MaxKeyChars is the greatest length of a key (doc/contract.md §8).
	MaxKeyChars = 255
	// lockNotAvailable is the SQLSTATE of a lock_timeout.
	lockNotAvailable = "55P03"
)

// Claim names one request of one account. Request is the canonical request without its key: the same key with another request
// is refused.
type Claim struct {
	AccountID string
	Operation string // the name under which keys of this operation live, "jobs.submit"
	Key       string
	Request   []byte
}

func (c Claim) fingerprint() string {
	digest := sha256.Sum256(c.Request)
	return hex.EncodeToString(digest[:])
}

// Take claims a key for the running transaction and stores the answer that later calls will get; an operation that knows its
// answer only at its end passes null and calls Answer. When the key is taken already, Take returns the answer that was given
// then, and the caller does nothing else. A transaction that has claimed the key and not yet ended is waited for, for a short
// while.
//
// Errors: fault.IdempotencyKeyReused for the same key with another request; fault.IdempotencyInProgress while the first call
// with the key is still running.
func Take(ctx context.Context, tx *sqlx.Tx, c Claim, answer []byte, now time.Time) (first []byte, err error) {
	if answer == nil {
		answer = []byte("null")
	}
	claimed, err := insert(ctx, tx, c, answer, now)
	if err != nil || claimed {
		return nil, asInProgress(err)
	}
	fingerprint, stored, err := read(ctx, tx, c)
	if err != nil {
		return nil, err
	}
	if fingerprint != c.fingerprint() {
		return nil, reused()
	}
	return stored, nil
}

// Find returns the answer that an earlier call with the key was given, or nil. It claims nothing, so that an operation can
// answer a repetition before it does any work; Take still decides between calls at the same time. Errors:
// fault.IdempotencyKeyReused.
func Find(ctx context.Context, db *sqlx.DB, c Claim, now time.Time) (first []byte, err error) {
	fingerprint, stored, err := find(ctx, db, c, now)
	switch {
	case err != nil || stored == nil:
		return nil, err
	case fingerprint != c.fingerprint():
		return nil, reused()
	}
	return stored, nil
}

// Answer stores what later calls with the key of this transaction's claim will get.
func Answer(ctx context.Context, tx *sqlx.Tx, c Claim, answer []byte) error {
	return update(ctx, tx, c, answer)
}

// DeleteExpired removes the claims that no longer bind.
func DeleteExpired(ctx context.Context, db *sqlx.DB, now time.Time) error {
	return deleteExpired(ctx, db, now)
}

func reused() error {
	return fault.New(fault.IdempotencyKeyReused, "idempotencyKey: it was used for a different request; send a new key, or the "+
		"same request again")
}

// asInProgress turns a lock timeout into the answer for its caller.
func asInProgress(err error) error {
	var refused *pq.Error
	if errors.As(err, &refused) && refused.Code == lockNotAvailable {
		return fault.New(fault.IdempotencyInProgress, "idempotencyKey: the first request with this key is still running; try "+
			"again in a second")
	}
	return err
}
