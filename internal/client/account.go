package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Account is who has signed in.
type Account struct {
	Document
	AccountID string    `json:"accountId"`
	Email     string    `json:"email"`
	Name      string    `json:"name"`
	Plan      string    `json:"plan"`
	CreatedAt time.Time `json:"createdAt"`
}

// SignUp opens an account and starts a session, in the place of an earlier one; a server that proves addresses first sends a mail
// instead, and Session is "" then. name may be empty. It is not repeated after a broken connection: the account
// may exist then, and SignIn tells.
func (c *Client) SignUp(ctx context.Context, email, password, name string) (Account, error) {
	body := map[string]string{"email": email, "password": password}
	if name != "" {
		body["name"] = name
	}
	c.session = ""
	return c.sign(ctx, "/v1/auth/sign-up", body, false)
}

// SignIn starts a session.
func (c *Client) SignIn(ctx context.Context, email, password string) (Account, error) {
	return c.sign(ctx, "/v1/auth/sign-in", map[string]string{"email": email, "password": password}, true)
}

func (c *Client) sign(ctx context.Context, path string, body map[string]string, idempotent bool) (Account, error) {
	var account Account
	err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, sessionOnly: true, idempotent: idempotent, into: &account})
	return account, err
}

// SignOut ends the session.
func (c *Client) SignOut(ctx context.Context) error {
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/auth/sign-out", sessionOnly: true, idempotent: true})
	if err == nil {
		c.session = ""
	}
	return err
}

// Scopes of an API key that the client's own operations need.
var Scopes = []string{"jobs:read", "jobs:write", "credits:read", "projects:read", "projects:write"}

// NewKey is a key to make.
type NewKey struct {
	Name        string   `json:"name"`
	Environment string   `json:"environment"` // live or test
	Scopes      []string `json:"scopes"`
	// ExpiresAt is when the key stops by itself, at most five years from now; nil for never.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// Key is a key as its owner sees it.
type Key struct {
	Document
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Environment string     `json:"environment"`
	Scopes      []string   `json:"scopes"`
	Prefix      string     `json:"prefix"`
	Last4       string     `json:"last4"`
	CreatedAt   time.Time  `json:"createdAt"`
	LastUsedAt  *time.Time `json:"lastUsedAt"`
	ExpiresAt   *time.Time `json:"expiresAt"`
	RevokedAt   *time.Time `json:"revokedAt"`
	Secret      string     `json:"key"` // set in CreateKey's answer alone
}

// Keys is every key of an account, newest first.
type Keys struct {
	Document
	Keys []Key `json:"keys"`
}

// Revocation says when a key was revoked.
type Revocation struct {
	Document
	ID        string    `json:"id"`
	RevokedAt time.Time `json:"revokedAt"`
}

// CreateKey makes an API key. It needs a session, and is not repeated after a broken connection.
func (c *Client) CreateKey(ctx context.Context, key NewKey) (Key, error) {
	var created Key
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/keys", body: key, sessionOnly: true, into: &created})
	return created, err
}

// ListKeys lists the account's API keys. It needs a session.
func (c *Client) ListKeys(ctx context.Context) (Keys, error) {
	var keys Keys
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/keys", sessionOnly: true, into: &keys})
	return keys, err
}

// RevokeKey stops an API key; again is harmless. It needs a session.
func (c *Client) RevokeKey(ctx context.Context, keyID string) (Revocation, error) {
	var revocation Revocation
	err := c.do(ctx, call{
		method: http.MethodDelete, path: "/v1/keys/" + url.PathEscape(keyID), sessionOnly: true, idempotent: true, into: &revocation,
	})
	return revocation, err
}

// Balance is an account's credit in GBP pence.
type Balance struct {
	Document
	WalletCents           int64      `json:"wallet_cents"`
	WalletHeldCents       int64      `json:"wallet_held_cents"`
	WalletAvailableCents  int64      `json:"wallet_available_cents"`
	MonthlyCents          int64      `json:"monthly_cents"`
	MonthlyHeldCents      int64      `json:"monthly_held_cents"`
	MonthlyAvailableCents int64      `json:"monthly_available_cents"`
	MonthlyResetAt        *time.Time `json:"monthly_reset_at"`
	TotalCreditedCents    int64      `json:"total_credited_cents"`
	HeldCents             int64      `json:"held_cents"`
	AvailableCents        int64      `json:"available_cents"`
	AvailableDisplay      string     `json:"available_display"`
}

// Transaction is one line of the ledger, in GBP pence.
type Transaction struct {
	ID                 string    `json:"id"`
	Type               string    `json:"type"`
	Bucket             string    `json:"bucket"`
	Status             string    `json:"status"`
	AmountCents        int64     `json:"amount_cents"`
	BalanceBeforeCents int64     `json:"balance_before_cents"`
	BalanceAfterCents  int64     `json:"balance_after_cents"`
	JobID              *string   `json:"job_id"`
	Description        string    `json:"description"`
	CreatedAt          time.Time `json:"created_at"`
}

// Transactions is a page of the ledger, newest first.
type Transactions struct {
	Document
	Transactions []Transaction `json:"transactions"`
	NextCursor   *string       `json:"nextCursor"`
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
func (c *Client) Balance(ctx context.Context) (Balance, error) {
	var balance Balance
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/credits/balance", into: &balance})
	return balance, err
}

// Transactions reads a page of the ledger; jobID may be empty.
func (c *Client) Transactions(ctx context.Context, page Page, jobID string) (Transactions, error) {
	var transactions Transactions
	query := page.query()
	if jobID != "" {
		query.Set("job_id", jobID)
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/credits/transactions", query: query, into: &transactions})
	return transactions, err
}

// Checkout is where a payment is made.
type Checkout struct {
	Document
	URL    string `json:"url"` // a page of the payment provider, for a browser
	TierID string `json:"tierId"`
}

// TopUp opens a checkout for one of Pricing's tiers; nothing is paid by that alone. It needs a session, and is not repeated
// after a broken connection.
func (c *Client) TopUp(ctx context.Context, tierID string) (Checkout, error) {
	var checkout Checkout
	body := map[string]string{"tierId": tierID}
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/credits/topup", body: body, sessionOnly: true, into: &checkout})
	return checkout, err
}
