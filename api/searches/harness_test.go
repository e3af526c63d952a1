package searches_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/keys"
	"github.com/molfabric/molfabric/api/searches"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/scheduler"
	records "github.com/molfabric/molfabric/scheduler/searches"
)

const base = "/api/v1/molecular/blast/searches"

// noon is the time of most of what tests store.
var noon = time.Date(2026, time.November, 21, 12, 0, 0, 123456000, time.UTC)

// lab is a front door with the group's operations, on real stores.
type lab struct {
	*apitest.Door
	t       *testing.T
	objects *object.Store
	keyring *keys.Service
	spec    *huma.OpenAPI
}

func open(t *testing.T) *lab {
	t.Helper()
	objects, _ := objecttest.New(t)
	return openOn(t, objects)
}

func openOn(t *testing.T, objects *object.Store) *lab {
	t.Helper()
	l := &lab{t: t, objects: objects}
	l.Door = apitest.Open(t, apitest.Unhurried, func(deps *api.Deps) {
		l.keyring = keys.New(deps.DB, deps.Config.KeySecrets, deps.Log, deps.Now)
		service := searches.New(searches.Deps{DB: deps.DB, Objects: objects, Log: deps.Log, Now: deps.Now})
		deps.Groups = []func(huma.API){func(a huma.API) { searches.Register(a, service); l.spec = a.OpenAPI() }}
	})
	return l
}

// biologist sends requests with one key.
type biologist struct {
	*lab
	*apitest.Caller
}

// account opens an account and makes a key of it.
func (l *lab) account() biologist {
	l.t.Helper()
	accountID := id.New("acct_")
	l.exec(`INSERT INTO accounts (id, email, name, password_hash, created_at) VALUES ($1, $2, '', '', now())`, accountID,
		accountID+"@example.org")
	return l.keyOf(accountID, access.JobsRead)
}

func (l *lab) keyOf(accountID string, scopes ...string) biologist {
	l.t.Helper()
	made, err := l.keyring.Create(tenant.With(l.t.Context(), accountID), accountID,
		contract.CreateRequest{Name: "test", Environment: access.Live, Scopes: scopes})
	if err != nil {
		l.t.Fatal(err)
	}
	b := biologist{lab: l, Caller: l.WithKey(made.Secret)}
	b.AccountID = accountID
	return b
}

func (l *lab) exec(statement string, args ...any) {
	l.t.Helper()
	if _, err := l.DB.ExecContext(l.t.Context(), statement, args...); err != nil {
		l.t.Fatalf("%s: %v", statement, err)
	}
}

