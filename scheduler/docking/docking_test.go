package docking

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

const (
	account = "acct_1"
	digest  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

var moment = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a store with one account, and the jobs that a test submits.
type world struct {
	t  *testing.T
	db *sqlx.DB
}

func newWorld(t *testing.T) world {
	t.Helper()
	db := pgtest.New(t)
	w := world{t: t, db: db}
	w.exec(`INSERT INTO accounts (id, email, name, password_hash, created_at) VALUES ($1, 'a@example.org', 'A', 'x', $2)`, account,
		moment)
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
	if err := postgres.InTx(w.t.Context(), w.db, do); err != nil {
		w.t.Fatal(err)
	}
}

// submit records a docking of a library of three, two ligands a task, or of one ligand alone.
func (w world) submit(jobID string, library bool) {
	w.t.Helper()
	entry := func(name, smiles string) string {
		return fmt.Sprintf(`{"ligandId":%q,"label":%q,"source":{"kind":"smiles","smiles":%q}}`, name, name, smiles)
	}
	ligands := `"ligandIdentity":` + entry("solo", "CCO")
	if library {
		ligands = `"ligandLibrary":[` + entry("small", "C") + `,` + entry("middle", "CCCCCCC") + `,` +
			entry("large", "CCCCCCCCCCCC") + `]`
	}
	params := `{` + ligands + `,"boxCenterAngstrom":[0,0,0],"boxSizeAngstrom":20,"seed":7,"dockingExecution":{"shardSize":2},` +
		`"dockingValidation":{"nativeReference":{"componentId":"STI","chain":"A","residue":201}}}`
	scene := engines.Object{StorageKey: "accounts/acct_1/uploads/u1/receptor.pdb", SHA256: digest, ByteSize: 10}
	plan, err := vina.New().Plan(engines.Request{JobID: jobID, SceneFile: scene, Params: json.RawMessage(params)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.exec(`INSERT INTO jobs (id, account_id, job_type, simulator, scene_file, request, status, stage_count, task_count,
		estimated_pence, held_pence, created_at, updated_at)
		VALUES ($1, $2, 'simulation', 'autodock-vina', 's', '{}', 'SUBMITTED', 1, 1, 1, 1, $3, $3)`, jobID, account, moment)
	for i, shard := range plan {
		w.exec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready,
			status)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, 'cpu.autodock-vina', true, 'PENDING')`,
			taskID(jobID, shard.Name), jobID, account, i, shard.Stage, shard.StageIndex, shard.Name, shard.Essential)
		w.exec(`INSERT INTO task_details (task_id) VALUES ($1)`, taskID(jobID, shard.Name))
	}
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Submitted(w.t.Context(), tx, scheduler.Accepted{
			Submission: scheduler.Submission{AccountID: account, DockingRequestID: "req-1", DockingRunID: "mine"}, JobID: jobID,
			Shards: plan, At: moment,
		})
	})
}

func taskID(jobID, name string) string { return jobID + "/" + name }

// move tells of a task's new state. files are the names of a success's outputs.
func (w world) move(jobID, stage, name string, to job.TaskStatus, summary string, files ...string) {
	w.t.Helper()
	move := scheduler.TaskMove{JobID: jobID, AccountID: account, TaskID: taskID(jobID, name), Stage: stage, Name: name, To: to,
		At: moment}
	if to == job.TaskSucceeded {
		move.Result = &queue.Result{Summary: []byte(summary), Programs: map[string]string{"vina": "1.2.7"}}
		w.exec(`UPDATE task_details SET summary = $2 WHERE task_id = $1`, move.TaskID, summary)
		for _, file := range files {
			key := move.TaskID + "/" + file
			w.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type,
				format, created_at)
				VALUES ($1, $2, $3, $4, $5, 'result', $6, $7, 1, 'text/plain', 'x', $8)`, "art_"+key, jobID, move.TaskID, account, file, key, digest, moment)
			move.Result.Artifacts = append(move.Result.Artifacts, queue.StoredArtifact{
				Artifact: engines.Artifact{Name: file}, Object: engines.Object{StorageKey: key, SHA256: digest}})
		}
	}
	if to == job.TaskFailed {
		move.Failure = &engines.Failure{Class: engines.Executor, Code: "X", Message: "the program stopped",
			Items: []engines.ItemFailure{{Item: "large", Step: "parse", Message: "torn"}}}
	}
	w.tx(func(tx *sqlx.Tx) error { return Recorder{}.Moved(w.t.Context(), tx, move) })
}

