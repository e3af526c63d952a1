package structures

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// dictionaryFile is a part of the real dictionary, as deploy/components.py writes it.
const dictionaryFile = "../../engines/vina/testdata/components.jsonl"

const imatinibPath = "/ligands/download/STI.cif"

var imatinib = Component{
	ID: "STI", Name: "4-(4-METHYL-PIPERAZIN-1-YLMETHYL)-N-[4-METHYL-3-(4-PYRIDIN-3-YL-PYRIMIDIN-2-YLAMINO)-PHENYL]-BENZAMIDE",
	Synonyms: []string{"STI-571", "IMATINIB"}, Formula: "C29 H31 N7 O", Type: "NON-POLYMER",
	SMILES: "Cc1ccc(cc1Nc2nccc(n2)c3cccnc3)NC(=O)c4ccc(cc4)CN5CCN(CC5)C", InChIKey: "KTUFNOKKBVMGRW-UHFFFAOYSA-N",
}

func TestDictionary(t *testing.T) {
	t.Parallel()
	d, err := LoadDictionary(dictionaryFile)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := d.Lookup("sti")
	if !ok || got.ID != "STI" || got.InChIKey != imatinib.InChIKey || got.Name != imatinib.Name {
		t.Errorf("STI is %+v, %v", got, ok)
	}
	if got, ok := d.Lookup("NONE"); ok {
		t.Errorf("NONE is %+v", got)
	}
	for query, want := range map[string]string{
		"STI":                          "STI",
		" sti ":                        "STI",
		"imatinib":                     "STI",
		"Sti 571":                      "STI",
		"sti571":                       "STI",
		"adenosine 5 triphosphate":     "ATP",
		"ADENOSINE-5'-":                "ADP ATP", // shorter names first
		"retinoic acid":                "REA",
		"retinoicacid":                 "REA",
		"acid retinoic":                "REA",
		"plx4032":                      "032",
		"water":                        "HOH",
		"":                             "",
		"-- ,":                         "",
		"CC(=O)Oc1ccccc1C(=O)O":        "",
		"no such thing":                "",
		strings.Repeat("warfarin ", 9): "RWF SWF",
		"warfarin":                     "RWF SWF",
	} {
		var ids []string
		for _, c := range d.Search(query, 3) {
			ids = append(ids, c.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	if n := len(d.Search("a", 20)); n != 20 {
		t.Errorf("a frequent letter gives %d components, want the limit of 20", n)
	}
}

func TestDictionariesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"line 2":   `{"id":"A"}` + "\n" + `{"id":"B"`,
		"id":       `{"id":"A-B"}`,
		"id \"\"":  `{"name":"water"}`,
		"twice":    `{"id":"A"}` + "\n" + `{"id":"a"}`,
		"too long": `{"id":"A","name":"` + strings.Repeat("x", maxLineBytes) + `"}`,
	} {
		path := filepath.Join(t.TempDir(), "components.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := LoadDictionary(path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%.40q: got %v, %v, want an error with %q", text, d, err, name)
		}
	}
	if _, err := LoadDictionary(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}

func TestComponentsOfTheServer(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	site.serve(imatinibPath, testdata(t, "STI.cif"))
	b := open(t, site.url, "")
	ask := func(step string, requests int, ids ...string) map[string]Component {
		t.Helper()
		got, err := b.Components(t.Context(), ids)
		if err != nil {
			t.Errorf("%s: %v", step, err)
		}
		if n := site.requests(); n != requests {
			t.Errorf("%s: the server was asked %d times, want %d", step, n, requests)
		}
		return got
	}
	want := map[string]Component{"STI": imatinib}
	if got := ask("first", 2, "sti", "STI", "LIG", "../", ""); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	ask("again", 0, "STI", "LIG")
	b.clock.pass(absentFor)
	ask("absent for an hour", 1, "STI", "LIG")
	b.again(site.url)
	if got := ask("another process", 0, "Sti"); !reflect.DeepEqual(got, want) {
		t.Errorf("what is kept is %+v, want %+v", got, want)
	}

	b.clock.pass(freshFor)
	site.answer(imatinibPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	ask("stale", tries, "STI")
	ask("stale and put off", 0, "STI")
	b.clock.pass(askAgain)
	site.serve(imatinibPath, []byte(strings.ReplaceAll(string(testdata(t, "STI.cif")), "IMATINIB", "Gleevec")))
	if got := ask("renamed", 1, "STI")["STI"].Synonyms; len(got) != 2 || got[1] != "Gleevec" {
		t.Errorf("synonyms are %v", got)
	}
	b.clock.pass(freshFor)
	b.again(SourceOff)
	if got := ask("looked up no more", 0, "STI", "ATP"); len(got) != 1 {
		t.Errorf("got %+v, want what is kept", got)
	}
}

func TestDefinitionsThatAreRefused(t *testing.T) {
	t.Parallel()
	text := string(testdata(t, "STI.cif"))
	for name, definition := range map[string]string{
		"another":   strings.ReplaceAll(text, "STI ", "ATP "),
		"a page":    "<html></html>",
		"a NUL":     strings.Replace(text, "IMATINIB", "\x00", 1),
		"very long": strings.Replace(text, "IMATINIB", strings.Repeat("x", maxDefinitionBytes), 1),
	} {
		if got, err := readComponent(definition, "STI"); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for from, want := range map[string]string{
		"OpenEye OEToolkits": "CN1CCN(CC1)Cc2ccc(cc2)C(=O)Nc3ccc(C)c(Nc4nccc(n4)c5cccnc5)c3", // CACTVS'
		"SMILES_CANONICAL":   "O=C(c1ccc(cc1)CN2CCN(C)CC2)Nc5ccc(c(Nc4nc(c3cccnc3)ccn4)c5)C", // any SMILES
	} {
		if got, err := readComponent(strings.ReplaceAll(text, from, "other"), "STI"); err != nil || got.SMILES != want {
			t.Errorf("without %s: got %q, %v, want %q", from, got.SMILES, err, want)
		}
	}
}

func TestComponentsHaveBounds(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	site.answer("/ligands/download/BAD.cif", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	})
	site.serve(imatinibPath, testdata(t, "STI.cif"))
	b := open(t, site.url, dictionaryFile)
	var ids []string
	for i := range MaxRemote + 1 {
		ids = append(ids, fmt.Sprintf("X%04d", i))
	}
	var many *TooManyError
	if _, err := b.Components(t.Context(), ids); !errors.As(err, &many) || many.Count != MaxRemote+1 || site.requests() != 0 {
		t.Errorf("got %v, want a *TooManyError of %d", err, MaxRemote+1)
	}
	got, err := b.Components(t.Context(), append(ids[:MaxRemote:MaxRemote], "ATP", "STI"))
	if err != nil || len(got) != 2 || site.requests() != MaxRemote {
		t.Errorf("got %d components, %v, want those of the dictionary", len(got), err)
	}
	got, err = b.Components(t.Context(), []string{"BAD", "ATP"})
	if !fault.Is(err, fault.ProviderUnavailable) || len(got) != 1 {
		t.Errorf("got %+v, %v, want what is known beside %s", got, err, fault.ProviderUnavailable)
	}
	if got := b.Known([]string{"atp", "QQQ", "!"}); len(got) != 1 || got["ATP"].ID != "ATP" {
		t.Errorf("known are %+v", got)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	site.serve(imatinibPath, testdata(t, "STI.cif"))
	for _, c := range []struct {
		name, source, dictionary, query, want string
		requests                              int
	}{
		{"an id", site.url, dictionaryFile, "atp", "ATP", 0},
		{"a name that looks like an id", site.url, dictionaryFile, "water", "HOH", 0},
		{"an id of the server", site.url, "", "sti", "STI", 1},
		{"a name without a dictionary", site.url, "", "imatinib", "", 0},
		{"an unknown id beside a name", site.url, dictionaryFile, "imat", "STI", 0},
		{"an unknown id", site.url, dictionaryFile, "QQQ", "", 1},
		{"off", SourceOff, dictionaryFile, "QQQ", "", 0},
		{"away, with something that fits", "http://127.0.0.1:1", dictionaryFile, "retin", "REA", 0},
	} {
		b := open(t, c.source, c.dictionary)
		var ids []string
		found, err := b.Search(t.Context(), c.query, 20)
		for _, one := range found {
			ids = append(ids, one.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
		if n := site.requests(); n != c.requests {
			t.Errorf("%s: the server was asked %d times, want %d", c.name, n, c.requests)
		}
	}
	b := open(t, "http://127.0.0.1:1", "")
	if got, err := b.Search(t.Context(), "ATP", 20); !fault.Is(err, fault.ProviderUnavailable) {
		t.Errorf("away: got %v, %v, want %s", got, err, fault.ProviderUnavailable)
	}
}

func TestAbsencesAreBounded(t *testing.T) {
	t.Parallel()
	a := absences{now: func() time.Time { return time.Unix(0, 0) }}
	for i := range maxAbsences + 1 {
		a.add(fmt.Sprint(i))
	}
	if len(a.until) != 1 || !a.has(fmt.Sprint(maxAbsences)) || a.has("0") {
		t.Errorf("%d are remembered", len(a.until))
	}
}
