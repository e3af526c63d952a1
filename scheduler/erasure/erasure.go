// Package erasure removes what its owner asks to be removed: the files and the results of a job, or all of an account.
// The rows that name files go in one transaction, which also writes down what is to be deleted from the object store;
// that is done afterwards, as often as it takes. What the books need stays: a job's record, its tasks and attempts with
// their use, holds, ledger and payments. It runs no job.
package erasure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
)

// maxTries bounds how often a deletion begins anew because other jobs have come to read the job's files meanwhile.
const maxTries = 5

// Order asks for the deletion of a job's files.
type Order struct {
	AccountID, JobID string
	At               time.Time
	Address          string // that the caller came from, for the audit log
}

// Deleted says what became of an order. The counts are those of this call: of files that had been deleted before they are
// 0.
type Deleted struct {
	At          time.Time // when the files were deleted
	Already     bool      // by an earlier call
	Outputs     int64
	OutputBytes int64
	Uploads     int64
	UploadBytes int64
}

// Gone is the answer for what was read from files that were deleted at a moment.
func Gone(at time.Time) error {
	return fault.New(fault.FilesDeleted, "job: its files and results were deleted by its owner on %s; what was asked of it, its "+
		"tasks and its bill are kept",
		at.UTC().Format(time.RFC3339))
}

// errChanged says that other jobs read the job's files than when their locks were taken.
var errChanged = errors.New("the readers of the job's files have changed")

// JobFiles deletes what a job that has ended has made and found, and the uploads that it alone refers to. It may be
// called again and by several at once: one call deletes, the others find it done. The objects follow within moments
// (Eraser).
//
// Errors: fault.NotFound for an unknown job or another account's; fault.JobNotEnded for one that has not ended, and while
// another job that has not ended reads its files; fault.ProviderUnavailable while more and more jobs read them, and while it is
// not known what earlier jobs read. After each nothing has changed.
func JobFiles(ctx context.Context, db *sqlx.DB, o Order) (deleted Deleted, err error) {
	o.At = o.At.UTC().Truncate(time.Microsecond)
	for range maxTries {
		err = postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
			deleted, err = jobFiles(ctx, tx, o)
			return err
		})
		switch {
		case errors.Is(err, errUnrecorded):
			if err := recordAccount(ctx, db, o.AccountID); err != nil {
				return Deleted{}, err
			}
		case !errors.Is(err, errChanged):
			return deleted, err
		}
	}
	return Deleted{}, fault.Wrap(err, fault.ProviderUnavailable, "job: other jobs begin to read its files all the time; try again")
}

func jobFiles(ctx context.Context, tx *sqlx.Tx, o Order) (Deleted, error) {
	owner, done, err := lockedFor(ctx, tx, o)
	if err != nil || done.Already {
		return done, err
	}
	if err := revokeShares(ctx, tx, o); err != nil {
		return Deleted{}, err
	}
	deleted := Deleted{At: o.At}
	if deleted.Outputs, deleted.OutputBytes, err = countOutputs(ctx, tx, o.JobID); err != nil {
		return Deleted{}, err
	}
	uploads, err := deleteUploads(ctx, tx, o)
	if err != nil {
		return Deleted{}, err
	}
	prefixes := []string{jobPrefix(o.AccountID, o.JobID)}
	for _, u := range uploads {
		deleted.Uploads, deleted.UploadBytes = deleted.Uploads+1, deleted.UploadBytes+u.ByteSize
		prefixes = append(prefixes, u.prefix())
	}
	slices.Sort(prefixes)
	for _, step := range []func() error{
		func() error { return deleteResults(ctx, tx, o.JobID, o.At) },
		func() error { return loseInputs(ctx, tx, o) },
		func() error { return markDeleted(ctx, tx, owner, o.At) },
		func() error { return insertRemovals(ctx, tx, o.AccountID, slices.Compact(prefixes), o.At) },
		func() error {
			return auditlog.Write(ctx, tx, auditlog.Line{At: o.At, AccountID: o.AccountID, Actor: auditlog.Owner,
				Event: auditlog.JobFilesDeleted, Detail: fmt.Sprintf("%s, %d uploads with it", o.JobID, deleted.Uploads),
				Address: o.Address})
		},
	} {
		if err := step(); err != nil {
			return Deleted{}, err
		}
	}
	return deleted, nil
}

