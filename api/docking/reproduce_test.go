package docking_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/receipt"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
	recorder "github.com/molfabric/molfabric/scheduler/docking"
)

// works is a lab with the group that submits, on a scheduler that records dockings and leads nothing.
type works struct {
	*lab
	jobs   *jobs.Service
	ledger *billing.Ledger
}

func openWorks(t *testing.T) *works {
	t.Helper()
	objects, _ := objecttest.New(t)
	if _, err := objects.Put(t.Context(), "receptor.pdb", strings.NewReader(glycine), "chemical/x-pdb", ""); err != nil {
		t.Fatal(err)
	}
	rdb, _, prefix := redistest.New(t)
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	w := &works{ledger: billing.NewLedger(book, id.New)}
	w.lab = openOn(t, objects, func(deps *api.Deps) submitting {
		registry := engines.NewRegistry(vina.New())
		receipts, err := receipt.NewSigner(deps.Config.KeySecrets)
		if err != nil {
			t.Fatal(err)
		}
		w.jobs = jobs.New(jobs.Deps{
			Receipts: receipts,
			DB:       deps.DB, Engines: registry, Objects: objects, Currency: book.Currency, Log: slog.New(slog.DiscardHandler),
			Now: time.Now,
			Uploads: func(_ context.Context, _ string, keys []string) (map[string]engines.Object, error) {
				found := map[string]engines.Object{}
				for _, key := range keys {
					found[key] = engines.Object{StorageKey: key, ByteSize: int64(len(glycine))}
				}
				return found, nil
			},
			Scheduler: scheduler.New(scheduler.Deps{
				DB: deps.DB, Queue: queue.New(rdb, prefix), Engines: registry, Prices: book, Ledger: w.ledger,
				Recorders: map[string]scheduler.Recorder{recorder.EngineID: recorder.Recorder{}},
				Log:       slog.New(slog.DiscardHandler), Now: time.Now,
			}),
		})
		return w.jobs
	})
	return w
}

