package jobs

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	receiptText = "A signed statement of what a job that has ended was given, made and cost: a DSSE envelope with an in-toto " +
		"Statement, signed with Ed25519. Its subject is the job's files with their SHA-256; it has the parameters, inputs, " +
		"programs, every task with what it used, the lines of the ledger, and a Merkle root over all of it. It is the same at " +
		"every call until the job is retried. `molfabric verify` checks it without asking anybody. 409 JOB_NOT_ENDED before the " +
		"job's end; 413 for a job with more than 200,000 files."
	receiptKeysText = "The public keys that receipts are signed with: the one that signs now first, then all that have ever " +
		"signed. Keep them where you check receipts."

	// cacheReceiptKeys is what may be kept of the keys: a new one comes with the rotation of a secret.
	cacheReceiptKeys = "public, max-age=300"
)

func receiptOperation() huma.Operation {
	op := fromFiles("get-job-receipt", "/v1/jobs/{id}/receipt", "Read a job's receipt", receiptText)
	op.Errors = append(op.Errors, http.StatusConflict, http.StatusRequestEntityTooLarge)
	return op
}

func receiptKeysOperation() huma.Operation {
	return access.Guarded(huma.Operation{
		OperationID: "list-receipt-keys", Method: http.MethodGet, Path: "/v1/receipts/keys", Summary: "List the keys of receipts",
		Description: receiptKeysText, Tags: []string{"Public"},
	}, access.Rule{Public: true})
}

type receiptInput struct {
	ID string `path:"id" doc:"Id of the job."`
}

type receiptOutput struct{ Body contract.Receipt }

func (s *Service) receipt(ctx context.Context, in *receiptInput) (*receiptOutput, error) {
	made, err := s.Receipt(ctx, access.From(ctx).AccountID, in.ID)
	if err != nil {
		return nil, err
	}
	return &receiptOutput{Body: made}, nil
}

type receiptKeysOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         contract.ReceiptKeyList
}

func (s *Service) receiptKeys(ctx context.Context, _ *struct{}) (*receiptKeysOutput, error) {
	keys, err := s.ReceiptKeys(ctx)
	if err != nil {
		return nil, err
	}
	return &receiptKeysOutput{CacheControl: cacheReceiptKeys, Body: keys}, nil
}
