package keys

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

var tags = []string{"API keys"}

// Register adds the group's operations. All need a browser session: a key cannot make or revoke keys.
func Register(api huma.API, s *Service) {
	rule := access.Rule{SessionOnly: true}
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/v1/keys", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Create an API key", Description: "The answer holds the key, once.",
	}, rule), func(ctx context.Context, in *createInput) (*createOutput, error) {
		created, err := s.Create(ctx, access.From(ctx).AccountID, in.Body)
		if err != nil {
			return nil, err
		}
		return &createOutput{Body: created}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/v1/keys", Tags: tags,
		Summary: "List API keys", Description: "Every key of the account, revoked ones included, without the keys themselves.",
	}, rule), func(ctx context.Context, _ *struct{}) (*listOutput, error) {
		found, err := s.List(ctx, access.From(ctx).AccountID)
		if err != nil {
			return nil, err
		}
		return &listOutput{Body: contract.KeyList{Keys: found}}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: "/v1/keys/{id}", Tags: tags, DefaultStatus: http.StatusOK,
		Summary: "Revoke an API key", Description: "The key stops at once on this instance and within two seconds on every " +
			"other. It may be repeated.",
	}, rule), func(ctx context.Context, in *revokeInput) (*revokeOutput, error) {
		revocation, err := s.Revoke(ctx, access.From(ctx).AccountID, in.ID)
		if err != nil {
			return nil, err
		}
		return &revokeOutput{Body: revocation}, nil
	})
}
