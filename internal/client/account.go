package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/molfabric/molfabric/internal/contract"
)

// SignUp opens an account and starts a session, in the place of an earlier one; a server that proves addresses first sends a mail
// instead, and Session is "" then. name may be empty. It is not repeated after a broken connection: the account
// may exist then, and SignIn tells.
func (c *Client) SignUp(ctx context.Context, email, password, name string) (Answer[contract.Account], error) {
	c.session = ""
	return ask[contract.Account](ctx, c, call{
		method: http.MethodPost, path: "/v1/auth/sign-up", sessionOnly: true,
		body: contract.SignUpRequest{Email: email, Password: password, Name: name},
	})
}

// SignIn starts a session.
func (c *Client) SignIn(ctx context.Context, email, password string) (Answer[contract.Account], error) {
	return ask[contract.Account](ctx, c, call{
		method: http.MethodPost, path: "/v1/auth/sign-in", sessionOnly: true, idempotent: true,
		body: contract.SignInRequest{Email: email, Password: password},
	})
}

// SignOut ends the session.
func (c *Client) SignOut(ctx context.Context) error {
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/auth/sign-out", sessionOnly: true, idempotent: true})
	if err == nil {
		c.session = ""
	}
	return err
}

// CloseAccount closes the account of the session for good and gives up its credit, which must be exactly so many pence. It is not
// repeated after a broken connection: the session would be none any more, and SignIn tells.
func (c *Client) CloseAccount(
	ctx context.Context, password string, forfeitPence int64,
) (Answer[contract.AccountClosed], error) {
	closed, err := ask[contract.AccountClosed](ctx, c, call{
		method: http.MethodPost, path: "/v1/account/close", sessionOnly: true,
		body: contract.AccountClosing{Password: password, ForfeitCreditPence: forfeitPence},
	})
	if err == nil {
		c.session = ""
	}
	return closed, err
}

// CreateKey makes an API key. It needs a session, and is not repeated after a broken connection.
func (c *Client) CreateKey(ctx context.Context, key contract.CreateRequest) (Answer[contract.CreatedKey], error) {
	return ask[contract.CreatedKey](ctx, c, call{method: http.MethodPost, path: "/v1/keys", body: key, sessionOnly: true})
}

// MakeSignInLink makes a link that signs a browser in, once, and leads to a page of the service. It needs a session.
func (c *Client) MakeSignInLink(ctx context.Context, next string) (Answer[contract.SignInLink], error) {
	return ask[contract.SignInLink](ctx, c, call{method: http.MethodPost, path: "/v1/auth/sign-in-links",
		body: contract.SignInLinkRequest{Next: next}, sessionOnly: true})
}

// ListKeys lists the account's API keys. It needs a session.
func (c *Client) ListKeys(ctx context.Context) (Answer[contract.KeyList], error) {
	return ask[contract.KeyList](ctx, c, call{method: http.MethodGet, path: "/v1/keys", sessionOnly: true})
}

// RevokeKey stops an API key; again is harmless. It needs a session.
func (c *Client) RevokeKey(ctx context.Context, keyID string) (Answer[contract.Revocation], error) {
	return ask[contract.Revocation](ctx, c, call{
		method: http.MethodDelete, path: "/v1/keys/" + url.PathEscape(keyID), sessionOnly: true, idempotent: true,
	})
}

// Page asks for a part of a list. Zero values mean the server's default and the first page.
type Page struct {
	Limit  int
	Cursor string
}

func (p Page) query() url.Values {
	query := url.Values{}
	if p.Limit > 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Cursor != "" {
		query.Set("cursor", p.Cursor)
	}
	return query
}

// Balance reads the account's credit.
func (c *Client) Balance(ctx context.Context) (Answer[contract.Balance], error) {
	return ask[contract.Balance](ctx, c, call{method: http.MethodGet, path: "/v1/credits/balance"})
}

// Transactions reads a page of the ledger; jobID may be empty.
func (c *Client) Transactions(ctx context.Context, page Page, jobID string) (Answer[contract.TransactionList], error) {
	query := page.query()
	if jobID != "" {
		query.Set("job_id", jobID)
	}
	return ask[contract.TransactionList](ctx, c, call{method: http.MethodGet, path: "/v1/credits/transactions", query: query})
}

// TopUp opens a checkout for one of Pricing's tiers; nothing is paid by that alone. It needs a session, and is not repeated
// after a broken connection.
func (c *Client) TopUp(ctx context.Context, tierID string) (Answer[contract.TopUpResponse], error) {
	return ask[contract.TopUpResponse](ctx, c, call{
		method: http.MethodPost, path: "/v1/credits/topup", sessionOnly: true,
		body: contract.TopUpRequest{TierID: contract.TierID(tierID)},
	})
}
