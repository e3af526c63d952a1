package auth

import (
	"context"
	"net/http"
)

// SessionCookie is the cookie that the sign-in page signs a browser in with.
func SessionCookie(ctx context.Context, token string) http.Cookie { return sessionCookie(ctx, token) }

// LocalPath accepts the path of a page of this service, with its query, and nothing that a browser could take for another site.
// Errors: fault.Validation.
func LocalPath(next string) (string, error) { return localPath(next) }
