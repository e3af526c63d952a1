package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/databases"
	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/notices"
	"github.com/molfabric/molfabric/api/operator"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/api/public"
	"github.com/molfabric/molfabric/api/searches"
	"github.com/molfabric/molfabric/api/settings"
	"github.com/molfabric/molfabric/api/studio"
	"github.com/molfabric/molfabric/api/uploads"
	"github.com/molfabric/molfabric/api/webhooks"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/engines/esmfold"
	"github.com/molfabric/molfabric/internal/casefile/casetest"
	"github.com/molfabric/molfabric/internal/confirmation"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/reach"
	"github.com/molfabric/molfabric/internal/receipt"
	"github.com/molfabric/molfabric/internal/roles/scenes"
	"github.com/molfabric/molfabric/internal/sequences"
	"github.com/molfabric/molfabric/internal/structures"
	"github.com/molfabric/molfabric/internal/weights"
	"github.com/molfabric/molfabric/scheduler"
)

// planner is an engine that wants what the real one does and plans one shard from any request, so that what the contract accepts is
// accepted for every simulator and job type, also for those whose programs are not here.
type planner struct {
	engines.Engine
	spec engines.Spec
}

func (p planner) Spec() engines.Spec { return p.spec }

func (planner) Plan(engines.Request) ([]engines.Shard, error) {
	return []engines.Shard{{Stage: "run", Name: "run", Params: json.RawMessage(`{}`), Essential: true, Items: 1,
		ExpectedCPUSeconds: 1}}, nil
}

// Wants is what the engine of this build wants that has the id.
func (p planner) Wants(r engines.Request) (engines.Wants, error) {
	engine, _ := all.Registry().Lookup(p.spec.ID)
	if wanter, ok := engine.(engines.Wanter); ok {
		return wanter.Wants(r)
	}
	return engines.Wants{}, nil
}

// planners are an engine for every simulator and job type.
func planners() *engines.Registry {
	list := []engines.Engine{
		planner{spec: engines.Spec{ID: "molstar", Hardware: "cpu", JobTypes: []string{engines.JobTypeMolecular}}},
		planner{spec: engines.Spec{ID: "cycles", Hardware: "cpu", JobTypes: []string{engines.JobTypeMolecular,
			engines.JobTypeRender}}},
	}
	for _, s := range engines.Simulators {
		list = append(list, planner{spec: engines.Spec{ID: s.ID, Aliases: s.Aliases, Title: s.Title, Hardware: "cpu"}})
	}
	return engines.NewRegistry(list...)
}

// pricesFor is the price book with a price for every engine.
func pricesFor(registry *engines.Registry) *billing.Book {
	book, err := billing.LoadBook("")
	if err != nil {
		panic(err) // the embedded book is broken: no test can go on
	}
	for _, engineID := range registry.IDs() {
		book.Engines[engineID] = billing.EnginePrice{}
	}
	return book
}