// results are one line a ligand, in the order of the request.
func (w world) results(jobID string) []string {
	w.t.Helper()
	var lines []string
	err := w.db.SelectContext(w.t.Context(), &lines, `SELECT concat_ws(' ', r.ligand_id, r.status, coalesce(r.failure_stage, '-'),
		coalesce(r.error, '-'),
			coalesce(r.best_score_kcal_mol::text, '-'), r.pose_count, coalesce(array_to_string(r.interactions, ','), '-'), r.notes)
		FROM docking_results r JOIN docking_runs u ON u.id = r.run_id WHERE u.job_id = $1 ORDER BY r.ligand_index`, jobID)
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

func (w world) want(jobID string, want ...string) {
	w.t.Helper()
	got := w.results(jobID)
	if len(got) != len(want) {
		w.t.Fatalf("got %d results %q, want %d", len(got), got, len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			w.t.Errorf("result %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

const (
	prepared = `{"ligands":[
		{"index":0,"status":"PREPARED","canonicalSmiles":"C","dockedSmiles":"C","inchiKey":"K","formalCharge":0,"heavyAtoms":1,"rotatableBonds":0,"notes":["a note"]},
		{"index":1,"status":"PREPARED","canonicalSmiles":"CC","heavyAtoms":7,"notes":[]},
		{"index":2,"status":"FAILED","failureStage":"embed","error":"no conformer"}]}`
	docked = `{"ligands":[{"index":0,"status":"COMPLETED","pdbqt":"poses/00001.pdbqt","cpuSeconds":1.5,"notes":["longer than the box"],"convergence":{"converged":true,"exhaustiveness":8},"poses":[
		{"rank":1,"scoreKcalMol":-2.5,"rmsdLowerBound":0,"rmsdUpperBound":0,"terms":{"inter":-3,"intra":-0.1,"torsional":0.6,"unbound":-0.1}},
		{"rank":2,"scoreKcalMol":-2.25,"rmsdLowerBound":1.5,"rmsdUpperBound":2.5,"terms":{"inter":-2.5,"intra":0,"torsional":0.25,"unbound":0}}]}]}`
	analysed = `{"ligands":[{"index":0,"status":"COMPLETED","sdf":"poses/00001.sdf","notes":["a note"],"poses":[
		{"rank":1,"vinaRank":1,"scoreKcalMol":-2.5,"cnnScore":0.5,"cnnAffinityPk":4.25,"referenceRmsdAngstrom":0.75,"checks":{"passed":true},"interactions":[
			{"type":"hydrogen_bond","receptor":{"chain":"A","residue":381,"insertionCode":"","residueName":"ASP"}},
			{"type":"hydrogen_bond","receptor":{"chain":"A","residue":381,"insertionCode":"","residueName":"ASP"}},
			{"type":"hydrophobic","receptor":{"chain":"A","residue":52,"insertionCode":"A","residueName":"LEU"}}]},
		{"rank":2,"vinaRank":2,"scoreKcalMol":-2.25,"referenceRmsdAngstrom":null,"checks":null,"interactions":null}]}]}`
)

func TestALibraryIsKeptFromSubmissionToRanking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("job_1", true)
	w.want("job_1", "small PENDING - - - 0 - []", "middle PENDING - - - 0 - []", "large PENDING - - - 0 - []")
	w.move("job_1", "prepare", "ligands-0000", job.TaskRunning, "")
	w.want("job_1", "small PREPARING - - - 0 - []", "middle PREPARING - - - 0 - []", "large PREPARING - - - 0 - []")
	w.move("job_1", "prepare", "ligands-0000", job.TaskSucceeded, prepared)
	w.move("job_1", "dock", "dock-00001", job.TaskRunning, "") // the small one: the longest come first
	w.want("job_1", `small DOCKING - - - 0 - ["a note"]`, "middle PENDING - - - 0 - []", "large FAILED embed no conformer - 0 - []")
	w.move("job_1", "dock", "dock-00001", job.TaskPending, "") // its worker was lost
	w.want("job_1", `small PENDING - - - 0 - ["a note"]`, "middle PENDING - - - 0 - []", "large FAILED embed no conformer - 0 - []")
	w.move("job_1", "dock", "dock-00001", job.TaskSucceeded, docked, "poses/00001.pdbqt")
	w.move("job_1", "dock", "dock-00000", job.TaskFailed, "")
	w.want("job_1", `small COMPLETED - - -2.5 2 - ["a note", "longer than the box"]`,
		"middle FAILED dock the program stopped - 0 - []",
		"large FAILED embed no conformer - 0 - []")
	w.move("job_1", "analyse", "analyse-0000", job.TaskSucceeded, analysed, "poses/00001.sdf")
	w.move("job_1", "rank", "rank", job.TaskSucceeded, `{}`, "complexes/00001.pdb")
	w.want("job_1", `small COMPLETED - - -2.5 2 A:ASP:381:hydrogen_bond,A:LEU:52A:hydrophobic ["a note", "longer than the box"]`,
		"middle FAILED dock the program stopped - 0 - []", "large FAILED embed no conformer - 0 - []")
	var poses []string
	err := w.db.SelectContext(t.Context(), &poses, `SELECT concat_ws(' ', rank, score_kcal_mol, unbound,
		coalesce(reference_rmsd_angstrom::text, '-'),
		coalesce(checks::text, '-'), coalesce(jsonb_array_length(interactions)::text, '-'), pdbqt_artifact, sdf_artifact,
		coalesce(complex_artifact, '-')) FROM docking_poses ORDER BY rank`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`1 -2.5 -0.1 0.75 {"passed": true} 3 art_job_1/dock-00001/poses/00001.pdbqt art_job_1/analyse-0000/poses/00001.sdf art_job_1/rank/complexes/00001.pdb`,
		`2 -2.25 0 - - - art_job_1/dock-00001/poses/00001.pdbqt art_job_1/analyse-0000/poses/00001.sdf -`,
	}
	if len(poses) != 2 || poses[0] != want[0] || poses[1] != want[1] {
		t.Errorf("got poses\n%q\nwant\n%q", poses, want)
	}
}

func TestARetryForgetsAndAnEndFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("job_1", true)
	w.move("job_1", "prepare", "ligands-0000", job.TaskSucceeded, prepared)
	w.move("job_1", "dock", "dock-00001", job.TaskSucceeded, docked, "poses/00001.pdbqt")
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Ended(t.Context(), tx, "job_1", job.Cancelled, "enough", moment)
	})
	w.want("job_1", `small COMPLETED - - -2.5 2 - ["a note", "longer than the box"]`,
		"middle FAILED - not docked: the job was cancelled - 0 - []",
		"large FAILED embed no conformer - 0 - []")
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Restarted(t.Context(), tx, "job_1", []string{"dock-00000", "dock-00001"}, moment)
	})
	// What the preparation has said is not said again.
	w.want("job_1", `small PENDING - - - 0 - ["a note"]`, "middle PENDING - - - 0 - []", "large FAILED embed no conformer - 0 - []")
	var poses int
	if err := w.db.GetContext(t.Context(), &poses, `SELECT count(*) FROM docking_poses`); err != nil || poses != 0 {
		t.Errorf("%d poses are left, %v; want none", poses, err)
	}
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Restarted(t.Context(), tx, "job_1", []string{"ligands-0000", "dock-00000", "dock-00001"}, moment)
	})
	w.want("job_1", "small PENDING - - - 0 - []", "middle PENDING - - - 0 - []", "large PENDING - - - 0 - []")
}

