package auth

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
)

const signUpText = "Opens an account and signs this browser in. An address that has an account already is refused. The free " +
	"credit comes when the " +
	"address is proved, by the link in a mail, or at once where the deployment trusts the caller's network.\n\n" +
	"A deployment may prove addresses first. The answer is then the same for every address, with or without an account, and sets " +
	"no cookie: " +
	"follow the link in the mail, then sign in. 404 where no account can be opened with a password."

var tags = []string{"Sign-in"}

// Register adds the group's operations.
func Register(api huma.API, s *Service) {
	registerPasswords(api, s)
	registerProofs(api, s)
	registerSessions(api, s)
	registerLinks(api, s)
	registerProvider(api, s)
	registerClosing(api, s)
}

const closeText = "Closes the account of this session for good, at once: its sessions, keys, identities and shares end, and its " +
	"files, results, projects and settings " +
	"are deleted within minutes. Its bills, its ledger and how much its jobs used are kept, as bookkeeping asks, under the " +
	"account's id and without name and address.\n\n" +
	"It takes the account's password, or a session younger than ten minutes where it has none. 409 JOB_NOT_ENDED while a job " +
	"runs: cancel it first. " +
	"409 CREDIT_NOT_CONFIRMED tells what credit is left; forfeitCreditPence with this amount gives it up. " +
	"The address may open another account, which gets no free credit if this one had it."

func registerClosing(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "close-account", Method: http.MethodPost, Path: "/v1/account/close", Tags: tags,
		Errors:  []int{http.StatusConflict},
		Summary: "Close the account", Description: closeText,
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, in *closeInput) (*closeOutput, error) {
		closed, err := s.Close(ctx, access.From(ctx).AccountID, in.Session.Value, in.Body)
		if err != nil {
			return nil, err
		}
		return &closeOutput{SetCookie: endedCookie(ctx, CookieName, "/"), Body: closed}, nil
	})
}

func registerPasswords(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "sign-up", Method: http.MethodPost, Path: "/v1/auth/sign-up", Tags: tags, DefaultStatus: http.StatusCreated,
		Errors:      []int{http.StatusForbidden, http.StatusNotFound},
		Summary:     "Open an account",
		Description: signUpText,
	}, access.Rule{Public: true}), func(ctx context.Context, in *signUpInput) (*accountOutput, error) {
		account, token, err := s.SignUp(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		if token == "" {
			return &accountOutput{Body: account}, nil
		}
		return &accountOutput{SetCookie: sessionText(ctx, token), Body: account}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "sign-in", Method: http.MethodPost, Path: "/v1/auth/sign-in", Tags: tags,
		Errors:  []int{http.StatusUnauthorized, http.StatusForbidden},
		Summary: "Start a browser session", Description: "Sets the session's cookie. The session lasts 30 days.",
	}, access.Rule{Public: true}), func(ctx context.Context, in *signInInput) (*accountOutput, error) {
		account, token, err := s.SignIn(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		return &accountOutput{SetCookie: sessionText(ctx, token), Body: account}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "change-password", Method: http.MethodPost, Path: "/v1/auth/password", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Summary:       "Change the password",
		Description:   "Ends every other session of the account. API keys stay: revoke those that may have been seen.",
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, in *passwordInput) (*struct{}, error) {
		return nil, s.ChangePassword(ctx, access.From(ctx).AccountID, in.Session.Value, in.Body)
	})
}

func registerProofs(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "verify-email", Method: http.MethodPost, Path: "/v1/auth/verify-email", Tags: tags,
		Errors:  []int{http.StatusForbidden, http.StatusNotFound},
		Summary: "Prove an address",
		Description: "Takes the token of a link that was sent to the address. The account gets its free credit, once. It begins " +
			"no session.",
	}, access.Rule{Public: true}), func(ctx context.Context, in *proofInput) (*proofOutput, error) {
		account, err := s.Prove(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		return &proofOutput{Body: account}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "send-verification", Method: http.MethodPost, Path: "/v1/auth/verification", Tags: tags,
		DefaultStatus: http.StatusNoContent,
		Errors:        []int{http.StatusNotFound},
		Summary:       "Send the link that proves the address again",
		Description:   "Sends a link to the address of the account, at most five an hour. 404 where the deployment sends no mail.",
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		return nil, s.SendProof(ctx, access.From(ctx).AccountID)
	})
}