// groupsOf are the groups that the wiring adds to those of the front door itself.
func groupsOf(deps *api.Deps, registry *engines.Registry, objects *object.Store) []func(huma.API) {
	book := pricesFor(registry)
	transport := queue.New(deps.Redis, deps.Config.RedisPrefix)
	work := scheduler.New(scheduler.Deps{
		DB: deps.DB, Queue: transport, Engines: registry, Prices: book, Ledger: deps.Ledger, Log: deps.Log, Now: deps.Now,
	})
	files := uploads.New(deps.DB, objects, deps.Now)
	// Public data as a mirror has it: two entries, a predicted structure, three components.
	library, libraryErr := structures.Open(structures.Deps{
		DB: deps.DB, Objects: objects, Source: mirror("entries"), Predictions: mirror("predictions"),
		Components: mirror("components.jsonl"), Log: deps.Log, Now: deps.Now,
	})
	signer, signerErr := confirmation.NewSigner(deps.Config.KeySecrets, deps.Now)
	receipts, receiptsErr := receipt.NewSigner(deps.Config.KeySecrets)
	if err := errors.Join(libraryErr, signerErr, receiptsErr); err != nil {
		panic(err) // the mirror lies in testdata: no test can go on
	}
	searched := sequences.New(sequences.Deps{DB: deps.DB, Objects: objects, Log: deps.Log, Now: deps.Now})
	if err := errors.Join(
		apitest.AddDatabase(context.Background(), deps.DB, "swissprot", "2026_01", "2026-01-28", sequences.Protein, "a"),
		apitest.AddDatabase(context.Background(), deps.DB, "refseq", "230", "2026-02-01", sequences.Nucleotide, "b"),
		apitest.AddWeights(context.Background(), deps.DB, esmfold.ID, "c"),
		apitest.AddWeights(context.Background(), deps.DB, alphafold.ID, "d"),
	); err != nil {
		panic(err) // the schema is a test's own
	}
	tasks := jobs.New(jobs.Deps{
		DB: deps.DB, Scheduler: work, Engines: registry, Objects: objects, Uploads: files.OwnedAll, Currency: book.Currency,
		Knowledge: struct {
			*structures.Library
			*confirmation.Signer
		}{library, signer},
		Databases: searched,
		Weights:   weights.New(weights.Deps{DB: deps.DB, Objects: objects, Log: deps.Log, Now: deps.Now}),
		Receipts:  receipts,
		Version:   deps.Config.Version, Log: deps.Log, Now: deps.Now,
	})
	dockings := docking.New(docking.Deps{
		DB: deps.DB, Objects: objects, Engines: registry, Submitter: tasks, Provenance: tasks, Currency: book.Currency,
		Log: deps.Log, Now: deps.Now,
	})
	hits := searches.New(searches.Deps{DB: deps.DB, Objects: objects, Log: deps.Log, Now: deps.Now})
	workspaces := projects.New(projects.Deps{DB: deps.DB, Secrets: deps.Config.KeySecrets, Log: deps.Log, Now: deps.Now})
	secrets := deps.Config.KeySecrets
	licences, licencesErr := settings.New(settings.Deps{DB: deps.DB, KeySecrets: secrets, Log: deps.Log, Now: deps.Now})
	guard, guardErr := reach.New(nil, nil, nil)
	told, toldErr := webhooks.New(webhooks.Deps{DB: deps.DB, KeySecrets: secrets, Guard: guard, Log: deps.Log, Now: deps.Now})
	if err := errors.Join(licencesErr, guardErr, toldErr); err != nil {
		panic(err) // no network is configured that could be wrong
	}
	drawn := scenes.New(studio.Deps{DB: deps.DB, Objects: objects, Structures: library, Files: files, Log: deps.Log, Now: deps.Now},
		dockings, workspaces, tasks)
	open := public.New(public.Deps{
		Engines: registry, Prices: book, Workers: transport.Workers, Version: deps.Config.Version, Log: deps.Log, Now: deps.Now,
	})
	return []func(huma.API){
		func(a huma.API) { jobs.Register(a, tasks) },
		func(a huma.API) { uploads.Register(a, files) },
		func(a huma.API) { projects.Register(a, workspaces) },
		func(a huma.API) { settings.Register(a, licences) },
		func(a huma.API) { webhooks.Register(a, told) },
		func(a huma.API) {
			notices.Register(a, notices.New(notices.Deps{DB: deps.DB, Log: deps.Log, Now: deps.Now}))
		},
		func(a huma.API) { public.Register(a, open) },
		func(a huma.API) { docking.Register(a, dockings) },
		func(a huma.API) { docking.RegisterResolve(a, docking.NewResolver(library, signer)) },
		func(a huma.API) { searches.Register(a, hits) },
		func(a huma.API) { databases.Register(a, searched) },
		func(a huma.API) { studio.Register(a, drawn) },
		func(a huma.API) {
			operator.Register(a, operator.New(operator.Deps{DB: deps.DB, Workers: transport.Workers, Led: work.Led, Now: deps.Now}))
		},
	}
}

// mirror is a file of the public data that tests look up.
func mirror(name string) string {
	path, err := filepath.Abs(filepath.Join("testdata", "public", name))
	if err != nil {
		panic(err) // there is no working directory
	}
	return path
}

// product is a front door with every group of the product on real stores, a rich account, and a file of it.
type product struct {
	*apitest.Door
	browser, key *apitest.Caller
	file         struct {
		key, sha256 string
		size        int
	}
	uploads struct{ plain, checked string } // unfinished uploads in parts, the second with checksums
}

// twoModels is a receptor with the first and the last model that a request may name.
const twoModels = `MODEL        1
ATOM      1  CA  GLY A   1       0.000   0.000   0.000  1.00  0.00           C
ENDMDL
MODEL     9999
ATOM      1  CA  GLY A   1       0.000   0.000   0.000  1.00  0.00           C
ENDMDL
`

