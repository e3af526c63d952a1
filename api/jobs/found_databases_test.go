package jobs

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/sequences"
	"github.com/molfabric/molfabric/internal/weights"
)

// registry gives the service a registry with databases, each "name version date type letter".
func (d *desk) registry(databases ...string) *sequences.Registry {
	d.t.Helper()
	for _, one := range databases {
		words := strings.Fields(one)
		if err := apitest.AddDatabase(d.t.Context(), d.db, words[0], words[1], words[2], words[3], words[4]); err != nil {
			d.t.Fatal(err)
		}
	}
	registry := sequences.New(sequences.Deps{DB: d.db, Objects: d.deps.Objects, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	d.lookup.Databases = registry
	return registry
}

// weights gives the service a registry with weights of a model.
func (d *desk) weights(models ...string) {
	d.t.Helper()
	for i, model := range models {
		if err := apitest.AddWeights(d.t.Context(), d.db, model, "def"[i:i+1]); err != nil {
			d.t.Fatal(err)
		}
	}
	d.lookup.Weights = weights.New(weights.Deps{DB: d.db, Objects: d.deps.Objects, Log: slog.New(slog.DiscardHandler),
		Now: time.Now})
}

// search is a search of the account's queries, with these members of simulationParams.
func search(simulator, params string) string {
	return `{"jobType":"simulation","simulator":"` + simulator + `","simulationParams":{` + params + `}}`
}

func TestDatabasesAreLookedUp(t *testing.T) {
	t.Parallel()
	all := recorders()
	d := openWith(t, false, listOf(all)...)
	registry := d.registry("swissprot 2025_04 2025-10-15 prot a", "swissprot 2026_01 2026-01-28 prot b",
		"refseq 230 2026-02-01 nucl c")
	caller := d.account()
	d.file(caller, "queries.fasta", 1000, strings.Repeat("f", 64))
	check := func(name, simulator, params, version, letter string) {
		t.Helper()
		for _, from := range []access.Principal{caller, {}} { // an account, and a visitor
			response, text := d.call(from, http.MethodPost, "/v1/jobs/estimate", search(simulator, params))
			if got := all[simulator].request().Found.Database; response.StatusCode != http.StatusOK || got == nil ||
				got.Version != version {
				t.Errorf("%s: the estimate gave %d %s for %+v, want version %s", name, response.StatusCode, text, got, version)
			}
		}
		body := strings.Replace(search(simulator, params), "{", `{"sceneFile":"queries.fasta",`, 1)
		if _, err := d.Submit(access.With(t.Context(), caller), caller, "", request(t, body)); err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		got := all[simulator].request().Found.Database
		digest := strings.Repeat(letter, 64)
		if got == nil || got.Version != version || got.Checksum != digest || got.Sequences != 3 || got.Residues != 300 ||
			len(got.Files) != 2 {
			t.Errorf("%s: the engine was given %+v", name, got)
			return
		}
		file := got.Name + ".phr"
		if simulator == "blastn" {
			file = got.Name + ".nhr"
		}
		if want := (engines.Object{StorageKey: "databases/blast/" + digest + "/" + file, SHA256: digest,
			ByteSize: 10}); got.Files[file] != want {
			t.Errorf("%s: %s is %+v, want %+v", name, file, got.Files[file], want)
		}
	}
	check("named by nothing", "blastp", "", "2026_01", "b")
	check("named by nothing, the only one", "blastn", "", "230", "c")
	check("name", "blastp", `"blastDatabaseName":"swissprot"`, "2026_01", "b")
	check("version", "blastp", `"blastDatabaseName":"swissprot","blastDatabaseVersion":"2025_04"`, "2025_04", "a")
	check("all", "blastp", `"blastDatabasePath":"swissprot/2025_04","blastDatabaseName":"swissprot","blastDatabaseVersion":"2025_04","blastDatabaseDate":"2025-10-15",
		"blastDatabaseType":"prot","blastDatabaseChecksum":"`+strings.Repeat("A", 64)+`"`, "2025_04", "a")
	if _, err := registry.Retire(t.Context(), "swissprot", "2026_01"); err != nil {
		t.Fatal(err)
	}
	check("after a retirement", "blastp", `"blastDatabaseName":"swissprot"`, "2025_04", "a")
}

func TestDatabasesThatAreUnknown(t *testing.T) {
	t.Parallel()
	d := openWith(t, false, listOf(recorders())...)
	caller := d.account()
	d.file(caller, "queries.fasta", 1000, "")
	refused := func(name, simulator, params, want string) {
		t.Helper()
		body := search(simulator, params)
		_, err := d.Submit(access.With(t.Context(), caller), caller, "",
			request(t, strings.Replace(body, "{", `{"sceneFile":"queries.fasta",`, 1)))
		wantFault(t, name, err, fault.Validation, want)
		_, err = d.Estimate(t.Context(), "", decoded[EstimateRequest](t, body))
		wantFault(t, name+", estimated", err, fault.Validation, want)
	}
	refused("no registry", "blastp", "", "simulationParams.blastDatabaseName: this deployment has no databases")
	d.registry("refseq 230 2026-02-01 nucl c")
	refused("none of the type", "blastp", "", "simulationParams.blastDatabaseName: this deployment has no database of proteins")
	d.registry("swissprot 2025_04 2025-10-15 prot a", "trembl 2026_01 2026-01-28 prot b")
	refused("several", "blastp", "", "simulationParams.blastDatabaseName: is required where databases of several names fit: "+
		"swissprot 2025_04 (2025-10-15), trembl 2026_01 (2026-01-28)")
	refused("another name", "blastp", `"blastDatabaseName":"nr"`,
		`simulationParams.blastDatabaseName: no database that fits the rest has the name "nr"; there is swissprot`)
	refused("another version", "blastp", `"blastDatabaseName":"trembl","blastDatabaseVersion":"1"`,
		"simulationParams.blastDatabaseVersion: ")
	refused("another date", "blastp", `"blastDatabaseName":"trembl","blastDatabaseDate":"2026-01-29"`,
		"simulationParams.blastDatabaseDate: ")
	refused("another checksum", "blastp", `"blastDatabaseChecksum":"`+strings.Repeat("f", 64)+`"`,
		"simulationParams.blastDatabaseChecksum: ")
	refused("another path", "blastp", `"blastDatabasePath":"swissprot/swissprot"`, "simulationParams.blastDatabasePath: ")
	refused("a path outside", "blastp", `"blastDatabasePath":"../../etc/passwd"`,
		"simulationParams.blastDatabasePath: must stay below")
	refused("the other program's type", "blastn", `"blastDatabaseType":"prot"`, "simulationParams.blastDatabaseType: ")
	refused("the other program's database", "blastn", `"blastDatabaseName":"swissprot"`,
		"swissprot 2025_04 holds proteins; this deployment's databases of nucleotides are: refseq 230 (2026-02-01)")
}
