package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/jobs/lookup"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/structures"
)

// library is a desk with a dictionary, a server of structures that a test may stop, and an engine that keeps what it was given.
type library struct {
	*desk
	engine *recorder
	signer *confirmation.Signer
	site   *httptest.Server
	asked  atomic.Int64 // requests that the server has had
	now    func() time.Time
}

func openLibrary(t *testing.T) *library {
	t.Helper()
	entry, err := os.ReadFile("../../internal/structures/testdata/1cbs.cif")
	if err != nil {
		t.Fatal(err)
	}
	component, err := os.ReadFile("../../internal/structures/testdata/STI.cif")
	if err != nil {
		t.Fatal(err)
	}
	l := &library{engine: recorders()[vina.ID], now: time.Now}
	l.desk = openWith(t, false, l.engine)
	l.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		switch r.URL.Path {
		case "/download/1CBS.cif.gz":
			_, _ = w.Write(entry)
		case "/ligands/download/ST9.cif": // not in the dictionary
			_, _ = w.Write([]byte(strings.ReplaceAll(string(component), "STI ", "ST9 ")))
		case "/ligands/download/NOS.cif": // nothing to dock
			_, _ = w.Write([]byte("data_NOS\n_chem_comp.id NOS\n_chem_comp.name unknown\n"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(l.site.Close)
	l.know(l.site.URL)
	return l
}

// know gives the service its dictionary and a source of structures.
func (l *library) know(source string) {
	l.t.Helper()
	known, err := structures.Open(structures.Deps{DB: l.db, Objects: l.deps.Objects, Source: source,
		Components: "../../engines/vina/testdata/components.jsonl",
		Log:        slog.New(slog.DiscardHandler), Now: time.Now})
	if err == nil {
		l.signer, err = confirmation.NewSigner(secret.One(bytes.Repeat([]byte("s"), secret.MinBytes)),
			func() time.Time { return l.now() })
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.lookup.Knowledge = struct {
		*structures.Library
		*confirmation.Signer
	}{known, l.signer}
}

// knowNothing takes all knowledge from the service.
func (l *library) knowNothing() {
	deps := l.lookup.Deps
	deps.Knowledge = nil
	l.lookup = lookup.New(deps)
}

// dock is a docking of the account's receptor with these members of simulationParams.
func dock(params string) string {
	return `{"jobType":"simulation","simulator":"vina","sceneFile":"receptor.pdb","simulationParams":{` + params + `}}`
}

// ccd is a ligand that is a component; more are further members.
func ccd(id, more string) string {
	return fmt.Sprintf(`{"ligandId":"l-%s","label":"l","source":{"kind":"ccd","componentId":%q}%s}`, id, id, more)
}

// found submits a docking and returns what its engine was given.
func (l *library) found(caller access.Principal, params string) engines.Found {
	l.t.Helper()
	l.file(caller, "receptor.pdb", 1000, strings.Repeat("a", 64))
	if _, err := l.Submit(access.With(l.t.Context(), caller), caller, "", request(l.t, dock(params))); err != nil {
		l.t.Fatalf("%s: %v", params, err)
	}
	return l.engine.request().Found
}

func TestNamesAreLookedUp(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller := l.account()
	params := `"receptorPdbId":"1cbs","pocketLigand":"rea","receptorPreparation":{"retainComponents":["HOH","Q99"]},
		"dockingValidation":{"nativeReference":{"componentId":"REA","chain":"A","residue":200}},
		"ligandLibrary":[` + ccd("sti", "") + "," + ccd("ST9", "") + "," + ccd("ATP", "") + "," + ccd("atp", "") + `,
			{"ligandId":"s","label":"s","source":{"kind":"smiles","smiles":"CCO"}}]`
	estimate := strings.Replace(dock(params), `"sceneFile":"receptor.pdb",`, "", 1)
	if response, text := l.call(caller, http.MethodPost, "/v1/jobs/estimate", estimate); response.StatusCode != http.StatusOK {
		t.Errorf("estimate: got %d %s", response.StatusCode, text)
	}
	known := l.engine.request().Found
	if len(known.Structures) != 0 || len(known.Components) != 4 || known.Components["STI"].SMILES == "" || l.asked.Load() != 0 {
		t.Errorf("an estimate was given %+v after %d requests, want what the dictionary has and none", known, l.asked.Load())
	}

	got := l.found(caller, params)
	entry := got.Structures["1CBS"]
	if len(got.Structures) != 1 || entry.StorageKey != "public/structures/"+entry.SHA256+".cif" || entry.ByteSize == 0 {
		t.Errorf("structures are %+v", got.Structures)
	}
	if info, err := l.deps.Objects.Head(t.Context(), entry.StorageKey); err != nil || info.SHA256 != entry.SHA256 {
		t.Errorf("the entry is %+v, %v", info, err)
	}
	for _, id := range []string{"STI", "ST9", "ATP", "REA", "HOH"} {
		if c := got.Components[id]; c.Name == "" || c.SMILES == "" {
			t.Errorf("%s is %+v", id, c)
		}
	}
	if len(got.Components) != 5 || got.Prepared != nil || l.asked.Load() != 3 {
		t.Errorf("got %+v after %d requests, want 5 components after 3", got, l.asked.Load())
	}
	l.site.Close() // what was fetched is kept
	l.found(caller, strings.Replace(params, `"Q99"`, `"Q98"`, 1))

	if got := l.found(caller, `"ligandIdentity":`+ccd("ATP", "")); len(got.Components) != 1 || got.Structures != nil {
		t.Errorf("a single ligand: got %+v", got)
	}
}

func TestNamesThatAreUnknown(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller := l.account()
	l.file(caller, "receptor.pdb", 1000, "")
	many := make([]string, structures.MaxRemote+1)
	for i := range many {
		many[i] = ccd(fmt.Sprintf("X%04d", i), "")
	}
	refused := func(name, params string, code fault.Code, place string) {
		t.Helper()
		_, err := l.Submit(access.With(t.Context(), caller), caller, "", request(t, dock(params)))
		wantFault(t, name, err, code, place)
	}
	refused("a ligand", `"ligandIdentity":`+ccd("QQQ", ""), fault.Validation,
		"simulationParams.ligandIdentity.source.componentId: ")
	refused("a ligand of a library", `"ligandLibrary":[`+ccd("ATP", "")+","+ccd("ZZ9", "")+","+ccd("QQQ", "")+"]", fault.Validation,
		"simulationParams.ligandLibrary[1].source.componentId: ")
	refused("a ligand without a structure", `"ligandIdentity":`+ccd("NOS", ""), fault.Validation,
		"simulationParams.ligandIdentity.source.componentId: ")
	refused("an entry", `"receptorPdbId":"9zzz"`, fault.Validation, "simulationParams.receptorPdbId: ")
	refused("too many", `"ligandLibrary":[`+strings.Join(many, ",")+"]", fault.Validation, "201")

	l.know("http://127.0.0.1:1") // nobody listens there
	refused("a ligand while the server is away", `"ligandIdentity":`+ccd("QQQ", ""), fault.ProviderUnavailable, "")
	refused("an entry while the server is away", `"receptorPdbId":"1CBS"`, fault.ProviderUnavailable, "")
	if got := l.found(caller, `"pocketLigand":"LIG","ligandIdentity":`+ccd("ATP", "")); len(got.Components) != 1 {
		t.Errorf("what only helps is missing: got %+v", got)
	}
	l.know(structures.SourceOff)
	refused("off", `"receptorPdbId":"1CBS"`, fault.Validation, "simulationParams.receptorPdbId: ")
	l.knowNothing()
	refused("an entry, and no knowledge", `"receptorPdbId":"1CBS"`, fault.Validation, "simulationParams.receptorPdbId: ")
	refused("a ligand, and no knowledge", `"ligandIdentity":`+ccd("ATP", ""), fault.Validation,
		"simulationParams.ligandIdentity.source.componentId: ")
}

// TestARepetitionLooksNothingUp: the first answer comes back whatever has become of the sources.
func TestARepetitionLooksNothingUp(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller := l.account()
	l.file(caller, "receptor.pdb", 1000, "")
	body := request(t, dock(`"receptorPdbId":"1CBS","ligandIdentity":`+ccd("ST9", "")))
	first, err := l.Submit(access.With(t.Context(), caller), caller, "a-key-of-ours", body)
	if err != nil {
		t.Fatal(err)
	}
	l.knowNothing()
	if again, err := l.Submit(access.With(t.Context(), caller), caller, "a-key-of-ours", body); err != nil ||
		again.JobID != first.JobID || !again.Replayed {
		t.Errorf("got %+v, %v", again, err)
	}
}

func TestConfirmations(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	caller, other := l.account(), l.account()
	l.file(caller, "receptor.pdb", 1000, "")
	l.file(other, "receptor.pdb", 1000, "")
	shown := confirmation.Candidate{AccountID: caller.AccountID, Query: "imatinib", SourceID: "ccd:STI", ComponentID: "STI",
		SMILES: "CCO"}
	token, _ := l.signer.Sign(shown)
	with := func(token, query, sourceID string) string {
		text, err := json.Marshal(map[string]string{"token": token, "query": query, "sourceId": sourceID})
		if err != nil {
			t.Fatal(err)
		}
		return `,"confirmation":` + string(text)
	}
	good := with(token, "imatinib", "ccd:STI")
	smiles := func(text string) string {
		return `{"ligandId":"s","label":"s","source":{"kind":"smiles","smiles":"` + text + `"}` + good + "}"
	}
	place := "simulationParams.ligandLibrary[1]"
	for _, c := range []struct {
		name   string
		caller access.Principal
		ligand string
		place  string // "" for a fit
	}{
		{"as component", caller, ccd("sti", good), ""},
		{"as SMILES", caller, smiles("CCO"), ""},
		{"another account's", other, ccd("STI", good), place + ".confirmation.token: "},
		{"no token", caller, ccd("STI", with(strings.Repeat("x", 40), "imatinib", "ccd:STI")), place + ".confirmation.token: "},
		{"another query", caller, ccd("STI", with(token, "Imatinib", "ccd:STI")), place + ".confirmation.query: "},
		{"another source id", caller, ccd("STI", with(token, "imatinib", "ccd:ATP")), place + ".confirmation.sourceId: "},
		{"another component", caller, ccd("ATP", good), place + ".source: "},
		{"another SMILES", caller, smiles("CCC"), place + ".source: "},
	} {
		_, err := l.Submit(access.With(t.Context(), c.caller), c.caller, "",
			request(t, dock(`"ligandLibrary":[`+ccd("GOL", "")+","+c.ligand+"]")))
		if c.place == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if c.place != "" {
			wantFault(t, c.name, err, fault.Validation, c.place)
		}
	}
	l.now = func() time.Time { return time.Now().Add(confirmation.Lifetime + time.Minute) }
	expired := request(t, dock(`"ligandIdentity":`+ccd("STI", good)))
	_, err := l.Submit(access.With(t.Context(), caller), caller, "", expired)
	wantFault(t, "expired", err, fault.Validation, "simulationParams.ligandIdentity.confirmation.token: ")
	if _, err := l.accept(access.With(t.Context(), caller), caller, "",
		submission{SubmitRequest: expired, first: &engines.Found{}}); err != nil {
		t.Errorf("a repetition, which was confirmed the first time: %v", err)
	}
}