// TestConvergenceIsKept keeps how a ligand's search has ended, and forgets it when it is searched again.
func TestConvergenceIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("job_1", true)
	want := func(text string) {
		t.Helper()
		var got []string
		err := w.db.SelectContext(t.Context(), &got, `SELECT concat_ws(' ', u.exhaustiveness, u.exhaustiveness_auto,
			coalesce(r.convergence::text, '-'))
			FROM docking_results r JOIN docking_runs u ON u.id = r.run_id ORDER BY r.ligand_index`)
		if err != nil || got[0] != text {
			t.Errorf("got %q, %v; want first %q", got, err, text)
		}
	}
	want("8 f -")
	w.move("job_1", "prepare", "ligands-0000", job.TaskSucceeded, prepared)
	w.move("job_1", "dock", "dock-00001", job.TaskSucceeded, docked, "poses/00001.pdbqt")
	want(`8 f {"converged": true, "exhaustiveness": 8}`)
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Restarted(t.Context(), tx, "job_1", []string{"dock-00000", "dock-00001"}, moment)
	})
	want("8 f -")
}

// TestPosesAreRankedAgain analyses a ligand whose second pose the network prefers: ranks, scores and the ligand's own figures
// follow, and the model in the PDBQT stays known. An analysis that is repeated changes nothing.
func TestPosesAreRankedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("job_1", true)
	w.move("job_1", "prepare", "ligands-0000", job.TaskSucceeded, prepared)
	w.move("job_1", "dock", "dock-00001", job.TaskSucceeded, docked, "poses/00001.pdbqt")
	const again = `{"ligands":[{"index":0,"status":"COMPLETED","sdf":"poses/00001.sdf","poses":[
		{"rank":1,"vinaRank":2,"scoreKcalMol":-2.25,"cnnScore":0.75,"cnnAffinityPk":6.5,"checks":{"passed":true},"interactions":[]},
		{"rank":2,"vinaRank":1,"scoreKcalMol":-2.5,"cnnScore":0.25,"cnnAffinityPk":5.5,"checks":null,"interactions":null}]}]}`
	for range 2 {
		w.move("job_1", "analyse", "analyse-0000", job.TaskSucceeded, again)
		var poses []string
		err := w.db.SelectContext(t.Context(), &poses,
			`SELECT concat_ws(' ', rank, vina_rank, score_kcal_mol, cnn_score, cnn_affinity_pk) FROM docking_poses ORDER BY rank`)
		if err != nil || len(poses) != 2 || poses[0] != "1 2 -2.25 0.75 6.5" || poses[1] != "2 1 -2.5 0.25 5.5" {
			t.Errorf("got the poses %q, %v", poses, err)
		}
		var result string
		err = w.db.GetContext(t.Context(), &result,
			`SELECT concat_ws(' ', best_score_kcal_mol, cnn_score, cnn_affinity_pk, passed_checks) FROM docking_results
				WHERE ligand_index = 0`)
		if err != nil || result != "-2.25 0.75 6.5 t" {
			t.Errorf("got the result %q, %v", result, err)
		}
	}
	w.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Restarted(t.Context(), tx, "job_1", []string{"dock-00000", "dock-00001"}, moment)
	})
	var left int
	if err := w.db.GetContext(t.Context(), &left,
		`SELECT count(*) FROM docking_results WHERE cnn_score IS NOT NULL OR cnn_affinity_pk IS NOT NULL`); err != nil ||
		left != 0 {
		t.Errorf("%d results keep the network's figures, %v", left, err)
	}
}

func TestARetryForgetsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("job_1", true)
	w.move("job_1", "prepare", "receptor", job.TaskSucceeded, `{"atomCount":9,"box":{"source":"explicit"}}`)
	w.move("job_1", "redock", "redock", job.TaskSucceeded, `{"rmsdAngstrom":4.5,"passed":false}`)
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"dock-00000", "rank"}, "receptor box validation"},
		{[]string{"redock", "rank"}, "receptor box"},
		{[]string{"receptor", "redock"}, ""},
	} {
		w.tx(func(tx *sqlx.Tx) error { return Recorder{}.Restarted(t.Context(), tx, "job_1", c.names, moment) })
		var got string
		err := w.db.GetContext(t.Context(), &got, `SELECT concat_ws(' ', CASE WHEN receptor IS NOT NULL THEN 'receptor' END,
			CASE WHEN box IS NOT NULL THEN 'box' END,
			CASE WHEN validation IS NOT NULL THEN 'validation' END) FROM docking_runs`)
		if err != nil || got != c.want {
			t.Errorf("after a retry of %v the run has %q, %v; want %q", c.names, got, err, c.want)
		}
	}
}

func TestReceptorsAreKeptForTheNextJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit("job_1", false)
	w.submit("job_2", true)
	summary := fmt.Sprintf(`{"format":"pdb","atomCount":9,"reused":false,"box":{"source":"explicit","centerAngstrom":[0,0,0],"sizeAngstrom":[20,20,20],"notes":[]},
		"hashes":{"receptorIdentitySha256":"i","preparationSha256":"p","toolchainSha256":"t","cacheKey":%q},"identity":{"model":null},"preparation":{"protonationPh":7.4}}`, digest)
	w.move("job_1", "prepare", "receptor", job.TaskSucceeded, summary, "receptor.pdbqt")
	w.move("job_2", "prepare", "receptor", job.TaskSucceeded, summary, "receptor.pdbqt")
	w.move("job_2", "redock", "redock", job.TaskSucceeded, `{"rmsdAngstrom":1.25,"passed":true}`)
	var experiments, batches int
	var taskOf, run string
	for query, into := range map[string]any{
		`SELECT count(*) FROM docking_experiments WHERE name = 'receptor.pdb'`: &experiments,
		`SELECT count(*) FROM docking_batches WHERE ligand_count = 3`:          &batches,
		`SELECT task_id FROM docking_preparations`:                             &taskOf,
		`SELECT concat_ws(' ', request_id, request_run_id, seed, receptor->>'atomCount', receptor ? 'box', box->>'source',
			programs->>'vina',
			validation->>'rmsdAngstrom', native_component_id) FROM docking_runs WHERE job_id = 'job_2'`: &run,
	} {
		if err := w.db.GetContext(t.Context(), into, query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if experiments != 1 || batches != 1 || taskOf != "job_2/receptor" || run != "req-1 mine 7 9 f explicit 1.2.7 1.25 STI" {
		t.Errorf("got %d experiments, %d batches, the preparation of %s and run %q", experiments, batches, taskOf, run)
	}
}
