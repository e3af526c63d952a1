package tenant_test

import (
	"context"
	"testing"

	"github.com/molfabric/molfabric/internal/tenant"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if scope, said := tenant.From(ctx); said {
		t.Errorf("an empty context says %v", scope)
	}
	for _, c := range []struct {
		ctx      context.Context //nolint:containedctx // a table of contexts
		want     string
		account  string
		everyone bool
	}{
		{tenant.With(ctx, "acct_a"), "account acct_a", "acct_a", false},
		{tenant.With(ctx, ""), "nobody", "", false},
		{tenant.Nobody(ctx), "nobody", "", false},
		{tenant.Everyone(ctx, "a test"), "everyone", "", true},
		{tenant.With(tenant.Everyone(ctx, "a test"), "acct_a"), "account acct_a", "acct_a", false},
		{tenant.Nobody(tenant.With(ctx, "acct_a")), "nobody", "", false},
	} {
		scope, said := tenant.From(c.ctx)
		if !said || scope.String() != c.want || scope.Account() != c.account || scope.Everyone() != c.everyone {
			t.Errorf("From = %v (account %q, everyone %v), %v; want %s", scope, scope.Account(), scope.Everyone(), said, c.want)
		}
	}
}

func TestEveryoneHasAReason(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("everyone's rows are seen without a reason")
		}
	}()
	_ = tenant.Everyone(t.Context(), "")
}
