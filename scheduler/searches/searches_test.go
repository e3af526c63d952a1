package searches

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

const (
	account = "acct_1"
	jobID   = "job_1"
)

var moment = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a store with one account and one search of six queries by two tasks.
type world struct {
	t  *testing.T
	db *sqlx.DB
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{t: t, db: pgtest.New(t)}
	w.exec(`INSERT INTO accounts (id, email, name, password_hash, created_at) VALUES ($1, 'a@example.org', 'A', 'x', $2)`, account,
		moment)
	w.exec(`INSERT INTO jobs (id, account_id, job_type, simulator, scene_file, request, status, stage_count, task_count,
		estimated_pence, held_pence, created_at, updated_at)
		VALUES ($1, $2, 'simulation', 'blastp', 's', '{}', 'SUBMITTED', 3, 4, 1, 1, $3, $3)`, jobID, account, moment)
	digest := strings.Repeat("ab", 32)
	submission := scheduler.Submission{AccountID: account, Engine: blast.NewProtein(), Request: engines.Request{
		JobID: jobID, SceneFile: engines.Object{StorageKey: "accounts/acct_1/q.fasta", ByteSize: 900},
		Params: json.RawMessage(`{"blastMaxHits":7,"blastTimeoutSeconds":60}`), TaskCount: 2,
		Found: engines.Found{Database: &engines.SequenceDatabase{
			Name: "tiny", Version: "1", Type: "prot", ReleasedOn: "2026-01-28", Checksum: digest, Sequences: 5, Residues: 500,
			Files: map[string]engines.Object{"tiny.phr": {StorageKey: "databases/blast/x/tiny.phr", SHA256: digest, ByteSize: 9}},
		}},
	}}
	plan, err := submission.Engine.Plan(submission.Request)
	if err != nil {
		t.Fatal(err)
	}
	for i, shard := range plan {
		w.exec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready,
			status)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, 'cpu.blastp', true, 'PENDING')`, jobID+shard.Name, jobID, account, i, shard.Stage, shard.StageIndex, shard.Name, shard.Essential)
	}
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Submitted(t.Context(), tx, scheduler.Accepted{Submission: submission, JobID: jobID, Shards: plan,
			At: moment})
	})
	return w
}

func (w world) exec(statement string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), statement, args...); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) tx(do func(tx *sqlx.Tx) error) {
	w.t.Helper()
	if err := w.try(do); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) try(do func(tx *sqlx.Tx) error) error {
	return postgres.InTx(w.t.Context(), w.db, do)
}

// move is a task's new state, with what a success says.
func move(stage, name string, to job.TaskStatus, summary string, failures ...engines.ItemFailure) scheduler.TaskMove {
	m := scheduler.TaskMove{JobID: jobID, AccountID: account, TaskID: jobID + name, Stage: stage, Name: name, To: to, At: moment}
	switch to {
	case job.TaskSucceeded:
		m.Result = &queue.Result{Summary: []byte(summary), Failures: failures, Artifacts: []queue.StoredArtifact{
			{Artifact: engines.Artifact{Name: blast.HitsFile}, Object: engines.Object{StorageKey: "keys/" + name}},
		}}
	case job.TaskFailed:
		m.Failure = &engines.Failure{Class: engines.Executor, Code: "X", Message: summary, Items: failures}
	}
	return m
}

func (w world) move(stage, name string, to job.TaskStatus, summary string, failures ...engines.ItemFailure) {
	w.t.Helper()
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Moved(w.t.Context(), tx, move(stage, name, to, summary, failures...))
	})
}

// split records a file of six queries: the third cannot be searched, three go to the first task and two to the second.
func (w world) split() {
	w.t.Helper()
	w.move("split", "queries", job.TaskSucceeded,
		`{"stage":"split","queries":6,"searched":5,"residues":300,"parts":[{"name":"parts/0001.fasta","queries":3,"residues":150},{"name":"parts/0002.fasta","queries":2,"residues":150}]}`,
		engines.ItemFailure{Item: "queries[2]", Label: "empty", Step: "parse", Message: "it has no sequence"})
}

// found is the summary of a task that has searched queries of these places; each has as many hits as its place says.
func found(indices ...int) string {
	summary := blast.SearchFound{Stage: "search", Program: "blastp", Version: "2.12.0+", HitsFile: blast.HitsFile}
	offset := int64(0)
	for _, index := range indices {
		query := blast.QueryFound{Index: index, ID: fmt.Sprintf("q%d", index), Title: "a protein", Length: 60, Hits: index,
			Offset: offset}
		if index > 0 {
			evalue, bits, id, title := 1e-9*float64(index), 50.5, "sp|P1|X", "a subject"
			query.Bytes, query.BestEvalue, query.BestBitScore, query.BestSubjectID, query.BestSubjectTitle = 10, &evalue, &bits,
				&id, &title
		}
		offset += query.Bytes
		summary.Queries = append(summary.Queries, query)
	}
	text, err := json.Marshal(summary)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// want checks the counts of the search, and its queries, a line each in the order of the file.
func (w world) want(counts string, want ...string) {
	w.t.Helper()
	var got []string
	err := w.db.SelectContext(w.t.Context(), &got, `SELECT concat_ws(' ', coalesce(query_id, '?'), coalesce(task, '-'), status,
		hit_count, coalesce(best_evalue::text, '-'),
			coalesce(hits_key || '@' || hits_offset || '+' || hits_bytes, '-'), coalesce(failure_step || ': ' || error, '-'))
		FROM search_queries WHERE job_id = $1 ORDER BY query_index`, jobID)
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Errorf("got queries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var said string
	err = w.db.GetContext(w.t.Context(), &said, `SELECT concat_ws(' ', coalesce(query_count::text, '-'), completed_count,
		failed_count, hit_count) FROM searches WHERE job_id = $1`, jobID)
	if err != nil || said != counts {
		w.t.Errorf("got counts %q, %v; want %q", said, err, counts)
	}
}

func TestASearchIsKeptFromSubmissionToMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want("- 0 0 0")
	w.split()
	const empty = "empty - FAILED 0 - - parse: it has no sequence"
	first := []string{"? search-0001 PENDING 0 - - -", "? search-0001 PENDING 0 - - -", empty, "? search-0001 PENDING 0 - - -"}
	second := []string{"? search-0002 PENDING 0 - - -", "? search-0002 PENDING 0 - - -"}
	w.want("6 0 1 0", append(first, second...)...)
	w.move("search", "search-0002", job.TaskRunning, "")
	searching := []string{"? search-0002 SEARCHING 0 - - -", "? search-0002 SEARCHING 0 - - -"}
	w.want("6 0 1 0", append(first, searching...)...)
	w.move("search", "search-0002", job.TaskPending, "") // its worker was lost
	w.want("6 0 1 0", append(first, second...)...)
	w.move("search", "search-0001", job.TaskSucceeded, found(0, 1, 3))
	w.move("search", "search-0002", job.TaskRunning, "")
	w.move("search", "search-0002", job.TaskFailed, "the report is too large",
		engines.ItemFailure{Item: "queries[5]", Label: "q5", Step: "search", Message: "has too many hits"})
	first = []string{
		"q0 search-0001 COMPLETED 0 - - -", "q1 search-0001 COMPLETED 1 1e-09 keys/search-0001@0+10 -", empty,
		"q3 search-0001 COMPLETED 3 3.0000000000000004e-09 keys/search-0001@10+10 -",
	}
	w.want("6 3 3 4", append(first, "? search-0002 FAILED 0 - - search: the report is too large",
		"? search-0002 FAILED 0 - - search: has too many hits")...)
	// The merge names what is missing, and changes nothing that is known.
	w.move("merge", "results", job.TaskSucceeded, `{}`,
		engines.ItemFailure{Item: "queries[2]", Label: "empty", Step: "parse", Message: "other words"},
		engines.ItemFailure{Item: "queries[3]", Label: "q3", Step: "search", Message: "never"},
		engines.ItemFailure{Item: "queries[4]", Label: "q4", Step: "search", Message: "its task failed"},
		engines.ItemFailure{Item: "queries[5]", Label: "q5", Step: "search", Message: "its task failed"},
		engines.ItemFailure{Item: "the database", Message: "says nothing of a query"})
	w.want("6 3 3 4", append(first, "q4 search-0002 FAILED 0 - - search: the report is too large",
		"q5 search-0002 FAILED 0 - - search: has too many hits")...)
	var said string
	err := w.db.GetContext(t.Context(), &said, `SELECT concat_ws(' ', program, program_version, database_name, database_version,
		database_released_on, database_residues,
		parameters->>'evalue', parameters->>'maxHits', parameters->>'timeoutSeconds', parameters->>'tasks') FROM searches`)
	if want := "blastp 2.12.0+ tiny 1 2026-01-28 500 10 7 60 2"; err != nil || said != want {
		t.Errorf("got %q, %v; want %q", said, err, want)
	}
}

func TestARetryForgetsAndAnEndFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.split()
	w.move("search", "search-0001", job.TaskSucceeded, found(0, 1)) // it tells nothing of the fourth
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Ended(t.Context(), tx, jobID, job.Cancelled, "enough", moment)
	})
	const empty = "empty - FAILED 0 - - parse: it has no sequence"
	const cancelled = "? search-0002 FAILED 0 - - search: not searched: the job was cancelled"
	w.want("6 2 4 1", "q0 search-0001 COMPLETED 0 - - -", "q1 search-0001 COMPLETED 1 1e-09 keys/search-0001@0+10 -", empty,
		"? search-0001 FAILED 0 - - search: the search told nothing of this query", cancelled, cancelled)
	restart := func(names ...string) {
		t.Helper()
		w.tx(func(tx *sqlx.Tx) error { return Recorder{}.Restarted(t.Context(), tx, jobID, names, moment) })
	}
	restart("search-0002", "results")
	w.want("6 2 2 1", "q0 search-0001 COMPLETED 0 - - -", "q1 search-0001 COMPLETED 1 1e-09 keys/search-0001@0+10 -", empty,
		"? search-0001 FAILED 0 - - search: the search told nothing of this query", "? search-0002 PENDING 0 - - -",
		"? search-0002 PENDING 0 - - -")
	restart("search-0001", "search-0002", "results")
	// What the split and an earlier search have called a query is true still.
	w.want("6 0 1 0", "q0 search-0001 PENDING 0 - - -", "q1 search-0001 PENDING 0 - - -", empty,
		"? search-0001 PENDING 0 - - -", "? search-0002 PENDING 0 - - -", "? search-0002 PENDING 0 - - -")
	restart("queries", "search-0001", "search-0002", "results")
	w.want("- 0 0 0")
}

// BLAST+ tells of a query that it could not search as one without hits; the task names it, and that counts.
func TestAQueryThatATaskNamesHasFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.split()
	w.move("search", "search-0001", job.TaskSucceeded, found(0, 1, 3),
		engines.ItemFailure{Item: "queries[0]", Label: "q0", Step: "search", Message: "is all X"})
	w.want("6 2 2 4", "q0 search-0001 FAILED 0 - - search: is all X", "q1 search-0001 COMPLETED 1 1e-09 keys/search-0001@0+10 -",
		"empty - FAILED 0 - - parse: it has no sequence", "q3 search-0001 COMPLETED 3 3.0000000000000004e-09 "+
			"keys/search-0001@10+10 -", "? search-0002 PENDING 0 - - -", "? search-0002 PENDING 0 - - -")
}

func TestAnEndGivesItsReason(t *testing.T) {
	t.Parallel()
	for status, why := range map[job.Status]string{
		job.Failed: "not searched: the disk is full", job.Cancelled: "not searched: the job was cancelled",
		job.CompletedWithFailures: "not searched: the job ended before",
	} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.split()
			w.tx(func(tx *sqlx.Tx) error {
				return Recorder{}.Ended(t.Context(), tx, jobID, status, "the disk is full", moment)
			})
			var got []string
			if err := w.db.SelectContext(t.Context(), &got,
				`SELECT DISTINCT error FROM search_queries WHERE task IS NOT NULL`); err != nil || len(got) != 1 || got[0] != why {
				t.Errorf("got %q, %v; want %q", got, err, why)
			}
		})
	}
}

// What no engine of ours says is refused, and nothing of it is kept.
func TestNonsenseIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]scheduler.TaskMove{
		"no JSON":         move("split", "queries", job.TaskSucceeded, `{`),
		"too many":        move("split", "queries", job.TaskSucceeded, `{"queries":100001}`),
		"fewer than none": move("split", "queries", job.TaskSucceeded, `{"queries":-1}`),
		"a strange part":  move("split", "queries", job.TaskSucceeded, `{"queries":1,"parts":[{"name":"../x","queries":1}]}`),
		"parts of too many": move("split", "queries", job.TaskSucceeded,
			`{"queries":1,"parts":[{"name":"parts/0001.fasta","queries":2000000000}]}`),
		"another stage": move("search", "search-0001", job.TaskSucceeded, `{"stage":"merge"}`),
		"hits without a file": move("search", "search-0001", job.TaskSucceeded,
			strings.Replace(found(0, 1), `"bytes":10`, `"bytes":-1`, 1)),
	} {
		if err := w.try(func(tx *sqlx.Tx) error { return Recorder{}.Moved(t.Context(), tx, c) }); err == nil ||
			!strings.Contains(err.Error(), c.Name) {
			t.Errorf("%s: got %v, want an error that names the task", name, err)
		}
	}
	lost := move("search", "search-0001", job.TaskSucceeded, found(1))
	lost.Result.Artifacts = nil
	if err := w.try(func(tx *sqlx.Tx) error { return Recorder{}.Moved(t.Context(), tx, lost) }); err == nil ||
		!strings.Contains(err.Error(), blast.HitsFile) {
		t.Errorf("no hits file: got %v", err)
	}
	w.want("- 0 0 0")
}