// lockedFor locks the job with the jobs that read its files, in the order of their ids as every transaction does, and
// then the account's files. Whoever comes to read them meanwhile is found by a second look.
func lockedFor(ctx context.Context, tx *sqlx.Tx, o Order) (owner jobRow, done Deleted, err error) {
	if at, err := deletedBefore(ctx, tx, o); err != nil || at.Valid {
		return owner, Deleted{At: at.Time.UTC(), Already: at.Valid}, err
	}
	readers, err := selectReaders(ctx, tx, o)
	if err != nil {
		return owner, done, err
	}
	jobs, err := lockJobs(ctx, tx, o.AccountID, append(readers, o.JobID))
	if err != nil {
		return owner, done, err
	}
	owner, known := jobs[o.JobID]
	switch {
	case !known:
		return owner, done, fault.New(fault.NotFound, "job: no job of this account has the id given")
	case owner.FilesDeletedAt.Valid:
		return owner, Deleted{At: owner.FilesDeletedAt.Time.UTC(), Already: true}, nil
	case !owner.FinishedAt.Valid:
		return owner, done, fault.New(fault.JobNotEnded,
			"job: it is %s; cancel it first (POST /v1/jobs/%s/cancel), and delete its files when it has ended", owner.Status,
			o.JobID)
	}
	if err := lockFiles(ctx, tx, o.AccountID); err != nil {
		return owner, done, err
	}
	if some, err := hasUnrecorded(ctx, tx, o.AccountID); err != nil || some {
		return owner, done, cmp.Or(err, errUnrecorded)
	}
	if readers, err = selectReaders(ctx, tx, o); err != nil {
		return owner, done, err
	}
	for _, id := range readers {
		reader, locked := jobs[id]
		switch {
		case !locked:
			return owner, done, errChanged
		case !reader.FinishedAt.Valid:
			return owner, done, fault.New(fault.JobNotEnded, "job: %s reads its files and is %s; wait until that has ended, or "+
				"cancel it", id, reader.Status)
		}
	}
	return owner, done, nil
}

// Account marks an account as closed within the caller's transaction, which has made sure that none of its jobs is open
// and that none can begin: its address, name and password are gone, and with them its sessions, keys, identities, links,
// licence servers and shares. All else follows (Eraser). It reports false for one that is closed already.
func Account(ctx context.Context, tx *sqlx.Tx, accountID string, at time.Time) (bool, error) {
	closed, err := closeAccount(ctx, tx, accountID, at)
	if err != nil || !closed {
		return false, err
	}
	if err := deleteCredentials(ctx, tx, accountID, at); err != nil {
		return false, err
	}
	return true, insertRemovals(ctx, tx, accountID, []string{accountPrefix(accountID)}, at)
}

// OpenJobs counts the jobs of an account that have not ended.
func OpenJobs(ctx context.Context, tx *sqlx.Tx, accountID string) (int, error) {
	return countOpenJobs(ctx, tx, accountID)
}

func accountPrefix(accountID string) string { return "accounts/" + accountID + "/" }

func jobPrefix(accountID, jobID string) string {
	return accountPrefix(accountID) + "jobs/" + jobID + "/"
}

func wrap(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(doing+": %w", append(args, err)...)
}

// Metrics are the eraser's.
type Metrics struct {
	waiting prometheus.Gauge
	removed prometheus.Counter
}

// NewMetrics registers the eraser's metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{
		waiting: f.NewGauge(prometheus.GaugeOpts{Name: "molfabric_removals_waiting",
			Help: "Deletions that owners asked for, or that follow repetitions, and whose objects are still in the store."}),
		removed: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_removed_objects_total",
			Help: "Objects that were deleted because their owners asked for it, or because a repetition had left them."}),
	}
}

// Objects is the part of an object store that an Eraser needs.
type Objects interface {
	Delete(ctx context.Context, key string) error
	DeletePrefix(ctx context.Context, prefix string) (deleted int, err error)
	AbortMultipart(ctx context.Context, key, handle string) error
}

// Deps is what an Eraser needs. All are required but Metrics.
type Deps struct {
	DB      *sqlx.DB
	Objects Objects
	Log     *slog.Logger
	Metrics *Metrics
	Now     func() time.Time
}
