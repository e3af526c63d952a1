// Package credits shows an account its balance and its ledger. It moves no money: that is the billing room's.
package credits

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/billing"
)

var tags = []string{"Credits"}

// Service is safe for concurrent use.
type Service struct {
	db     *sqlx.DB
	ledger *billing.Ledger
	now    func() time.Time
}

// New returns the service.
func New(db *sqlx.DB, ledger *billing.Ledger, now func() time.Time) *Service {
	return &Service{db: db, ledger: ledger, now: now}
}

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	rule := access.Rule{Scope: access.CreditsRead}
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "get-balance", Method: http.MethodGet, Path: "/v1/credits/balance", Tags: tags,
		Summary: "Read the balance", Description: "All amounts are GBP pence.",
	}, rule), func(ctx context.Context, _ *struct{}) (*balanceOutput, error) {
		balance, err := s.ledger.Balance(ctx, s.db, access.From(ctx).AccountID, s.now().UTC())
		if err != nil {
			return nil, err
		}
		return &balanceOutput{Body: balanceOf(balance)}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "list-transactions", Method: http.MethodGet, Path: "/v1/credits/transactions", Tags: tags,
		Summary: "List the ledger", Description: "Newest first. hold and hold_release are memos: they change what is available, not the balance.",
	}, rule), func(ctx context.Context, in *transactionsInput) (*transactionsOutput, error) {
		page, err := s.ledger.Transactions(ctx, s.db, access.From(ctx).AccountID, in.filter())
		if err != nil {
			return nil, err
		}
		return &transactionsOutput{Body: pageOf(page)}, nil
	})
}
