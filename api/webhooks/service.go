// Package webhooks tells servers of accounts' own of events: the API group of which there are and what has become of the messages
// to them, and the Teller, which sends the messages.
package webhooks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/reach"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/webhook"
)

const (
	// MaxWebhooks bounds an account's webhooks, and with them the answer of List.
	MaxWebhooks = 20
	// maxDeliveries bounds the answer of Deliveries.
	maxDeliveries = 100
	// usualLowCredit is in pence.
	usualLowCredit = 500
)

// Deps is what a Service needs; all are required.
type Deps struct {
	DB *sqlx.DB
	// KeySecrets are the deployment's; a webhook's secret that was sealed under another is unreadable.
	KeySecrets secret.Ring
	Guard      reach.Guard // that messages are sent through
	Log        *slog.Logger
	Now        func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	Deps
	store  store
	sealer secret.Sealer
}

// New returns a Service.
func New(deps Deps) (*Service, error) {
	sealer, err := secret.NewSealer(deps.KeySecrets, secret.Webhooks)
	return &Service{Deps: deps, store: store{deps.DB}, sealer: sealer}, err
}

// List returns the account's webhooks, newest first.
func (s *Service) List(ctx context.Context, accountID string) ([]contract.Webhook, error) {
	rows, err := s.store.all(ctx, accountID, MaxWebhooks)
	found := make([]contract.Webhook, len(rows))
	for i, r := range rows {
		found[i] = r.view()
	}
	return found, err
}

// Create adds a webhook; the answer has its secret. Errors: fault.Validation, also when the account has MaxWebhooks.
func (s *Service) Create(ctx context.Context, accountID string, in contract.WebhookRequest) (contract.Webhook, error) {
	given, err := s.rowOf(id.New("whk_"), accountID, in)
	if err != nil {
		return contract.Webhook{}, err
	}
	key := s.seal(&given)
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		n, err := s.store.count(ctx, tx, accountID)
		if err == nil && n >= MaxWebhooks {
			err = fault.New(fault.Validation, "the account has %d webhooks: remove one first", MaxWebhooks)
		}
		if err == nil {
			err = s.store.insert(ctx, tx, given)
		}
		return err
	})
	if err != nil {
		return contract.Webhook{}, err
	}
	s.tell(ctx, "webhook added", given)
	return given.with(key), nil
}

// Get reads a webhook. Errors: fault.NotFound, also for another account's.
func (s *Service) Get(ctx context.Context, accountID, webhookID string) (contract.Webhook, error) {
	found, err := s.store.one(ctx, accountID, webhookID)
	return found.view(), asNotFound(err)
}

// Replace changes a webhook. Errors: fault.Validation, fault.NotFound.
func (s *Service) Replace(ctx context.Context, accountID, webhookID string, in contract.WebhookRequest) (contract.Webhook, error) {
	given, err := s.rowOf(webhookID, accountID, in)
	if err != nil {
		return contract.Webhook{}, err
	}
	changed, err := s.store.update(ctx, given)
	if err != nil {
		return contract.Webhook{}, asNotFound(err)
	}
	s.tell(ctx, "webhook changed", changed)
	return changed.view(), nil
}

// Delete removes a webhook with its messages. Errors: fault.NotFound.
func (s *Service) Delete(ctx context.Context, accountID, webhookID string) error {
	if err := s.store.remove(ctx, accountID, webhookID); err != nil {
		return asNotFound(err)
	}
	s.tell(ctx, "webhook removed", row{ID: webhookID, AccountID: accountID})
	return nil
}

// Rotate makes a new secret, which the answer has. Errors: fault.NotFound.
func (s *Service) Rotate(ctx context.Context, accountID, webhookID string) (contract.Webhook, error) {
	given := row{ID: webhookID, AccountID: accountID}
	key := s.seal(&given)
	changed, err := s.store.reseal(ctx, given)
	if err != nil {
		return contract.Webhook{}, asNotFound(err)
	}
	s.tell(ctx, "a webhook has a new secret", changed)
	return changed.with(key), nil
}

