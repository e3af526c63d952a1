package auth

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// linkLife is how long a sign-in link is good: whoever has it is taken for the account's owner, so that it is for another
	// window and not for a mail.
	linkLife = 15 * time.Minute
	// maxLinks bounds the links of a session that are good at once; a further one ends the oldest.
	maxLinks = 5
	// linkPage is the app's page that uses a link.
	linkPage = "/enter"
)

// errNoSignInLink is of links that were never given out, were used, are too old, and whose session has ended alike.
var errNoSignInLink = fault.New(fault.NotFound, "token: this link is not good any more: it works once, within %d minutes, and "+
	"ends with the session that made it. Sign in, or make another", int(linkLife/time.Minute))

// MakeLink returns a link that signs a browser in as the session's account, once. Its token stands behind the #, which browsers
// send to nobody. Errors: fault.Validation for a page of elsewhere; *throttle.Exceeded.
func (s *Service) MakeLink(
	ctx context.Context, accountID, sessionToken string, in contract.SignInLinkRequest,
) (contract.SignInLink, error) {
	next, err := localPath(in.Next)
	if err != nil {
		return contract.SignInLink{}, fault.New(fault.Validation, "next: must be a path of this service, like /studio")
	}
	if verdict := s.Limiter.Take(ctx, "sign-in-link:"+accountID, s.SignInLimit); !verdict.Allowed {
		return contract.SignInLink{}, verdict.Exceeded("too many sign-in links")
	}
	token, expires := newToken(), s.now().Add(linkLife)
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		return insertLink(ctx, tx, accountID, digest(token), digest(sessionToken), s.now(), expires)
	})
	query := url.Values{"token": {token}, "next": {next}}
	return contract.SignInLink{URL: strings.TrimSuffix(s.PublicURL, "/") + linkPage + "#" + query.Encode(), ExpiresAt: expires}, err
}

// UseLink starts a session by a link. Errors: fault.NotFound for a link that is not good; fault.Unauthorized for a locked account;
// *throttle.Exceeded.
func (s *Service) UseLink(ctx context.Context, in contract.SignInLinkUse) (account contract.Account, token string, err error) {
	if verdict := s.Limiter.Take(ctx, "sign-in:"+access.Address(ctx), s.WideLimit); !verdict.Allowed {
		return account, "", verdict.Exceeded("too many attempts to sign in")
	}
	token = newToken()
	ctx = tenant.Everyone(ctx, "the link tells the account")
	err = postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		accountID, err := takeLink(ctx, tx, digest(in.Token), s.now())
		if errors.Is(err, sql.ErrNoRows) {
			return errNoSignInLink
		}
		if err != nil {
			return err
		}
		found, err := selectByID(ctx, tx, accountID)
		if err != nil {
			return err
		}
		account = found.Account
		return s.startSession(ctx, tx, accountID, token, "by a link")
	})
	return account, token, err
}
