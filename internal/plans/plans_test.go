package plans

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// shard is one of a plan; params are of about so many bytes.
func shard(i, params int) engines.Shard {
	text, err := json.Marshal(map[string]any{"ligand": fmt.Sprint("CCO & <", i, ">"), "rest": strings.Repeat("x", params)})
	if err != nil {
		panic(err)
	}
	return engines.Shard{Stage: "dock", StageIndex: i / 100, Name: fmt.Sprintf("dock-%05d", i), Params: text,
		ExpectedCPUSeconds: float64(i) / 3, Inputs: []engines.Input{{Name: "scene",
			Object: &engines.Object{StorageKey: "k", ByteSize: 7}}}}
}

func plan(shards, params int) []engines.Shard {
	all := make([]engines.Shard, shards)
	for i := range all {
		all[i] = shard(i, params)
	}
	return all
}

// store is a database with jobs that have no tasks.
func store(t *testing.T, jobIDs ...string) *sqlx.DB {
	t.Helper()
	db := pgtest.New(t)
	db.MustExec(`INSERT INTO accounts (id, email, name, created_at) VALUES ('acct_1', 'a@example.org', 'A', now())`)
	for _, jobID := range jobIDs {
		db.MustExec(`INSERT INTO jobs (id, account_id, job_type, scene_file, request, status, stage_count, task_count,
			estimated_pence, held_pence, created_at, updated_at)
			VALUES ($1, 'acct_1', 'simulation', 's', '{}', 'RUNNING', 1, 1, 1, 1, now(), now())`, jobID)
	}
	return db
}

func keep(t *testing.T, db *sqlx.DB, jobID string, plan []engines.Shard) {
	t.Helper()
	written := Write(plan)
	defer written.Stop()
	if err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
		return written.Insert(t.Context(), tx, jobID)
	}); err != nil {
		t.Fatal(err)
	}
}

