package uploads

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
)

const (
	// maxWaiting bounds the files of one account that wait in an instance for those before them, and turnPatience how long
	// they do: each takes a few milliseconds.
	maxWaiting   = 64
	turnPatience = 5 * time.Second
)

// Quota bounds the files of one account together: those that lie in the store, those that URLs were given out for, and those on
// their way in parts. A zero field bounds nothing. Results of jobs are paid for and do not count.
type Quota struct {
	Bytes   int64
	Objects int64
}

// Usage is what of its quota an account takes.
type Usage struct {
	Bytes   int64 `db:"bytes"`
	Objects int64 `db:"objects"`
	// UnfinishedBytes are those of Bytes that belong to uploads in parts which are not complete.
	UnfinishedBytes int64 `db:"unfinished_bytes"`
}

// Bound sets the quota of every account and returns the service. It is called before the first request.
func (s *Service) Bound(q Quota) *Service {
	s.quota = q
	return s
}

// Quota is what an account may have.
func (s *Service) Quota() Quota { return s.quota }

// Usage is what an account has of its quota.
func (s *Service) Usage(ctx context.Context, accountID string) (Usage, error) {
	return usage(ctx, s.store.db, accountID, newFile{})
}

// newFile is a file that is about to take its place. What it stands in for does not count beside it.
type newFile struct {
	byteSize   int64
	storageKey string // of a file whose place it takes; "" for none
	uploadID   string // of the upload in parts that it comes from; "" for none
}

// room refuses a file for which the account has no room. Errors: fault.Validation.
func (s *Service) room(ctx context.Context, db sqlx.QueryerContext, accountID string, file newFile) error {
	if s.quota == (Quota{}) {
		return nil
	}
	taken, err := usage(ctx, db, accountID, file)
	if err != nil {
		return err
	}
	return s.quota.check(taken, file.byteSize)
}

// check holds one more file against the quota.
func (q Quota) check(taken Usage, byteSize int64) error {
	const next = "abort uploads that you do not go on with (DELETE /v1/uploads/{uploadId}), delete the files of jobs that you " +
		"need no more " +
		"(DELETE /v1/jobs/{id}/files), wait for unused files to be cleared away, which takes 30 days, " +
		"or ask whoever runs this deployment for more"
	switch {
	case q.Bytes > 0 && byteSize > q.Bytes-taken.Bytes:
		return fault.New(fault.Validation, "size: %d bytes do not fit: the account's files may take %d bytes together and take "+
			"%d, %d of them in unfinished uploads: %s",
			byteSize, q.Bytes, taken.Bytes, taken.UnfinishedBytes, next)
	case q.Objects > 0 && taken.Objects >= q.Objects:
		return fault.New(fault.Validation, "size: there is no place for another file: the account may have %d files and has %d: %s",
			q.Objects, taken.Objects, next)
	}
	return nil
}

// reserve stores a file, or an upload of one, if the account has room for it. What an account stores is stored one after
// the other, so that files at the same moment cannot pass the quota together. In one instance the others wait without a
// connection, of which an account must not take all; for other instances the one that has its turn waits a moment.
//
// Errors: fault.Validation; fault.RateLimited when the account's other files keep this one waiting for too long.
func (s *Service) reserve(ctx context.Context, accountID string, file newFile, put func(tx *sqlx.Tx) error) error {
	if s.quota == (Quota{}) {
		return postgres.InTx(ctx, s.store.db, put)
	}
	release, err := s.turns.Take(ctx, accountID)
	if err != nil {
		return err
	}
	defer release()
	err = postgres.InTx(ctx, s.store.db, func(tx *sqlx.Tx) error {
		if err := lockQuota(ctx, tx, accountID); err != nil {
			return err
		}
		if err := s.room(ctx, tx, accountID, file); err != nil {
			return err
		}
		return put(tx)
	})
	if postgres.IsLockTimeout(err) {
		return s.turns.Busy()
	}
	return err
}
