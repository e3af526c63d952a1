package settings_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/secret/resting"
)

// TestReseal: what was sealed under an earlier secret is sealed under the new one, once, and what nobody can open is told and kept.
func TestReseal(t *testing.T) {
	t.Parallel()
	h := open(t)
	ada := h.signUp()
	const text = "hunter2-hunter2"
	made := want[contract.LicenseServer](ada, 201, "POST", serversPath, server("secret", text))
	lost := want[contract.LicenseServer](ada, 201, "POST", serversPath, server("secret", text, "name", "lost"))
	bare := want[contract.LicenseServer](ada, 201, "POST", serversPath, server("name", "bare", "secret", ""))
	if _, err := h.DB.Exec(`UPDATE license_servers SET secret_sealed = secret_sealed || '\x00' WHERE id = $1`,
		lost.ID); err != nil {
		t.Fatal(err)
	}
	earlier, next := h.Deps.Config.KeySecrets.Sealing(), bytes.Repeat([]byte("n"), secret.MinBytes)
	ring, err := secret.NewRing(next, earlier)
	if err != nil {
		t.Fatal(err)
	}
	resealed := func(ring secret.Ring, want resting.Resealed) {
		t.Helper()
		if got, err := resting.Reseal(t.Context(), h.DB, ring); err != nil || got != want {
			t.Errorf("resealed %+v, %v; want %+v", got, err, want)
		}
	}
	counted := func(want resting.Rest) {
		t.Helper()
		rests, err := resting.Count(t.Context(), h.DB, ring, time.Now())
		if err != nil || rests[1] != want {
			t.Errorf("counted %+v, %v; want %+v", rests, err, want)
		}
	}
	resealed(secret.One(next), resting.Resealed{Lost: 2})
	if got := h.unsealed(made.ID, earlier); got != text {
		t.Errorf("what cannot be opened became %q", got)
	}
	counted(resting.Rest{Kind: resting.Licences, Earlier: 2, Lately: 2})
	resealed(ring, resting.Resealed{Sealed: 1, Lost: 1})
	counted(resting.Rest{Kind: resting.Licences, Sealing: 1, Earlier: 1, Lately: 1})
	if got := h.unsealed(made.ID, next); got != text {
		t.Errorf("sealed anew it opens as %q", got)
	}
	if got := h.unsealed(made.ID, earlier); got != "" {
		t.Errorf("the earlier secret still opens it: %q", got)
	}
	resealed(ring, resting.Resealed{Lost: 1})
	want[contract.LicenseServer](ada, 200, "PUT", serversPath+"/"+lost.ID, server("name", "lost", "secret", "", "seats", 7))
	counted(resting.Rest{Kind: resting.Licences, Sealing: 1})
	want[contract.LicenseServer](ada, 200, "GET", serversPath+"/"+bare.ID, "")
}
