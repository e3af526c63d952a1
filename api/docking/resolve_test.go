package docking_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/structures"
)

const resolvePath = "/api/v1/molecular/docking/ligands/resolve"

// openResolver is a front door with the look-up alone, and the signer of its tokens.
func openResolver(t *testing.T, source, components string) (*apitest.Door, *confirmation.Signer) {
	t.Helper()
	objects, _ := objecttest.New(t)
	var signer *confirmation.Signer
	door := apitest.Open(t, apitest.Unhurried, func(deps *api.Deps) {
		library, err := structures.Open(structures.Deps{DB: deps.DB, Objects: objects, Source: source, Components: components,
			Log: deps.Log, Now: deps.Now})
		if err == nil {
			signer, err = confirmation.NewSigner(deps.Config.KeySecrets, deps.Now)
		}
		if err != nil {
			t.Fatal(err)
		}
		deps.Groups = []func(huma.API){func(a huma.API) { docking.RegisterResolve(a, docking.NewResolver(library, signer)) }}
	})
	return door, signer
}

func TestResolve(t *testing.T) {
	t.Parallel()
	door, signer := openResolver(t, structures.SourceOff, "../../engines/vina/testdata/components.jsonl")
	ada := door.SignUp()
	for query, want := range map[string]string{
		"imatinib": "STI", "sti": "STI", "STI-571": "STI", "Retinoic acid": "REA", "warfarin": "RWF SWF",
		"no such ligand": "", "CC(=O)Oc1ccccc1C(=O)O": "", " ": "", "%'; --": "",
	} {
		got := ada.Send("POST", resolvePath, `{"query":`+quoted(query)+`}`)
		var answer contract.LigandCandidates
		got.Decode(t, &answer)
		var ids []string
		for _, c := range answer.Candidates {
			ids = append(ids, *c.ComponentID)
			if c.SourceID != "ccd:"+*c.ComponentID || c.Name == "" || c.SMILES == "" || c.InChIKey == nil || c.Formula == nil ||
				time.Until(c.ExpiresAt) > confirmation.Lifetime {
				t.Errorf("%q: candidate %+v", query, c)
			}
			shown := confirmation.Candidate{AccountID: ada.AccountID, Query: query, SourceID: c.SourceID,
				ComponentID: *c.ComponentID, SMILES: c.SMILES}
			if err := signer.Verify(c.Token, shown); err != nil {
				t.Errorf("%q: the token of %s: %v", query, c.SourceID, err)
			}
		}
		if ids := strings.Join(ids, " "); got.StatusCode != http.StatusOK || ids != want {
			t.Errorf("%q: got %d %q, want %q", query, got.StatusCode, ids, want)
		}
		if want == "" && strings.TrimSpace(got.Text) != `{"candidates":[]}` {
			t.Errorf("%q: got %s, want an empty list", query, got.Text)
		}
	}
	many := ada.Send("POST", resolvePath, `{"query":"a"}`)
	var answer contract.LigandCandidates
	many.Decode(t, &answer)
	if len(answer.Candidates) != 20 {
		t.Errorf("a frequent letter has %d candidates, want 20", len(answer.Candidates))
	}
}

func TestResolveRefusals(t *testing.T) {
	t.Parallel()
	door, _ := openResolver(t, structures.SourceOff, "")
	ada := door.SignUp()
	_, reads := ada.Key(access.Test, access.JobsRead)
	_, writes := ada.Key(access.Live, access.JobsWrite)
	for _, c := range []struct {
		name   string
		caller *apitest.Caller
		body   string
		status int
		code   string
	}{
		{"a test key that reads", door.WithKey(reads), `{"query":"x"}`, 200, ""},
		{"a key that writes", door.WithKey(writes), `{"query":"x"}`, 403, "INSUFFICIENT_SCOPE"},
		{"nobody", door.Anonymous(), `{"query":"x"}`, 401, "UNAUTHORIZED"},
		{"no query", ada, `{}`, 400, "VALIDATION_ERROR"},
		{"an empty one", ada, `{"query":""}`, 400, "VALIDATION_ERROR"},
		{"a long one", ada, `{"query":"` + strings.Repeat("x", 513) + `"}`, 400, "VALIDATION_ERROR"},
		{"more", ada, `{"query":"x","limit":5}`, 400, "VALIDATION_ERROR"},
	} {
		got := c.caller.Send("POST", resolvePath, c.body)
		if got.StatusCode != c.status || !strings.Contains(got.Text, c.code) {
			t.Errorf("%s: got %d %s, want %d %s", c.name, got.StatusCode, got.Text, c.status, c.code)
		}
	}
}

func TestResolveAtAServer(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.FileServer(http.Dir("testdata/site")))
	t.Cleanup(site.Close)
	door, _ := openResolver(t, site.URL, "")
	ada := door.SignUp()
	var answer contract.LigandCandidates
	ada.Send("POST", resolvePath, `{"query":"ben"}`).Decode(t, &answer)
	if len(answer.Candidates) != 1 || answer.Candidates[0].SMILES != "c1ccc(cc1)C(=[NH2+])N" ||
		answer.Candidates[0].Name != "BENZAMIDINE" {
		t.Errorf("got %+v", answer)
	}
	site.Close()
	got := ada.Send("POST", resolvePath, `{"query":"STI"}`)
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" ||
		!strings.Contains(got.Text, "PROVIDER_UNAVAILABLE") {
		t.Errorf("without the server: got %d %v %s", got.StatusCode, got.Header, got.Text)
	}
}

// quoted is a text as JSON.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, "\u0000", `\u0000`).Replace(text) + `"`
}
