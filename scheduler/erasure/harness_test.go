package erasure_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/uploads"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/audit"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/scheduler"
	"github.com/molfabric/molfabric/scheduler/docking"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// world is a deployment on stores of its own, without workers: the tests do what those would have done.
type world struct {
	t         *testing.T
	db        *sqlx.DB // sees everyone's rows
	served    *sqlx.DB
	objects   *object.Store
	uploads   *uploads.Service
	jobs      *jobs.Service
	scheduler *scheduler.Scheduler
	ledger    *billing.Ledger

	mu    sync.Mutex
	ahead time.Duration
}

func open(t *testing.T) *world {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	rdb, _, prefix := redistest.New(t)
	objects, _ := objecttest.New(t)
	registry := engines.NewRegistry(vina.New())
	w := &world{t: t, db: pgtest.New(t), served: pgtest.Served(t), objects: objects, ledger: billing.NewLedger(book, id.New)}
	log := slog.New(slog.DiscardHandler)
	w.scheduler = scheduler.New(scheduler.Deps{DB: w.served, Queue: queue.New(rdb, prefix), Engines: registry, Prices: book,
		Ledger: w.ledger, Log: log, Now: time.Now, Recorders: map[string]scheduler.Recorder{docking.EngineID: docking.Recorder{}}})
	w.uploads = uploads.New(w.served, objects, time.Now)
	w.jobs = jobs.New(jobs.Deps{DB: w.served, Scheduler: w.scheduler, Engines: registry, Objects: objects,
		Uploads: w.uploads.OwnedAll, Currency: book.Currency, Log: log, Now: time.Now})
	return w
}

// now is the eraser's clock.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

// eraser is a new process: it knows what is written down and nothing else.
func (w *world) eraser(objects erasure.Objects) *erasure.Eraser {
	return erasure.New(erasure.Deps{DB: w.served, Objects: objects, Log: slog.New(slog.DiscardHandler), Now: w.now})
}

func (w *world) pass() {
	w.t.Helper()
	if err := w.eraser(w.objects).Pass(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), statement, args...); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
}