// get reads a resource below the group's base into a T and refuses members that T does not have.
func get[T any](b biologist, path string) T {
	b.t.Helper()
	got := b.Send("GET", base+path, "")
	if got.StatusCode != 200 {
		b.t.Fatalf("%s: got %d %s", path, got.StatusCode, got.Text)
	}
	var value T
	decoder := json.NewDecoder(bytes.NewReader([]byte(got.Text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&value); err != nil {
		b.t.Fatalf("%s: %s: %v", path, got.Text, err)
	}
	return value
}

// want checks an answer's status and code, and that it names what was wrong.
func want(t *testing.T, what string, got apitest.Answer, status int, code fault.Code, named string) {
	t.Helper()
	var failure struct {
		Error string
		Code  fault.Code
	}
	if err := json.Unmarshal([]byte(got.Text), &failure); err != nil || got.StatusCode != status || failure.Code != code ||
		!strings.Contains(failure.Error, named) {
		t.Errorf("%s: got %d %s, want %d %s that names %q", what, got.StatusCode, got.Text, status, code, named)
	}
}

// recorded is what a real search of a handful of queries has left; program says which one.
type recorded struct {
	queries []blast.QueryFound
	hits    []byte
	report  string // the same hits as BLAST itself prints them in its format 6
}

func record(t *testing.T, program string) recorded {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("testdata", program+"-"+name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	found, err := blast.ReadSearch(read("summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	return recorded{queries: found.Queries, hits: read("hits.jsonl"), report: string(read("report.tsv"))}
}

// part is what a task would have found that searches some of the queries alone.
func (r recorded) part(from, to int) recorded {
	r.queries = append([]blast.QueryFound(nil), r.queries[from:to]...)
	start, end := r.queries[0].Offset, r.queries[len(r.queries)-1].Offset+r.queries[len(r.queries)-1].Bytes
	r.hits = r.hits[start:end]
	for i := range r.queries {
		r.queries[i].Offset -= start
	}
	return r
}

// ran is a search that a test has recorded.
type ran struct {
	*lab
	accountID, job string
	keys           []string // of the hits of each task that searched
}

// engineOf are the engines by their ids.
var engineOf = map[string]engines.Engine{blast.IDProtein: blast.NewProtein(), blast.IDNucleotide: blast.NewNucleotide()}

// submit records a search of an account that two tasks make.
func (l *lab) submit(accountID, program string, at time.Time) *ran {
	l.t.Helper()
	r := &ran{lab: l, accountID: accountID, job: id.New("job_")}
	digest := strings.Repeat("ab", 32)
	kind := map[string]string{blast.IDProtein: "prot", blast.IDNucleotide: "nucl"}[program]
	database := engines.SequenceDatabase{
		Name: "p500", Version: "1", Type: kind, ReleasedOn: "2026-01-28", Checksum: digest, Sequences: 500, Residues: 220_000,
		Files: map[string]engines.Object{"p500.phr": {StorageKey: "databases/blast/x/p500.phr", SHA256: digest, ByteSize: 9}},
	}
	submission := scheduler.Submission{AccountID: accountID, Engine: engineOf[program], Request: engines.Request{
		JobID: r.job, JobName: "my search", SceneFile: engines.Object{StorageKey: "accounts/a/q.fasta", ByteSize: 3000},
		Params: json.RawMessage(`{"blastDatabaseName":"p500","blastEvalue":0.5}`), TaskCount: 2,
		Found: engines.Found{Database: &database},
	}}
	plan, err := submission.Engine.Plan(submission.Request)
	if err != nil {
		l.t.Fatal(err)
	}
	l.exec(`INSERT INTO jobs (id, account_id, job_type, simulator, job_name, scene_file, request, status, stage_count, task_count,
		estimated_pence, held_pence, created_at, updated_at)
		VALUES ($1, $2, 'simulation', $3, 'my search', 's', '{}', 'RUNNING', 3, 4, 1, 1, $4, $4)`, r.job, accountID, program, at)
	for i, shard := range plan {
		l.exec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready,
			status)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, 'cpu.blast', true, 'SUCCEEDED')`, r.job+shard.Name, r.job, accountID, i, shard.Stage, shard.StageIndex, shard.Name, shard.Essential)
	}
	r.tx(func(tx *sqlx.Tx) error {
		return records.Recorder{}.Submitted(l.t.Context(), tx, scheduler.Accepted{Submission: submission, JobID: r.job,
			Shards: plan, At: at})
	})
	return r
}

func (r *ran) tx(do func(tx *sqlx.Tx) error) {
	r.t.Helper()
	if err := postgres.InTx(r.t.Context(), r.DB, do); err != nil {
		r.t.Fatal(err)
	}
}

// moved records that a task has succeeded with what it says, or has come into another state.
func (r *ran) moved(stage, name string, to job.TaskStatus, result *queue.Result) {
	r.t.Helper()
	r.tx(func(tx *sqlx.Tx) error {
		return records.Recorder{}.Moved(r.t.Context(), tx, scheduler.TaskMove{
			JobID: r.job, AccountID: r.accountID, TaskID: r.job + name, Stage: stage, Name: name, To: to, Result: result,
			At: noon.Add(time.Minute),
		})
	})
}

// searched stores the hits of a part and records what its task says.
func (r *ran) searched(program, name string, found recorded) {
	r.t.Helper()
	summary, err := json.Marshal(blast.SearchFound{Stage: "search", Program: program, Version: "2.12.0+", HitsFile: blast.HitsFile,
		Queries: found.queries})
	if err != nil {
		r.t.Fatal(err)
	}
	key := r.file(name, "intermediate", blast.HitsFile, found.hits)
	r.keys = append(r.keys, key)
	r.moved("search", name, job.TaskSucceeded, &queue.Result{Summary: summary, Artifacts: []queue.StoredArtifact{
		{Artifact: engines.Artifact{Name: blast.HitsFile}, Object: engines.Object{StorageKey: key}},
	}})
}

// file stores a file of a task.
func (r *ran) file(task, role, name string, content []byte) (key string) {
	r.t.Helper()
	key = "accounts/" + r.accountID + "/" + r.job + "/" + task + "/" + name
	if _, err := r.objects.Put(r.t.Context(), key, bytes.NewReader(content), "text/plain", ""); err != nil {
		r.t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	r.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type, format,
		created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'text/plain', 'x', now())`,
		id.New("art_"), r.job, r.job+task, r.accountID, name, role, key, hex.EncodeToString(sum[:]), len(content))
	return key
}

// end ends the job with a status and leaves the files of the whole.
func (r *ran) end(status job.Status) {
	r.t.Helper()
	r.file("results", "result", "hits.tsv", []byte("# a table\n"))
	r.file("results", "result", "results.json", []byte("{}"))
	r.file("results", "log", "merge.log", []byte("x"))
	r.exec(`UPDATE jobs SET status = $2, started_at = $3, finished_at = $4 WHERE id = $1`, r.job, status, noon.Add(time.Second),
		noon.Add(time.Minute))
	r.tx(func(tx *sqlx.Tx) error { return records.Recorder{}.Ended(r.t.Context(), tx, r.job, status, "", noon) })
}

// proteins is a search of seven proteins by two tasks that has ended; an eighth was none.
func (l *lab) proteins(accountID string, at time.Time) *ran {
	l.t.Helper()
	r, found := l.submit(accountID, blast.IDProtein, at), record(l.t, blast.IDProtein)
	r.moved("split", "queries", job.TaskSucceeded,
		&queue.Result{
			Summary: []byte(
				`{"stage":"split","queries":8,"parts":[{"name":"parts/0001.fasta","queries":4},{"name":"parts/0002.fasta","queries":3}]}`), Failures: []engines.ItemFailure{
				{Item: "queries[7]", Label: "=broken", Step: "parse", Message: "holds the letter 7, which is no amino acid"},
			}})
	r.searched(blast.IDProtein, "search-0001", found.part(0, 4))
	r.searched(blast.IDProtein, "search-0002", found.part(4, 7))
	r.end(job.CompletedWithFailures)
	return r
}

// nucleotides is a search of two pieces of a chromosome, and of one without hits.
func (l *lab) nucleotides(accountID string, at time.Time) *ran {
	l.t.Helper()
	r := l.submit(accountID, blast.IDNucleotide, at)
	r.moved("split", "queries", job.TaskSucceeded,
		&queue.Result{Summary: []byte(`{"stage":"split","queries":3,"parts":[{"name":"parts/0001.fasta","queries":3}]}`)})
	r.searched(blast.IDNucleotide, "search-0001", record(l.t, blast.IDNucleotide))
	r.end(job.Completed)
	return r
}

// at is a path below a search.
func (r *ran) at(below string) string { return "/" + r.job + below }