// rich opens an account with credit.
func (w *works) rich() chemist {
	w.t.Helper()
	c := w.account()
	err := postgres.InTx(w.t.Context(), w.DB, func(tx *sqlx.Tx) error {
		return w.ledger.OpenAccount(w.t.Context(), tx, c.AccountID, "free", time.Now())
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// glycine is what the library is docked into.
const glycine = "ATOM      1  N   GLY A   1       1.000   2.000   3.000  1.00  0.00           N\n"

// library is a docking of two ligands that names no seed.
const library = `{"jobType":"simulation","simulator":"vina","sceneFile":"receptor.pdb","jobName":"ABL1 screen",
	"dockingRequest":{"requestId":"req-1","runId":"mine","idempotencyKey":"key-0001"},
	"simulationParams":{"boxCenterAngstrom":[1,2,3],"boxSizeAngstrom":20,"ligandLibrary":[
		{"ligandId":"a","label":"ethanol","source":{"kind":"smiles","smiles":"CCO"}},
		{"ligandId":"b","label":"benzene","source":{"kind":"smiles","smiles":"c1ccccc1"}}]}}`

// submit submits the library and returns its run.
func (w *works) submit(c chemist) contract.DockingRun {
	w.t.Helper()
	var request jobs.SubmitRequest
	if err := json.Unmarshal([]byte(library), &request); err != nil {
		w.t.Fatal(err)
	}
	caller, err := w.keyring.Verify(w.t.Context(), strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer "))
	if err != nil {
		w.t.Fatal(err)
	}
	receipt, err := w.jobs.Submit(access.With(w.t.Context(), caller), caller, "", request)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, run := range get[contract.DockingRunList](c, "/runs").Runs {
		if run.JobID == receipt.JobID {
			return run
		}
	}
	w.t.Fatal("the job has no run")
	return contract.DockingRun{}
}

// end ends a run with a score and the poses' digest for each of its two ligands.
func (w *works) end(run string, scores []float64, pdbqt ...string) {
	w.t.Helper()
	for i, score := range scores {
		w.exec(`UPDATE docking_results SET status = 'COMPLETED', best_score_kcal_mol = $3, pdbqt_sha256 = $4
			WHERE run_id = $1 AND ligand_index = $2`, run, i, score, pdbqt[i])
	}
	w.exec(`UPDATE jobs SET status = 'COMPLETED', finished_at = now(), charged_pence = 0 WHERE id = (SELECT job_id FROM docking_runs
		WHERE id = $1)`, run)
}

func TestReproduce(t *testing.T) {
	t.Parallel()
	w := openWorks(t)
	c := w.rich()
	first := w.submit(c)
	w.exec(`UPDATE docking_runs SET programs = '{"vina":"1.2.6"}' WHERE id = $1`, first.RunID)
	path := base + "/runs/" + first.RunID + "/reproduce"
	got := c.Send("POST", path, "", "Idempotency-Key", "key-0002")
	var made contract.DockingReproduceResponse
	got.Decode(t, &made)
	if got.StatusCode != 202 || made.ReproducesRunID != first.RunID || made.RunID == first.RunID || made.Status != "SUBMITTED" ||
		made.Currency != "GBP" || made.EstimatedCost == "" || made.IdempotentReplay {
		t.Fatalf("got %d %s", got.StatusCode, got.Text)
	}
	again := c.Send("POST", path, "", "Idempotency-Key", "key-0002")
	if told := strings.Replace(again.Text, `,"idempotentReplay":true`, "", 1); again.StatusCode != 202 || told != got.Text ||
		again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replay: got %d %s, want %s", again.StatusCode, again.Text, got.Text)
	}
	want(t, "the key for another run", c.Send("POST", base+"/runs/"+made.RunID+"/reproduce", "", "Idempotency-Key", "key-0002"),
		422, fault.IdempotencyKeyReused, "")
	run := get[contract.DockingRun](c, "/runs/"+made.RunID)
	if run.ReproducesRunID == nil || *run.ReproducesRunID != first.RunID || run.Seed != first.Seed || run.RequestRunID != nil ||
		run.Reproduction.Verdict != "PENDING" || run.LigandCount != 2 {
		t.Errorf("got %+v, %+v", run, run.Reproduction)
	}
	if named := get[contract.DockingRun](c, "/runs/mine"); named.RunID != first.RunID {
		t.Errorf("the caller's name has moved to %s", named.RunID)
	}
	w.end(first.RunID, []float64{-5, -4}, "a", "b")
	w.end(made.RunID, []float64{-5, -4}, "a", "b")
	w.exec(`UPDATE docking_runs SET programs = '{"vina":"1.2.7"}' WHERE id = $1`, made.RunID)
	if r := get[contract.DockingRun](c, "/runs/"+made.RunID).Reproduction; r.Verdict != "IDENTICAL" || r.OfRunID != first.RunID ||
		r.Compared.Identical != 2 ||
		!slices.Equal(r.Reasons, []string{"version of vina: 1.2.6, then 1.2.7"}) {
		t.Errorf("got %+v", r)
	}
	w.end(made.RunID, []float64{-5, -4.05}, "a", "c")
	if r := get[contract.DockingRun](c, "/runs/"+made.RunID).Reproduction; r.Verdict != "WITHIN_TOLERANCE" ||
		*r.Compared.ScoreDifferenceMaxKcalMol != 0.05 {
		t.Errorf("got %+v", r)
	}
}

func TestReproduceIsRefused(t *testing.T) {
	t.Parallel()
	w := openWorks(t)
	c := w.rich()
	run := w.submit(c)
	path := base + "/runs/" + run.RunID + "/reproduce"
	want(t, "a short key", c.Send("POST", path, "", "Idempotency-Key", "short"), 400, fault.Validation, "Idempotency-Key")
	want(t, "a body", c.Send("POST", path, `{"seed":1}`), 400, fault.Validation, "")
	want(t, "an unknown run", c.Send("POST", base+"/runs/"+id.New("run_")+"/reproduce", ""), 404, fault.NotFound, "runId")
	w.exec(`UPDATE credit_accounts SET monthly_held_pence = monthly_pence, wallet_held_pence = wallet_pence WHERE account_id = $1`,
		c.AccountID)
	want(t, "no credit", c.Send("POST", path, ""), 402, fault.InsufficientCredits, "")
}
