package credits

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

var tags = []string{"Credits"}

const jsonType = "application/json"

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	registerReading(api, s)
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "top-up", Method: http.MethodPost, Path: "/v1/credits/topup", Tags: tags,
		Summary: "Buy credit", Description: "Opens a hosted checkout. The wallet is credited when the payment provider reports " +
			"the payment, " +
			"moments after it was made. A deployment without a payment provider answers 402 NO_PAYMENT_METHOD.",
		Errors: []int{http.StatusPaymentRequired},
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, in *topUpInput) (*topUpOutput, error) {
		opened, err := s.TopUp(ctx, access.From(ctx).AccountID, in.Body)
		if err != nil {
			return nil, err
		}
		return &topUpOutput{Body: opened}, nil
	})
	registerEvents(api, s)
}

func registerReading(api huma.API, s *Service) {
	rule := access.Rule{Scope: access.CreditsRead}
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "get-balance", Method: http.MethodGet, Path: "/v1/credits/balance", Tags: tags,
		Summary: "Read the balance", Description: "All amounts are GBP pence.",
	}, rule), func(ctx context.Context, _ *struct{}) (*balanceOutput, error) {
		balance, err := s.Balance(ctx, access.From(ctx).AccountID)
		if err != nil {
			return nil, err
		}
		return &balanceOutput{Body: balance}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "list-transactions", Method: http.MethodGet, Path: "/v1/credits/transactions", Tags: tags,
		Summary: "List the ledger", Description: "Newest first. hold and hold_release are memos: they change what is available, " +
			"not the balance.",
	}, rule), func(ctx context.Context, in *transactionsInput) (*transactionsOutput, error) {
		list, err := s.Transactions(ctx, access.From(ctx).AccountID, in.filter())
		if err != nil {
			return nil, err
		}
		return &transactionsOutput{Body: list}, nil
	})
}

// registerEvents adds the address that the payment provider sends its events to. A signature covers the body's bytes as they
// came, so the operation takes them unread: huma knows them as a text, and the document is told what they are.
func registerEvents(api huma.API, s *Service) {
	body := &huma.RequestBody{Required: true, Description: "An event of the provider's API, as it was signed.",
		Content: map[string]*huma.MediaType{}}
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "receive-payment-event", Method: http.MethodPost, Path: "/v1/webhooks/stripe", Tags: tags,
		Summary: "Take an event of the payment provider", Description: "For Stripe alone. The Stripe-Signature header is the " +
			"credential: " +
			"without a valid one of the last five minutes the answer is 400. Register this address for " +
			"checkout.session.completed, " +
			"checkout.session.async_payment_succeeded, checkout.session.async_payment_failed, checkout.session.expired and " +
			"charge.refunded; " +
			"other events are accepted and ignored. A payment is credited once, whatever the order and number of deliveries.",
		RequestBody: body, SkipValidateBody: true,
	}, access.Rule{Public: true, MaxBody: maxEventBytes}), func(ctx context.Context, in *eventInput) (*eventOutput, error) {
		if err := s.Receive(ctx, in.RawBody, in.Signature); err != nil {
			return nil, err
		}
		return &eventOutput{Body: contract.PaymentEventReceipt{Received: true}}, nil
	})
	body.Content[jsonType].Schema = &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Required: []string{"id", "object", "type", "data"},
		Properties: map[string]*huma.Schema{
			"id":     {Type: huma.TypeString, Description: "Id of the event; a repeat has the same."},
			"object": {Type: huma.TypeString, Enum: []any{"event"}},
			"type":   {Type: huma.TypeString, Description: "What happened.", Examples: []any{"checkout.session.completed"}},
			"data":   {Type: huma.TypeObject, AdditionalProperties: true, Description: "What it happened to."},
		},
	}
}
