package contract

import (
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Balance is doc/contract.md §2.8: GBP pence.
type Balance struct {
	WalletCents           int64      `json:"wallet_cents" doc:"Bought or given credit; it does not expire."`
	WalletHeldCents       int64      `json:"wallet_held_cents" doc:"Part of the wallet that running jobs have set aside."`
	WalletAvailableCents  int64      `json:"wallet_available_cents" doc:"wallet_cents less wallet_held_cents."`
	MonthlyCents          int64      `json:"monthly_cents" doc:"The plan's credit of this month; spent first."`
	MonthlyHeldCents      int64      `json:"monthly_held_cents" doc:"Part of it that running jobs have set aside."`
	MonthlyAvailableCents int64      `json:"monthly_available_cents" doc:"monthly_cents less monthly_held_cents."`
	MonthlyResetAt        *time.Time `json:"monthly_reset_at" nullable:"true" doc:"When the monthly credit expires and is granted anew."`
	TotalCreditedCents    int64      `json:"total_credited_cents" doc:"All credit that the account ever got."`
	HeldCents             int64      `json:"held_cents" doc:"Held in both."`
	AvailableCents        int64      `json:"available_cents" doc:"Available in both: what a job may cost at most."`
	AvailableDisplay      string     `json:"available_display" doc:"available_cents for people." example:"£5.00"`
}

// Transaction is one line of the ledger.
type Transaction struct {
	ID                 string    `json:"id" doc:"Id of the entry."`
	Type               string    `json:"type" enum:"top_up,bonus,monthly_grant,monthly_expiry,hold,hold_release,charge,refund,adjustment" doc:"What moved the money."`
	Bucket             string    `json:"bucket" enum:"wallet,monthly" doc:"Which purse it moved."`
	Status             string    `json:"status" enum:"pending,settled,voided" doc:"A hold is pending while its job runs."`
	AmountCents        int64     `json:"amount_cents" doc:"GBP pence; negative when the account pays."`
	BalanceBeforeCents int64     `json:"balance_before_cents" doc:"The bucket's balance before."`
	BalanceAfterCents  int64     `json:"balance_after_cents" doc:"The bucket's balance after; the same for a memo."`
	JobID              *string   `json:"job_id" nullable:"true" doc:"The job that it belongs to."`
	Description        string    `json:"description" doc:"Text for people."`
	CreatedAt          time.Time `json:"created_at" doc:"When it was written, RFC 3339 in UTC."`
}

// TransactionList is a page of the ledger.
type TransactionList struct {
	Transactions []Transaction `json:"transactions" doc:"Newest first."`
	NextCursor   *string       `json:"nextCursor" nullable:"true" doc:"Cursor of the next page; null on the last."`
}

// TierIDs lists the amounts that can be bought (doc/contract.md §2.8). Every price book has exactly these.
var TierIDs = []string{"topup-10", "topup-50", "topup-200", "topup-500"}

// TierID names an amount that can be bought. The document lists the ids; the service compares them, so that an unknown one is
// UNKNOWN_TIER and not any violation of the schema.
type TierID string

// Schema describes the id. Its enum stands where documents show it and the validator does not look.
func (TierID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Examples: []any{TierIDs[1]}, Extensions: map[string]any{"enum": TierIDs},
	}
}

// TopUpRequest is doc/contract.md §2.8.
type TopUpRequest struct {
	TierID     TierID `json:"tierId" doc:"What to buy. Price and bonus follow from it."`
	SuccessURL string `json:"successUrl,omitempty" format:"uri" minLength:"1" maxLength:"2048" doc:"Page of this service, or of an origin that it is configured with, where the browser goes after paying. Default: the dashboard with topup=success." example:"https://app.example.org/dashboard?topup=success"`
	CancelURL  string `json:"cancelUrl,omitempty" format:"uri" minLength:"1" maxLength:"2048" doc:"The same for a browser that turns back. Default: the dashboard with topup=cancelled." example:"https://app.example.org/dashboard?topup=cancelled"`
}

// TopUpResponse says where the payment is made.
type TopUpResponse struct {
	URL    string `json:"url" format:"uri" doc:"Hosted checkout to send the browser to." example:"https://checkout.stripe.com/c/pay/cs_test_a1"`
	TierID TierID `json:"tierId" doc:"The request's."`
}

// PaymentEventReceipt tells the provider that it need not send the event again.
type PaymentEventReceipt struct {
	Received bool `json:"received" doc:"Always true."`
}
