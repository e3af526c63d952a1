// Package notices tells accounts of events by mail: the API group of what an account wants to be told, and the Teller, which sends
// the mails. Mails that prove addresses are api/auth's.
package notices

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/mail"
)

// usualLowCredit is in pence: a fifth of what the smallest plan gives a month.
const usualLowCredit = 100

// usualEvents are mailed until an account says otherwise: what its owner would want to know and does not sit and wait for.
var usualEvents = []string{contract.EventCreditLow, contract.EventKeyNewNetwork}

// Mailer sends a mail, once, and says whether it went. It is safe for concurrent use.
type Mailer interface {
	Send(ctx context.Context, m mail.Message) error
}

// Deps is what a Service needs; all but the Mailer are required.
type Deps struct {
	DB        *sqlx.DB
	Mail      Mailer // nil where the deployment sends no mail
	Limiter   *throttle.Limiter
	PublicURL string // how browsers reach the service
	Log       *slog.Logger
	Now       func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	Deps
	store store
}

// New returns a Service.
func New(deps Deps) *Service {
	deps.PublicURL = strings.TrimSuffix(deps.PublicURL, "/")
	return &Service{Deps: deps, store: store{deps.DB}}
}

// Get reads what an account is told by mail.
func (s *Service) Get(ctx context.Context, accountID string) (contract.NoticeSettings, error) {
	found, err := s.store.settings(ctx, accountID)
	return contract.NoticeSettings{Events: found.Events, LowCreditPence: found.LowCreditPence, Email: found.Email,
		EmailVerified: found.EmailVerified, SendsMail: s.Mail != nil}, err
}

// Replace changes what an account is told by mail. Errors: fault.Validation.
func (s *Service) Replace(ctx context.Context, accountID string, in contract.NoticeRequest) error {
	events := slices.Clone(in.Events)
	slices.Sort(events)
	if len(slices.Compact(slices.Clone(events))) < len(events) {
		return fault.New(fault.Validation, "events: names one twice")
	}
	low := int64(usualLowCredit)
	if in.LowCreditPence != nil {
		low = *in.LowCreditPence
	}
	if err := s.store.replace(ctx, accountID, events, low, s.Now().UTC()); err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "notices changed", "account", accountID, "events", events, "request", access.RequestID(ctx))
	return nil
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
