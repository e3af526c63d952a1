package databases_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/databases"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/sequences"
	"github.com/molfabric/molfabric/internal/tenant"
)

// open starts a front door with the group alone; whoever calls it shows no credential.
func open(t *testing.T) (*apitest.Door, *sequences.Registry) {
	t.Helper()
	var registry *sequences.Registry
	door := apitest.Open(t, func(deps *api.Deps) {
		registry = sequences.New(sequences.Deps{DB: deps.DB, Log: slog.New(slog.DiscardHandler), Now: time.Now})
		deps.Groups = []func(huma.API){func(a huma.API) { databases.Register(a, registry) }}
	})
	return door, registry
}

func list(t *testing.T, caller *apitest.Caller, query string) []contract.SequenceDatabase {
	t.Helper()
	got := caller.Send("GET", "/api/v1/molecular/blast/databases"+query, "")
	if got.StatusCode != http.StatusOK || got.Header.Get("Cache-Control") != "private, max-age=60" {
		t.Fatalf("%q: got %d %v %s", query, got.StatusCode, got.Header, got.Text)
	}
	var answer contract.DatabaseList
	decoder := json.NewDecoder(strings.NewReader(got.Text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&answer); err != nil || answer.Databases == nil {
		t.Fatalf("%s: %v", got.Text, err)
	}
	return answer.Databases
}

func TestUsersReadTheList(t *testing.T) {
	t.Parallel()
	door, registry := open(t)
	if got := door.Anonymous().Send("GET", "/api/v1/molecular/blast/databases", ""); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a credential: got %d %s", got.StatusCode, got.Text)
	}
	caller := door.SignUp()
	if got := list(t, caller, ""); len(got) != 0 {
		t.Errorf("got %+v of a new deployment", got)
	}
	for _, words := range []string{"swissprot 2025_04 2025-10-15 prot a", "swissprot 2026_01 2026-01-28 prot b",
		"refseq 230 2026-02-01 nucl c"} {
		w := strings.Fields(words)
		if err := apitest.AddDatabase(t.Context(), door.DB, w[0], w[1], w[2], w[3], w[4]); err != nil {
			t.Fatal(err)
		}
	}
	names := func(query string) string {
		var words []string
		for _, d := range list(t, caller, query) {
			words = append(words, d.Name+" "+d.Version)
		}
		return strings.Join(words, ", ")
	}
	for query, want := range map[string]string{"": "refseq 230, swissprot 2026_01, swissprot 2025_04",
		"?type=prot": "swissprot 2026_01, swissprot 2025_04", "?type=nucl": "refseq 230"} {
		if got := names(query); got != want {
			t.Errorf("%q: got %s, want %s", query, got, want)
		}
	}
	want := contract.SequenceDatabase{Name: "refseq", Version: "230", ReleasedOn: "2026-02-01", Type: "nucl",
		Checksum: strings.Repeat("c", 64), Title: "refseq of a test", Sequences: 3, Residues: 300, ByteSize: 30}
	if got := list(t, caller, "?type=nucl")[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := registry.Retire(tenant.Everyone(t.Context(), "the operator keeps the databases"), "swissprot",
		"2026_01"); err != nil {
		t.Fatal(err)
	}
	if got := names("?type=prot"); got != "swissprot 2025_04" {
		t.Errorf("after a retirement got %s", got)
	}
	for _, query := range []string{"?type=protein", "?kind=prot"} {
		if got := caller.Send("GET", "/api/v1/molecular/blast/databases"+query, ""); got.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: got %d %s", query, got.StatusCode, got.Text)
		}
	}
}
