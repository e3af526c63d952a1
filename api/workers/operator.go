package workers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
)

const (
	// listed bounds a list of enrolments or workers.
	listed = 1000
	// tokenMark begins tokens, so that one is known for what it is where it should not lie.
	tokenMark = "mfw_"
	// MaxEnrolment is how long an enrolment may be good.
	MaxEnrolment = 366 * 24 * time.Hour
	// MaxWorkers is how many workers one enrolment may be for.
	MaxWorkers = 100_000
	// notAnAccount stands in lines of the audit log that are about the deployment.
	notAnAccount = "deployment"
	// endPatience is how long Revoke waits for the API to end what was revoked.
	endPatience = 10 * time.Second
	endPoll     = 100 * time.Millisecond
)

// nameForm is the form of an enrolment's name. No worker's id has it: those hold an underscore.
var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// Operator does what operators do with tokens and workers, and writes it into the audit log. Its context sees everyone's rows.
type Operator struct {
	DB   *sqlx.DB
	User string // who runs the commands
	Now  func() time.Time
}

// Enrolment is what a token is for.
type Enrolment struct {
	ID         string     `db:"id" json:"id"`
	Name       string     `db:"name" json:"name"`
	MaxWorkers int        `db:"max_workers" json:"maxWorkers"`
	Living     int        `db:"living" json:"workers"` // that have credentials now
	CreatedAt  time.Time  `db:"created_at" json:"createdAt"`
	CreatedBy  string     `db:"created_by" json:"createdBy"`
	ExpiresAt  time.Time  `db:"expires_at" json:"expiresAt"`
	RevokedAt  *time.Time `db:"revoked_at" json:"revokedAt,omitempty"`
	RevokedBy  string     `db:"revoked_by" json:"revokedBy,omitempty"`
}

// Worker is a worker with an identity of its own.
type Worker struct {
	WorkerID  string     `db:"worker_id" json:"workerId"`
	Enrolment string     `db:"enrolment" json:"enrolment"`
	Host      string     `db:"host" json:"host"`
	Name      string     `db:"name" json:"name,omitempty"`
	Address   string     `db:"address" json:"address"`
	CreatedAt time.Time  `db:"created_at" json:"since"`
	RenewedAt time.Time  `db:"renewed_at" json:"renewedAt"`
	ExpiresAt time.Time  `db:"expires_at" json:"expiresAt"`
	RevokedAt *time.Time `db:"revoked_at" json:"revokedAt,omitempty"`
	RevokedBy string     `db:"revoked_by" json:"revokedBy,omitempty"`
	EndedAt   *time.Time `db:"ended_at" json:"endedAt,omitempty"`
}

// Enrol makes an enrolment and returns its token, which is kept nowhere.
func (o Operator) Enrol(ctx context.Context, name string, good time.Duration, most int) (token string, e Enrolment, err error) {
	switch {
	case !nameForm.MatchString(name):
		return "", e, fmt.Errorf("NAME: %q must be of lower-case letters, digits, dots and hyphens, at most 63 of them", name)
	case good <= 0 || good > MaxEnrolment:
		return "", e, fmt.Errorf("for: %s must be more than 0 and at most %s", good, MaxEnrolment)
	case most < 1 || most > MaxWorkers:
		return "", e, fmt.Errorf("workers: %d must be 1 to %d", most, MaxWorkers)
	}
	now := o.Now().UTC()
	e = Enrolment{ID: id.New("enr_"), Name: name, MaxWorkers: most, CreatedAt: now, CreatedBy: o.User, ExpiresAt: now.Add(good)}
	token = tokenMark + newSecret()
	err = postgres.InTx(ctx, o.DB, func(tx *sqlx.Tx) error {
		fresh, err := insertEnrolment(ctx, tx, e, hashOf(token))
		if err == nil && !fresh {
			err = fmt.Errorf("NAME: there is an enrolment %s; revoke it first, or choose another name", name)
		}
		if err != nil {
			return err
		}
		return o.note(ctx, tx, auditlog.WorkersEnrolled, fmt.Sprintf("%s, for %d workers, until %s", name, most,
			e.ExpiresAt.Format(time.RFC3339)))
	})
	return token, e, err
}

// Enrolments lists the newest ones.
func (o Operator) Enrolments(ctx context.Context) ([]Enrolment, error) {
	return selectEnrolments(ctx, o.DB)
}

// Workers lists those that have credentials, or all of the last 90 days.
func (o Operator) Workers(ctx context.Context, all bool) ([]Worker, error) {
	return selectWorkers(ctx, o.DB, all)
}

// ErrUnknown is for a name that is neither an enrolment's nor a worker's.
var ErrUnknown = errors.New("is neither an enrolment nor a worker that came with one, or was revoked before; `molfabric fleet " +
	"enrolments` and `molfabric fleet workers --all` list them")

// Revoke ends an enrolment with all its workers, or one worker, and returns those that had credentials. It waits until Redis has
// none of their users any more, which a running API sees to: ended is false when none did. Errors: ErrUnknown.
func (o Operator) Revoke(ctx context.Context, name string) (workerIDs []string, ended bool, err error) {
	now := o.Now().UTC()
	err = postgres.InTx(ctx, o.DB, func(tx *sqlx.Tx) error {
		enrolmentID, err := revokeEnrolment(ctx, tx, name, o.User, now)
		if err != nil {
			return err
		}
		n, living, err := store{o.DB}.revoke(ctx, tx, enrolmentID, name, o.User, now)
		if err != nil {
			return err
		}
		if workerIDs = living; enrolmentID == "" && n == 0 {
			return fmt.Errorf("%s: %w", name, ErrUnknown)
		}
		event := auditlog.WorkerRevoked
		if enrolmentID != "" {
			event = auditlog.EnrolmentRevoked
		}
		return o.note(ctx, tx, event, fmt.Sprintf("%s, %d workers", name, len(workerIDs)))
	})
	if err != nil {
		return nil, false, err
	}
	ended, err = o.awaitEnd(ctx, workerIDs)
	return workerIDs, ended, err
}

func (o Operator) awaitEnd(ctx context.Context, workerIDs []string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for {
		open, err := countOpen(ctx, o.DB, workerIDs)
		if open == 0 || err != nil {
			return err == nil, err
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(endPoll):
		}
	}
}

func (o Operator) note(ctx context.Context, tx *sqlx.Tx, event auditlog.Event, detail string) error {
	return auditlog.Write(ctx, tx, auditlog.Line{At: o.Now(), AccountID: notAnAccount, Actor: auditlog.Operator(o.User),
		Event: event, Detail: detail})
}
