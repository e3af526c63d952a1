// Package workers gives workers identities: users of Redis of their own, each good for minutes, for who has an operator's token or
// the key that came with it before. It ends those that were not renewed or that an operator has revoked, and has what operators do
// with tokens and workers. It knows nothing of tasks: a worker without its user is a dead one to the scheduler.
package workers

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/identity"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// secretBytes of a token or a password cannot be guessed.
	secretBytes = 32
	// issueLimit bounds a request: a Redis that is away must not hold a worker's row for longer.
	issueLimit = 10 * time.Second
	// byItself has revoked a worker that left.
	byItself = "itself"
)

// Deps is what a Service needs; all are required but Users, without which nothing is handed out, and Authorities.
type Deps struct {
	DB    *sqlx.DB
	Users *queue.Users
	// Redis is its address as workers see it, without a user.
	Redis       string
	Authorities string // certificates that are to be believed of it; "" for those of the system
	Prefix      string // before every key and queue name
	Good        time.Duration
	Metrics     *Metrics
	Log         *slog.Logger
	Now         func() time.Time
}

// Metrics count what became of credentials.
type Metrics struct{ credentials *prometheus.CounterVec }

// NewMetrics registers the metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Name: "molfabric_worker_credentials_total",
		Help: "Credentials of workers, by what became of them: issued, renewed, refused, left, revoked, expired.",
	}, []string{"outcome"})}
	for _, outcome := range []string{issued, renewed, refused, left, revoked, expired} {
		m.credentials.WithLabelValues(outcome)
	}
	return m
}

// What becomes of credentials.
const issued, renewed, refused, left, revoked, expired = "issued", "renewed", "refused", "left", "revoked", "expired"

// Service is safe for concurrent use. Every instance of the API has one.
type Service struct {
	Deps
	store store
}

// New returns a Service. It starts nothing.
func New(deps Deps) *Service { return &Service{Deps: deps, store: store{deps.DB}} }

func everyone(ctx context.Context) context.Context {
	return tenant.Everyone(ctx, "workers belong to the deployment and to no account")
}

// Issue answers a worker's request, which came from an address of the network. Errors: fault.Unauthorized for who gets nothing,
// fault.Validation for what is no request, fault.NotFound where nothing is handed out.
func (s *Service) Issue(ctx context.Context, body []byte, proof, address string) (identity.Grant, error) {
	if s.Users == nil {
		return identity.Grant{}, fault.New(fault.NotFound, "this deployment hands out no credentials of workers: "+
			"MOLFABRIC_ISSUER_REDIS_URL of its API is not set")
	}
	request, err := identity.Open(body, proof)
	if err != nil {
		return identity.Grant{}, fault.New(fault.Validation, "%v", err)
	}
	ctx, cancel := context.WithTimeout(everyone(ctx), issueLimit)
	defer cancel()
	grant, outcome, err := s.issue(ctx, request, address)
	if fault.Is(err, fault.Unauthorized) {
		outcome = refused
		s.Log.Warn("a worker was refused credentials", "worker", request.WorkerID, "host", request.Host, "address", address,
			"reason", err)
	}
	if outcome != "" {
		s.Metrics.credentials.WithLabelValues(outcome).Inc()
	}
	return grant, err
}

// issue writes down what is promised, and then makes the user: one that stands in Redis always stands in a row.
func (s *Service) issue(ctx context.Context, request identity.Request, address string) (
	grant identity.Grant, outcome string, err error,
) {
	now := s.Now().UTC()
	row := identityRow{WorkerID: request.WorkerID, PublicKey: request.PublicKey, Host: request.Host, Name: request.Name,
		Address: address, RenewedAt: now, Serial: request.Serial, ExpiresAt: now.Add(s.Good)}
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) (err error) {
		outcome, err = s.promise(ctx, tx, row, request)
		return err
	})
	if err != nil || outcome == left {
		return grant, outcome, err
	}
	password := newSecret()
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		found, err := s.store.lock(ctx, tx, request.WorkerID)
		if err == nil && (found == nil || found.RevokedAt != nil || found.Serial != request.Serial) {
			err = refusal("this worker was revoked, or has asked again meanwhile")
		}
		if err != nil {
			return err
		}
		return s.Users.Make(ctx, s.Users.Name(request.WorkerID, request.Serial), password, request.WorkerID)
	})
	if err != nil {
		return grant, "", err
	}
	return identity.Grant{User: s.Users.Name(request.WorkerID, request.Serial), Password: password, Redis: s.Redis,
		Authorities: s.Authorities, Prefix: s.Prefix, Seconds: int64(s.Good / time.Second)}, outcome, nil
}

// promise finds out whether the request is good, and notes what it gets.
func (s *Service) promise(ctx context.Context, tx *sqlx.Tx, row identityRow, request identity.Request) (outcome string, err error) {
	found, err := s.store.lock(ctx, tx, row.WorkerID)
	switch {
	case err != nil:
		return "", err
	case found == nil && request.Leave:
		return left, nil
	case found == nil:
		return issued, s.begin(ctx, tx, row, request.Token)
	case !ed25519.PublicKey(found.PublicKey).Equal(ed25519.PublicKey(request.PublicKey)):
		return "", refusal("workerId: this worker has another key")
	case found.RevokedAt != nil:
		return "", refusal("this worker's access was ended")
	case request.Serial <= found.Serial:
		return "", refusal("serial: this request, or a later one, was made before")
	case request.Leave:
		_, _, err = s.store.revoke(ctx, tx, "", row.WorkerID, byItself, row.RenewedAt)
		return left, err
	}
	return renewed, s.store.renew(ctx, tx, row)
}

// begin makes an identity for who has a token.
func (s *Service) begin(ctx context.Context, tx *sqlx.Tx, row identityRow, token string) error {
	if token == "" {
		return refusal("token: this worker is not known, and sends no token of an enrolment")
	}
	var most, living int
	var err error
	row.EnrolmentID, most, living, err = s.store.opened(ctx, tx, hashOf(token), row.RenewedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return refusal("token: is of no enrolment, or of one that has expired or was revoked; " +
			"`molfabric fleet enrol` makes another")
	}
	if err != nil {
		return err
	}
	if living >= most {
		return refusal("token: its enrolment is for %d workers at once, and has them", most)
	}
	fresh, err := s.store.insert(ctx, tx, row)
	if err == nil && !fresh {
		err = refusal("workerId: this worker has another key")
	}
	return err
}

func refusal(format string, args ...any) error { return fault.New(fault.Unauthorized, format, args...) }

// newSecret is text that nobody guesses.
func newSecret() string {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails: it ends the program where there is no randomness
	return base64.RawURLEncoding.EncodeToString(random)
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