func (w *world) count(query string, args ...any) (n int) {
	w.t.Helper()
	if err := w.db.GetContext(w.t.Context(), &n, `SELECT count(*) `+query, args...); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// account opens an account with credit.
func (w *world) account() access.Principal {
	w.t.Helper()
	accountID := id.New("acct_")
	err := postgres.InTx(w.t.Context(), w.db, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(w.t.Context(), `INSERT INTO accounts (id, email, name, password_hash, plan, created_at)
			VALUES ($1, $2, 'Ada', '', 'free', now())`,
			accountID, accountID+"@example.org")
		if err != nil {
			return err
		}
		return w.ledger.OpenAccount(w.t.Context(), tx, accountID, "free", time.Now())
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return asOwner(accountID)
}

// asOwner is the caller of an account.
func asOwner(accountID string) access.Principal {
	return access.Principal{AccountID: accountID, Plan: "free", Environment: access.Live, Scopes: contract.Scopes}
}

func (w *world) as(who access.Principal) context.Context { return access.With(w.t.Context(), who) }

const receptor = `ATOM      1  N   GLY A   1       1.000   2.000   3.000  1.00  0.00           N
ATOM      2  CA  GLY A   1       2.200   2.000   3.000  1.00  0.00           C
ATOM      3  C   GLY A   1       3.400   2.000   3.000  1.00  0.00           C
`

func (w *world) put(key, content string) {
	w.t.Helper()
	sum := sha256.Sum256([]byte(content))
	if _, err := w.objects.Put(w.t.Context(), key, strings.NewReader(content), "chemical/x-pdb",
		hex.EncodeToString(sum[:])); err != nil {
		w.t.Fatal(err)
	}
}

// upload takes a receptor in; path is "" outside a project package.
func (w *world) upload(who access.Principal, projectID, path string) string {
	w.t.Helper()
	answer, err := w.uploads.Create(w.as(who), who.AccountID, contract.UploadURLRequest{Filename: "receptor.pdb",
		ContentType: "chemical/x-pdb",
		Size:        int64(len(receptor)), ProjectID: projectID, LogicalPath: path})
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(answer.S3Key, receptor)
	return answer.S3Key
}

// try submits a docking into a stored file.
func (w *world) try(who access.Principal, scene string, attachments ...string) (string, error) {
	w.t.Helper()
	text := fmt.Sprintf(`{"jobType":"simulation","simulator":"AutoDock Vina","sceneFile":%q,"jobName":"secret compound","simulationParams":{
		"boxCenterAngstrom":[1,2,3],"boxSizeAngstrom":20,"ligandLibrary":[
			{"ligandId":"a","label":"ethanol","source":{"kind":"smiles","smiles":"CCO"}},{"ligandId":"b","label":"benzene","source":{"kind":"smiles","smiles":"c1ccccc1"}}]}}`, scene)
	var request jobs.SubmitRequest
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		w.t.Fatal(err)
	}
	request.Attachments = attachments
	receipt, err := w.jobs.Submit(w.as(who), who, "", request)
	return receipt.JobID, err
}

func (w *world) submit(who access.Principal, scene string, attachments ...string) string {
	w.t.Helper()
	jobID, err := w.try(who, scene, attachments...)
	if err != nil {
		w.t.Fatal(err)
	}
	return jobID
}

// finish ends a job as if its first task had succeeded, with a result, a log and a prepared receptor, and its owner had
// cancelled it then. It returns the key of the result.
func (w *world) finish(who access.Principal, jobID string) string {
	w.t.Helper()
	var task string
	if err := w.db.GetContext(w.t.Context(), &task, `SELECT id FROM tasks WHERE job_id = $1 AND ordinal = 0`, jobID); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.scheduler.Cancel(w.as(who), who.AccountID, jobID, "seen enough"); err != nil {
		w.t.Fatal(err)
	}
	w.exec(`UPDATE tasks SET status = 'SUCCEEDED', attempt = 1, finished_at = now() WHERE id = $1`, task)
	w.exec(`INSERT INTO task_attempts (task_id, attempt, outcome, finished_at) VALUES ($1, 1, 'SUCCEEDED', now())`, task)
	w.exec(`INSERT INTO task_details (task_id, programs, summary, item_failures, message)
		VALUES ($1, '{"vina":"1.2.5"}', '{"ligands":[]}', '[]', 'docked')
		ON CONFLICT (task_id) DO UPDATE SET programs = excluded.programs, summary = excluded.summary`, task)
	folder := fmt.Sprintf("accounts/%s/jobs/%s/%s/1/", who.AccountID, jobID, task)
	for name, role := range map[string]string{"receptor.pdb": "result", "log.txt": "log"} {
		w.put(folder+name, receptor)
		sum := sha256.Sum256([]byte(receptor))
		w.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type,
			format, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'chemical/x-pdb', 'pdb', now())`,
			id.New("art_"), jobID, task, who.AccountID, name, role, folder+name, hex.EncodeToString(sum[:]), len(receptor))
	}
	w.put(fmt.Sprintf("accounts/%s/jobs/%s/%s/7/left-by-a-retry", who.AccountID, jobID, task), receptor)
	w.exec(`INSERT INTO docking_preparations (account_id, cache_key, receptor_identity_sha256, preparation_sha256, toolchain_sha256,
		identity, preparation, task_id, created_at)
		VALUES ($1, encode(sha256(convert_to($2::text, 'UTF8')), 'hex'), 'a', 'b', 'c', '{}', '{}', $2, now())`, who.AccountID, task)
	w.exec(`UPDATE docking_results SET status = 'COMPLETED', best_score_kcal_mol = -7, pose_count = 1 WHERE run_id = (SELECT id
		FROM docking_runs WHERE job_id = $1) AND ligand_index = 0`, jobID)
	w.exec(`INSERT INTO docking_poses (id, account_id, result_id, rank, score_kcal_mol, rmsd_lower_bound, rmsd_upper_bound, inter,
		intra, torsional, unbound, created_at)
		SELECT $2, account_id, id, 1, -7, 0, 0, -7, 0, 0, 0, now() FROM docking_results
		WHERE run_id = (SELECT id FROM docking_runs WHERE job_id = $1) AND ligand_index = 0`, jobID, id.New("pose_"))
	return folder + "receptor.pdb"
}

// deleteFiles deletes a job's files as its owner.
func (w *world) deleteFiles(who access.Principal, jobID string) (erasure.Deleted, error) {
	return w.jobs.DeleteFiles(w.as(who), who.AccountID, jobID)
}

// stored lists the objects below a prefix.
func (w *world) stored(prefix string) []string {
	w.t.Helper()
	var keys []string
	for info, err := range w.objects.List(w.t.Context(), prefix) {
		if err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// wantAudited checks that the tables and the store agree.
func (w *world) wantAudited(when string) {
	w.t.Helper()
	report, err := audit.Run(tenant.Everyone(w.t.Context(), "a test"), w.db, w.objects, time.Now())
	if err != nil || !report.Clean() {
		w.t.Errorf("%s the audit finds %v, %v", when, report.Findings, err)
	}
}
