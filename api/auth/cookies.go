package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
)

const (
	// CookieName is the cookie of a browser session.
	CookieName = contract.SessionCookie
	// flowCookieName is the cookie of a sign-in that is at the identity provider.
	flowCookieName = "molfabric_oidc"
	// flowCookiePath keeps it from every other operation.
	flowCookiePath = "/api/v1/auth/oidc"
)

func sessionCookie(ctx context.Context, token string) http.Cookie {
	return cookie(ctx, CookieName, "/", token, sessionLife)
}

// sessionText is the session's cookie as a header has it.
func sessionText(ctx context.Context, token string) string {
	made := sessionCookie(ctx, token)
	return made.String()
}

func flowCookie(ctx context.Context, sealed string) http.Cookie {
	return cookie(ctx, flowCookieName, flowCookiePath, sealed, flowLife)
}

func endedCookie(ctx context.Context, name, path string) http.Cookie {
	ended := cookie(ctx, name, path, "", 0)
	ended.MaxAge = -1
	return ended
}

// cookie is one that no script reads, that no other site's form carries, and that leaves the browser over TLS alone when it
// came over TLS. Lax, not Strict: whoever follows a link to the service, or comes back from the identity provider, is signed in.
func cookie(ctx context.Context, name, path, value string, life time.Duration) http.Cookie {
	return http.Cookie{
		Name: name, Value: value, Path: path, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: access.OverTLS(ctx), SameSite: http.SameSiteLaxMode,
	}
}
