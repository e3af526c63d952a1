package auth

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
)

var tags = []string{"Sign-in"}

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "sign-up", Method: http.MethodPost, Path: "/v1/auth/sign-up", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary:     "Open an account",
		Description: "Opens an account with its credit and signs this browser in. An address that has an account already is refused.",
	}, access.Rule{Public: true}), func(ctx context.Context, in *signUpInput) (*accountOutput, error) {
		account, token, err := s.SignUp(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		return &accountOutput{SetCookie: s.cookie(token), Body: account}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "sign-in", Method: http.MethodPost, Path: "/v1/auth/sign-in", Tags: tags, Errors: []int{http.StatusUnauthorized},
		Summary: "Start a browser session", Description: "Sets the session's cookie. The session lasts 30 days.",
	}, access.Rule{Public: true}), func(ctx context.Context, in *signInInput) (*accountOutput, error) {
		account, token, err := s.SignIn(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		return &accountOutput{SetCookie: s.cookie(token), Body: account}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "sign-out", Method: http.MethodPost, Path: "/v1/auth/sign-out", Tags: tags,
		Summary: "End the browser session", Description: "The session's cookie is worth nothing afterwards.",
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, in *signOutInput) (*signOutOutput, error) {
		if err := s.SignOut(ctx, in.Session.Value); err != nil {
			return nil, err
		}
		return &signOutOutput{SetCookie: s.endedCookie()}, nil
	})
}