func all(t *testing.T, db *sqlx.DB, jobID string) (read []engines.Shard) {
	t.Helper()
	err := Each(t.Context(), db, jobID, func(ordinal int, s engines.Shard) error {
		if ordinal != len(read) {
			return fmt.Errorf("shard %d comes as number %d", ordinal, len(read))
		}
		read = append(read, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestPlans keeps plans of all sizes and reads them again, whole and a few shards at a time.
func TestPlans(t *testing.T) {
	t.Parallel()
	plans := map[string][]engines.Shard{"one": plan(1, 10), "block": plan(blockShards, 10), "library": plan(40*blockShards+3, 10),
		"wide":   plan(20, 100_000),
		"widest": plan(2, engines.MaxShardParamsBytes-100)}
	db := store(t, "one", "block", "library", "wide", "widest")
	var places []Place
	var want []engines.Shard
	for jobID, p := range plans {
		keep(t, db, jobID, p)
		if read := all(t, db, jobID); !reflect.DeepEqual(read, p) {
			t.Errorf("%s: %d shards were kept, and %d read that are not the same", jobID, len(p), len(read))
		}
		for _, i := range []int{len(p) - 1, len(p) / 2, 0} {
			places, want = append(places, Place{jobID, i}), append(want, p[i])
		}
	}
	texts, err := At(t.Context(), db, places)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		var got engines.Shard
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("at %v is %.200s (%v), want %s", places[i], text, err, want[i].Name)
		}
	}
	var bytes, blocks int
	if err := db.QueryRow(`SELECT sum(octet_length(shards)), count(*) FROM plan_blocks WHERE job_id = 'library'`).Scan(&bytes,
		&blocks); err != nil {
		t.Fatal(err)
	}
	if blocks != 41 || bytes > 100*len(plans["library"]) {
		t.Errorf("%d shards take %d bytes in %d blocks", len(plans["library"]), bytes, blocks)
	}
}

// TestNoPlan asks for what is not there.
func TestNoPlan(t *testing.T) {
	t.Parallel()
	db := store(t, "job")
	keep(t, db, "job", plan(2, 10))
	texts, err := At(t.Context(), db, []Place{{"job", 2}, {"job", 1}, {"none", 0}})
	if err != nil || texts[0] != nil || texts[1] == nil || texts[2] != nil {
		t.Errorf("got %s, %v", texts, err)
	}
	if texts, err := At(t.Context(), db, nil); err != nil || len(texts) != 0 {
		t.Errorf("of no place: %s, %v", texts, err)
	}
	if read := all(t, db, "none"); read != nil {
		t.Errorf("a job that is not there has the plan %v", read)
	}
}

// TestBrokenPlan reads a plan that cannot be read any more beside a sound one.
func TestBrokenPlan(t *testing.T) {
	t.Parallel()
	db := store(t, "broken", "sound")
	keep(t, db, "broken", plan(2, 10))
	keep(t, db, "sound", plan(2, 10))
	db.MustExec(`UPDATE plan_blocks SET shards = substring(shards FOR 20) WHERE job_id = 'broken'`)
	texts, err := At(t.Context(), db, []Place{{"broken", 0}, {"sound", 1}})
	if err != nil || texts[0] != nil || !bytes.Contains(texts[1], []byte("dock-00001")) {
		t.Errorf("got %s, %v", texts, err)
	}
	err = Each(t.Context(), db, "broken", func(int, engines.Shard) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the plan of broken") {
		t.Errorf("the whole plan: %v", err)
	}
}

// TestEachEnds ends the reading early, with and without an error.
func TestEachEnds(t *testing.T) {
	t.Parallel()
	db := store(t, "job")
	keep(t, db, "job", plan(200, 10))
	broken := errors.New("broken")
	for end, want := range map[error]error{ErrEnough: nil, broken: broken} {
		calls := 0
		err := Each(t.Context(), db, "job", func(int, engines.Shard) error { calls++; return end })
		if !errors.Is(err, want) || calls != 1 {
			t.Errorf("%v: %d calls, %v", end, calls, err)
		}
	}
}

// TestEarlierPlans reads plans whose shards lie with their tasks, as programs before this one wrote them.
func TestEarlierPlans(t *testing.T) {
	t.Parallel()
	db := store(t, "earlier", "newer")
	earlier := plan(3, 10)
	for i, s := range earlier {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		db.MustExec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready,
			status)
			VALUES ('task_' || $1, 'earlier', 'acct_1', $1::int, 'dock', 0, $2, true, 1, 'cpu.autodock-vina', true, 'PENDING')`, fmt.Sprint(i), s.Name)
		db.MustExec(`INSERT INTO task_details (task_id, shard) VALUES ('task_' || $1, $2::jsonb)`, fmt.Sprint(i), string(text))
	}
	keep(t, db, "newer", plan(3, 10))
	if read := all(t, db, "earlier"); len(read) != 3 || read[2].Name != earlier[2].Name {
		t.Errorf("read %v", read)
	}
	texts, err := At(t.Context(), db, []Place{{"newer", 1}, {"earlier", 2}, {"earlier", 0}})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"dock-00001", "dock-00002", "dock-00000"} {
		if !bytes.Contains(texts[i], []byte(name)) {
			t.Errorf("place %d has %s, want %s", i, texts[i], name)
		}
	}
}

// TestStopEndsWriting drops plans that nobody took, and those that cannot be written.
func TestStopEndsWriting(t *testing.T) {
	t.Parallel()
	db := store(t, "job")
	dropped := Write(plan(64*blockShards, 10))
	dropped.Stop()
	for ended := time.After(time.Minute); ; {
		select {
		case _, more := <-dropped.blocks:
			if more {
				continue
			}
		case <-ended:
			t.Error("the writing goes on")
		}
		break
	}
	unreadable := Write([]engines.Shard{{Params: json.RawMessage(`{`)}})
	defer unreadable.Stop()
	err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error { return unreadable.Insert(t.Context(), tx, "job") })
	if err == nil || !strings.Contains(err.Error(), "shards 0 to 0") {
		t.Errorf("a shard that is no JSON: %v", err)
	}
}

// TestBlocksAreBounded looks at the sizes of blocks.
func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	for params, want := range map[int][]int{10: {blockShards, 2 * blockShards, 150}, 100_000: {2, 4, 6}, blockBytes: {1, 2, 3}} {
		p := plan(want[len(want)-1], params)
		var ends []int
		for end := 0; end < len(p); {
			end = endOfBlock(p, end)
			ends = append(ends, end)
		}
		if !slices.Equal(ends, want) {
			t.Errorf("blocks of %d bytes of parameters end at %v, want %v", params, ends, want)
		}
	}
}
