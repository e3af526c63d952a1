// Package tenant says whose rows a statement may see: one account's, everyone's, or nobody's. The answer travels in the context.
// internal/postgres tells it to the server with every statement, and the server's row-level security holds the statement to it; a
// statement whose context has no answer is refused. It knows no store and decides nothing.
package tenant

import "context"

// Scope is whose rows are seen. The zero Scope is nobody's: shared tables alone.
type Scope struct {
	account  string
	everyone bool
}

// Account is the account whose rows are seen; "" when it is everyone or nobody.
func (s Scope) Account() string { return s.account }

// Everyone tells whether the rows of all accounts are seen.
func (s Scope) Everyone() bool { return s.everyone }

// String names the scope in errors.
func (s Scope) String() string {
	switch {
	case s.everyone:
		return "everyone"
	case s.account == "":
		return "nobody"
	default:
		return "account " + s.account
	}
}

type contextKey struct{}

// With returns a context whose statements see the rows of one account. No account, "", is Nobody.
func With(ctx context.Context, accountID string) context.Context {
	return in(ctx, Scope{account: accountID})
}

// Nobody returns a context whose statements see what belongs to no account.
func Nobody(ctx context.Context) context.Context { return in(ctx, Scope{}) }

// Everyone returns a context whose statements see the rows of all accounts. why is for whoever reads the call: what is done here
// cannot be done for one account. The calls are counted by a test of internal/arch.
func Everyone(ctx context.Context, why string) context.Context {
	if why == "" {
		panic("tenant: everyone's rows are seen for a reason")
	}
	return in(ctx, Scope{everyone: true})
}

func in(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns whose rows the context's statements see; said is false when nobody has told.
func From(ctx context.Context) (s Scope, said bool) {
	s, said = ctx.Value(contextKey{}).(Scope)
	return s, said
}