// Test has a message sent. Errors: fault.NotFound, fault.Validation when the webhook is not enabled.
func (s *Service) Test(ctx context.Context, accountID, webhookID string) (contract.WebhookDelivery, error) {
	if err := s.wantEnabled(ctx, accountID, webhookID); err != nil {
		return contract.WebhookDelivery{}, err
	}
	now := s.Now().UTC()
	message := webhook.Message{Type: contract.EventWebhookTest, Timestamp: now, Data: map[string]string{"webhookId": webhookID}}
	body, err := message.Body()
	if err != nil {
		return contract.WebhookDelivery{}, err
	}
	made, err := s.store.addTest(ctx, accountID, webhookID, id.New("msg_"), body, now)
	return made.view(), asNotFound(err)
}

// Deliveries returns the newest messages to a webhook. Errors: fault.NotFound.
func (s *Service) Deliveries(ctx context.Context, accountID, webhookID string) ([]contract.WebhookDelivery, error) {
	if _, err := s.store.one(ctx, accountID, webhookID); err != nil {
		return nil, asNotFound(err)
	}
	rows, err := s.store.deliveries(ctx, accountID, webhookID, maxDeliveries)
	found := make([]contract.WebhookDelivery, len(rows))
	for i, r := range rows {
		found[i] = r.view()
	}
	return found, err
}

// Replay has a message sent once more. Errors: fault.NotFound, fault.Validation when the webhook is not enabled.
func (s *Service) Replay(ctx context.Context, accountID, webhookID, deliveryID string) (contract.WebhookDelivery, error) {
	if err := s.wantEnabled(ctx, accountID, webhookID); err != nil {
		return contract.WebhookDelivery{}, err
	}
	again, err := s.store.replay(ctx, accountID, webhookID, deliveryID, s.Now().UTC())
	return again.view(), asNotFound(err)
}

func (s *Service) wantEnabled(ctx context.Context, accountID, webhookID string) error {
	found, err := s.store.one(ctx, accountID, webhookID)
	if err != nil {
		return asNotFound(err)
	}
	if !found.Enabled {
		return fault.New(fault.Validation, "id: the webhook is not enabled; enable it first")
	}
	return nil
}

// rowOf checks what the schema cannot state and completes the defaults. Errors: fault.Validation.
func (s *Service) rowOf(webhookID, accountID string, in contract.WebhookRequest) (row, error) {
	if err := s.checkURL(in.URL); err != nil {
		return row{}, err
	}
	now := s.Now().UTC()
	r := row{ID: webhookID, AccountID: accountID, URL: in.URL, Description: in.Description, Events: slices.Clone(in.Events),
		LowCreditPence: usualLowCredit, Enabled: true, Since: now, CreatedAt: now}
	slices.Sort(r.Events)
	if len(slices.Compact(r.Events)) < len(in.Events) {
		return row{}, fault.New(fault.Validation, "events: names one twice")
	}
	if in.LowCreditPence != nil {
		r.LowCreditPence = *in.LowCreditPence
	}
	if in.Enabled != nil {
		r.Enabled = *in.Enabled
	}
	return r, nil
}

// checkURL refuses what no message is sent to. Names are looked up when something is sent.
func (s *Service) checkURL(text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Host == "" || address.Hostname() == "":
		return fault.New(fault.Validation, "url: is no address; write https://host/path")
	case address.Scheme != "https":
		return fault.New(fault.Validation, "url: is %.20q; only https is taken, so that nobody reads along", address.Scheme)
	case address.User != nil:
		return fault.New(fault.Validation, "url: has a user name; messages are signed, see the secret in the answer")
	case address.Fragment != "":
		return fault.New(fault.Validation, "url: has a fragment, which is never sent; leave out what follows #")
	}
	if reason := s.Guard.Refusal(address.Hostname()); reason != "" {
		return fault.New(fault.Validation, "url: %s", reason)
	}
	return nil
}

// seal gives a row a new secret, and returns it.
func (s *Service) seal(r *row) (key string) {
	key = webhook.NewSecret()
	r.Sealed, r.SecretID = s.sealer.Seal(r.ID, key), s.sealer.ID()
	return key
}

func (s *Service) tell(ctx context.Context, what string, r row) {
	s.Log.InfoContext(ctx, what, "webhook", r.ID, "account", r.AccountID, "request", access.RequestID(ctx))
}

func asNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "there is no such webhook or message")
	}
	return err
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