func registerSessions(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/v1/auth/session", Tags: tags,
		Summary: "Read the browser session", Description: "Who has signed in, and for how long.",
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, in *sessionInput) (*sessionOutput, error) {
		session, err := s.Session(ctx, in.Session.Value)
		if err != nil {
			return nil, err
		}
		return &sessionOutput{Body: session}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "sign-out", Method: http.MethodPost, Path: "/v1/auth/sign-out", Tags: tags,
		Summary: "End the browser session", Description: "The session's cookie is worth nothing afterwards.",
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, in *sessionInput) (*signOutOutput, error) {
		if err := s.SignOut(ctx, in.Session.Value); err != nil {
			return nil, err
		}
		return &signOutOutput{SetCookie: endedCookie(ctx, CookieName, "/")}, nil
	})
}

func registerLinks(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "make-sign-in-link", Method: http.MethodPost, Path: "/v1/auth/sign-in-links", Tags: tags,
		DefaultStatus: http.StatusCreated,
		Summary:       "Make a link that signs in once",
		Description: "The link opens a page of the web app and signs that browser in as the account of this session. It is good " +
			"for 15 minutes and for one use, and ends with this session. Five of a session are good at once.",
	}, access.Rule{SessionOnly: true}), func(ctx context.Context, in *linkInput) (*linkOutput, error) {
		link, err := s.MakeLink(ctx, access.From(ctx).AccountID, in.Session.Value, in.Body)
		if err != nil {
			return nil, err
		}
		return &linkOutput{Body: link}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "use-sign-in-link", Method: http.MethodPost, Path: "/v1/auth/sign-in-links/use", Tags: tags,
		Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
		Summary: "Start a browser session by a link", Description: "Sets the session's cookie, as a sign-in does.",
	}, access.Rule{Public: true}), func(ctx context.Context, in *linkUseInput) (*accountOutput, error) {
		account, token, err := s.UseLink(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		return &accountOutput{SetCookie: sessionText(ctx, token), Body: account}, nil
	})
}

func registerProvider(api huma.API, s *Service) {
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "start-oidc", Method: http.MethodGet, Path: startPath, Tags: tags, DefaultStatus: http.StatusFound,
		Errors:  []int{http.StatusNotFound},
		Summary: "Sign in with the identity provider",
		Description: "Sends the browser to the deployment's OpenID Connect provider. 404 when there is none. A browser that is " +
			"signed in already " +
			"binds the identity to its account, when the provider vouches for the account's address.",
	}, access.Rule{Public: true}), func(ctx context.Context, in *startInput) (*startOutput, error) {
		address, flow, err := s.StartOIDC(ctx, in.Next)
		if err != nil {
			return nil, err
		}
		return &startOutput{Location: address, Flow: flowCookie(ctx, flow)}, nil
	})
	huma.Register(api, access.Guarded(huma.Operation{
		OperationID: "finish-oidc", Method: http.MethodGet, Path: callbackPath, Tags: tags, DefaultStatus: http.StatusFound,
		Errors:  []int{http.StatusUnauthorized, http.StatusNotFound},
		Summary: "Come back from the identity provider",
		Description: "The provider sends the browser here. Starts a session for the account of the identity, opening one at the " +
			"first time, " +
			"and goes to the page that was asked for.",
		SkipValidateParams: true, // providers add parameters of their own
	}, access.Rule{Public: true}), func(ctx context.Context, in *callbackInput) (*callbackOutput, error) {
		next, token, err := s.FinishOIDC(ctx, callback{
			state: in.State, code: in.Code, refusal: in.Error, flow: in.Flow.Value, session: in.Session.Value,
		})
		if err != nil {
			return nil, err
		}
		return &callbackOutput{Location: next, Session: sessionCookie(ctx, token),
			Flow: endedCookie(ctx, flowCookieName, flowCookiePath)}, nil
	})
}
