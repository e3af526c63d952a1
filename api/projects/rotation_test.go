package projects_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/secret/resting"
	"github.com/molfabric/molfabric/internal/tenant"
)

// TestLinksOutliveARotation: a link opens for as long as its secret is one of the deployment's, and its owner is shown the new one.
func TestLinksOutliveARotation(t *testing.T) {
	t.Parallel()
	d := open(t, projects.Quota{})
	c := d.account()
	p := c.create("{}")
	share := decoded[contract.ProjectShareAnswer](t, c.do("POST", base+"/"+p.ProjectID+"/shares", `{"expectedVersion":1}`))
	next := bytes.Repeat([]byte("n"), secret.MinBytes)
	both, err := secret.NewRing(next, d.Deps.Config.KeySecrets.Sealing())
	if err != nil {
		t.Fatal(err)
	}
	under := func(ring secret.Ring) *projects.Service {
		return projects.New(projects.Deps{DB: d.Deps.DB, Secrets: ring, Log: d.Deps.Log, Now: d.Deps.Now})
	}
	if _, err := under(both).Shared(t.Context(), share.Token); err != nil {
		t.Errorf("an earlier link in the overlap: %v", err)
	}
	if _, err := under(secret.One(next)).Shared(t.Context(), share.Token); !fault.Is(err, fault.NotFound) {
		t.Errorf("an earlier link after it: %v", err)
	}
	shown, err := under(both).Read(tenant.With(t.Context(), c.AccountID), c.AccountID, p.ProjectID)
	if err != nil || shown.Share.Token == share.Token {
		t.Fatalf("the owner is shown %+v, %v; want a link of the new secret", shown.Share, err)
	}
	if _, err := under(secret.One(next)).Shared(t.Context(), shown.Share.Token); err != nil {
		t.Errorf("the new link after the overlap: %v", err)
	}
	rests, err := resting.Count(t.Context(), d.DB, both, time.Now())
	if want := (resting.Rest{Kind: resting.Shares, Earlier: 1, Lately: 1}); err != nil || rests[2] != want {
		t.Errorf("counted %+v, %v; want %+v", rests, err, want)
	}
}