func openProduct(t *testing.T) *product {
	t.Helper()
	objects, _ := objecttest.New(t)
	p := &product{Door: open(t, func(deps *api.Deps) {
		apitest.Unhurried(deps)
		deps.Groups = groupsOf(deps, planners(), objects)
	})}
	p.browser = p.SignUp()
	_, key := p.browser.Key("live", contract.Scopes...)
	p.key = p.WithKey(key)
	p.enrich(t)
	p.store(t, []byte(twoModels))
	p.uploads.plain, p.uploads.checked = p.begin(t, ""), p.begin(t, `,"checksumAlgorithm":"sha256"`)
	return p
}

// begin begins an upload in parts.
func (p *product) begin(t *testing.T, more string) string {
	t.Helper()
	var begun struct{ UploadID string }
	p.key.Send("POST", "/api/v1/uploads", `{"filename":"f.bin","contentType":"a/b","size":20000000`+more+`}`).Decode(t, &begun)
	return begun.UploadID
}

// enrich gives every account of the database all the credit that a test could need.
func (p *product) enrich(t *testing.T) {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	ledger := billing.NewLedger(book, id.New)
	err = postgres.InTx(t.Context(), p.DB, func(tx *sqlx.Tx) error {
		var accounts []string
		if err := tx.SelectContext(t.Context(), &accounts, `SELECT id FROM accounts`); err != nil {
			return err
		}
		for _, account := range accounts {
			_, err := ledger.Credit(t.Context(), tx, billing.CreditRequest{
				AccountID: account, Type: billing.EntryAdjustment, Bucket: billing.Wallet, Pence: 100_000_000,
				UniqueKey: id.New("gift_"), Description: "A test's credit",
			}, time.Now())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// waveDecks are a case of each wave model in one folder.
var waveDecks = map[string]string{
	"INPUT": "CGRID 0. 0. 0. 1000. 1000. 10 10 CIRCLE 36 0.05 1.0 20\nCOMPUTE\nSTOP\n",
	"ww3_grid.nml": "&SPECTRUM_NML SPECTRUM%NK = 20, SPECTRUM%NTH = 36 /\n&TIMESTEPS_NML TIMESTEPS%DTMAX = 60., TIMESTEPS%DTXY = 60.,\n" +
		"TIMESTEPS%DTKTH = 60., TIMESTEPS%DTMIN = 10. /\n&GRID_NML GRID%TYPE = 'RECT' /\n&RECT_NML RECT%NX = 10, RECT%NY = 10 /\n",
	"namelists.nml": "END OF NAMELISTS\n",
	"ww3_shel.nml": "&DOMAIN_NML DOMAIN%START = '19680601 000000', DOMAIN%STOP = '19680601 010000' /\n" +
		"&OUTPUT_DATE_NML DATE%FIELD = '19680601 000000' '3600' '19680601 010000' /\n",
}

// waveCase stores the archive of a case of the wave models beside the product's file, and returns its key.
func (p *product) waveCase(t *testing.T) string {
	t.Helper()
	file := p.file
	p.store(t, casetest.Zip(t, casetest.Files(waveDecks)))
	key := p.file.key
	p.file = file
	return key
}

// store uploads a file.
func (p *product) store(t *testing.T, content []byte) {
	t.Helper()
	sum := sha256.Sum256(content)
	p.file.sha256, p.file.size = hex.EncodeToString(sum[:]), len(content)
	body, err := json.Marshal(map[string]any{"filename": "f.pdb", "contentType": "chemical/x-pdb", "size": len(content),
		"sha256": p.file.sha256})
	if err != nil {
		t.Fatal(err)
	}
	got := p.key.Send("POST", "/api/v1/jobs/upload-url", string(body))
	var place struct {
		UploadURL, S3Key, Method string
		Headers                  map[string]string
	}
	got.Decode(t, &place)
	p.file.key = place.S3Key
	request, err := http.NewRequestWithContext(t.Context(), place.Method, place.UploadURL, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range place.Headers {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("upload: %v %v", answer, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// productGroups are the product's groups without an object store: enough for every answer that needs no file.
func productGroups(deps *api.Deps) []func(huma.API) { return groupsOf(deps, planners(), nil) }
