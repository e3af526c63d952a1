package credits

import (
	"time"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
)

type topUpInput struct{ Body contract.TopUpRequest }

type topUpOutput struct{ Body contract.TopUpResponse }

type eventInput struct {
	Signature string `header:"Stripe-Signature" required:"true" maxLength:"2048" doc:"Time and HMAC-SHA256 of the body under the webhook's secret." example:"t=1760000000,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd"`
	RawBody   []byte `contentType:"application/json"`
}

type eventOutput struct{ Body contract.PaymentEventReceipt }

type balanceOutput struct{ Body contract.Balance }

type transactionsInput struct {
	list.Query
	Type  string    `query:"type" enum:"top_up,bonus,monthly_grant,monthly_expiry,hold,hold_release,charge,refund,adjustment" doc:"Only entries of this type."`
	JobID string    `query:"job_id" maxLength:"64" doc:"Only entries of this job."`
	From  time.Time `query:"from" doc:"Only entries written at this time or later, RFC 3339; not after to."`
	To    time.Time `query:"to" doc:"Only entries written before this time, RFC 3339."`
}

type transactionsOutput struct{ Body contract.TransactionList }

func (in *transactionsInput) filter() billing.Filter {
	return billing.Filter{
		Limit: in.Limit, Cursor: in.Cursor, Type: billing.EntryType(in.Type), JobID: in.JobID,
		From: in.From.UTC(), To: in.To.UTC(), // Postgres knows fewer zones than RFC 3339
	}
}

func balanceOf(b billing.Balance) contract.Balance {
	out := contract.Balance{
		WalletCents: b.WalletPence, WalletHeldCents: b.WalletHeldPence, WalletAvailableCents: b.WalletAvailablePence,
		MonthlyCents: b.MonthlyPence, MonthlyHeldCents: b.MonthlyHeldPence, MonthlyAvailableCents: b.MonthlyAvailablePence,
		TotalCreditedCents: b.TotalCreditedPence, HeldCents: b.HeldPence, AvailableCents: b.AvailablePence,
		AvailableDisplay: b.AvailableDisplay,
	}
	if !b.MonthlyResetAt.IsZero() {
		out.MonthlyResetAt = &b.MonthlyResetAt
	}
	return out
}

func pageOf(p billing.Page) contract.TransactionList {
	out := contract.TransactionList{Transactions: make([]contract.Transaction, len(p.Entries)), NextCursor: p.NextCursor}
	for i, e := range p.Entries {
		out.Transactions[i] = contract.Transaction{
			ID: e.ID, Type: string(e.Type), Bucket: string(e.Bucket), Status: string(e.Status), AmountCents: e.AmountPence,
			BalanceBeforeCents: e.BalanceBeforePence, BalanceAfterCents: e.BalanceAfterPence, JobID: e.JobID,
			Description: e.Description, CreatedAt: e.CreatedAt,
		}
	}
	return out
}
