package renders

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

var moment = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// tracer stands for the ray tracer; only its id is asked for.
type tracer struct{ engines.Engine }

func (tracer) Spec() engines.Spec { return engines.Spec{ID: EngineTraced} }

// gallery is a store with two accounts.
type gallery struct {
	t        *testing.T
	db       *sqlx.DB
	accepted int // jobs
}

func newGallery(t *testing.T) *gallery {
	t.Helper()
	g := &gallery{t: t, db: pgtest.New(t)}
	for _, account := range []string{"acct_1", "acct_2"} {
		g.db.MustExec(`INSERT INTO accounts (id, email, name, password_hash, created_at) VALUES ($1, $1 || '@example.org', 'A', 'x',
			$2)`, account, moment)
	}
	return g
}

const frameParams = `{"picture":{"samples":64}}`

// accept records a job of an account that draws a scene, in shards of so many frames.
func (g *gallery) accept(jobID, account string, scene engines.Object, frames ...int) {
	g.t.Helper()
	shards := []engines.Shard{{Stage: "check", Items: 1}}
	for _, items := range frames {
		shards = append(shards, engines.Shard{Stage: film.StageRender, Items: items, Params: []byte(frameParams)})
	}
	g.accepted++
	at := moment.Add(time.Duration(g.accepted) * time.Second)
	g.db.MustExec(`INSERT INTO jobs (id, account_id, job_type, simulator, scene_file, request, status, stage_count, task_count,
		estimated_pence, held_pence, created_at, updated_at)
		VALUES ($1, $2, 'render', 'cycles', $3, '{}', 'SUBMITTED', 3, 3, 1, 1, $4, $4)`, jobID, account, scene.StorageKey, moment)
	g.tx(func(tx *sqlx.Tx) error {
		return Recorder{}.Submitted(g.t.Context(), tx, scheduler.Accepted{JobID: jobID, At: at, Shards: shards,
			Submission: scheduler.Submission{AccountID: account, Engine: tracer{}, Request: engines.Request{SceneFile: scene}}})
	})
}

func (g *gallery) tx(do func(tx *sqlx.Tx) error) {
	g.t.Helper()
	if err := postgres.InTx(g.t.Context(), g.db, do); err != nil {
		g.t.Fatal(err)
	}
}

// rendered records that a task has ended well.
func (g *gallery) rendered(jobID, stage, summary string, at time.Time) {
	g.t.Helper()
	g.tx(func(tx *sqlx.Tx) error { return Recorder{}.Moved(g.t.Context(), tx, ended(jobID, stage, summary, at)) })
}

func ended(jobID, stage, summary string, at time.Time) scheduler.TaskMove {
	return scheduler.TaskMove{JobID: jobID, Stage: stage, Name: stage, To: job.TaskSucceeded, At: at,
		Result: &queue.Result{Summary: json.RawMessage(summary)}}
}

func (g *gallery) want(account string, scene engines.Object, engine string, want *engines.RenderCost) {
	g.t.Helper()
	got, found, err := Cost(g.t.Context(), g.db, account, scene, engine)
	if err != nil || found != (want != nil) || found && got != *want {
		g.t.Errorf("cost of %+v for %s with %s: got %+v, %v, %v; want %+v", scene, account, engine, got, found, err, want)
	}
}

func TestTheNewestMeasurementOfASceneIsKept(t *testing.T) {
	t.Parallel()
	g := newGallery(t)
	scene := engines.Object{StorageKey: "uploads/1/scene.blend", SHA256: strings.Repeat("ab", 32), ByteSize: 9}
	again := engines.Object{StorageKey: "uploads/2/other.blend", SHA256: scene.SHA256, ByteSize: 9} // the same file
	g.accept("job_1", "acct_1", scene)
	g.want("acct_1", scene, EngineTraced, nil)
	g.rendered("job_1", "check", `{"loadCpuSeconds":99,"frameCpuSeconds":99,"frames":1}`, moment)
	g.want("acct_1", scene, EngineTraced, nil)
	g.rendered("job_1", "render", `{"loadCpuSeconds":1.5,"frameCpuSeconds":40,"frames":3,"pixels":57600,"samples":64}`,
		moment.Add(time.Minute))
	g.rendered("job_1", "render", `{"loadCpuSeconds":2,"frameCpuSeconds":50,"frames":2,"pixels":1000,"samples":32,"stated":true}`,
		moment.Add(2*time.Minute))
	g.rendered("job_1", "render", `{"loadCpuSeconds":7,"frameCpuSeconds":70,"frames":2}`, moment) // told late
	newest := &engines.RenderCost{LoadCPUSeconds: 2, FrameCPUSeconds: 50, Pixels: 1000, Samples: 32, Stated: true}
	g.want("acct_1", scene, EngineTraced, newest)
	g.want("acct_1", again, EngineTraced, newest)
	g.want("acct_1", scene, EngineRaster, nil)
	g.want("acct_2", scene, EngineTraced, nil)

	unstated := engines.Object{StorageKey: "uploads/3/scene.blend", ByteSize: 9}
	g.accept("job_2", "acct_2", unstated)
	g.rendered("job_2", "render", `{"loadCpuSeconds":0,"frameCpuSeconds":3,"frames":1}`, moment)
	g.want("acct_2", unstated, EngineTraced, &engines.RenderCost{FrameCPUSeconds: 3})
	g.want("acct_2", engines.Object{StorageKey: unstated.StorageKey, ByteSize: 10}, EngineTraced, nil)
	g.rendered("job_unknown", "render", `{"loadCpuSeconds":1,"frameCpuSeconds":1,"frames":1}`, moment)
}

func TestHowFramesWereCutIsKept(t *testing.T) {
	t.Parallel()
	g := newGallery(t)
	scene := engines.Object{StorageKey: "uploads/1/scene.blend", SHA256: strings.Repeat("ab", 32), ByteSize: 9}
	for i, items := range [][]int{{5, 5}, {3, 3, 3, 3}, {12}, {5, 4, 4, 4}, {1}} {
		g.accept(fmt.Sprintf("job_%d", i), "acct_1", scene, items...)
	}
	like := func(frames int) string { return film.Likeness([]byte(frameParams), frames) }
	for account, want := range map[string]map[string]int{"acct_1": {like(10): 2, like(12): 1, like(17): 4, like(1): 1},
		"acct_2": {}} {
		got, err := Shards(t.Context(), g.db, account, scene, EngineTraced)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("the shards of %s: got %v, %v; want %v", account, got, err, want)
		}
	}
	if got, err := Shards(t.Context(), g.db, "acct_1", scene, EngineRaster); err != nil || len(got) > 0 {
		t.Errorf("the shards with another engine: got %v, %v", got, err)
	}
}

func TestSenselessMeasurementsAreLeftOut(t *testing.T) {
	t.Parallel()
	g := newGallery(t)
	scene := engines.Object{StorageKey: "uploads/1/scene.blend", ByteSize: 9}
	g.accept("job_1", "acct_1", scene)
	for _, summary := range []string{``, `null`, `{}`, `{"frames":3}`, `{"loadCpuSeconds":1,"frameCpuSeconds":1,"frames":0}`,
		`{"loadCpuSeconds":-1,"frameCpuSeconds":1,"frames":1}`, `{"loadCpuSeconds":1,"frameCpuSeconds":0,"frames":1}`,
		`{"loadCpuSeconds":1,"frameCpuSeconds":1e300,"frames":1}`, `{"loadCpuSeconds":1,"frames":1}`} {
		g.rendered("job_1", "render", summary, moment)
		g.want("acct_1", scene, EngineTraced, nil)
	}
	for _, summary := range []string{`[]`, `{"frames":"many"}`, `{"frames":`} {
		err := postgres.InTx(t.Context(), g.db, func(tx *sqlx.Tx) error {
			return Recorder{}.Moved(t.Context(), tx, ended("job_1", "render", summary, moment))
		})
		if err == nil {
			t.Errorf("the summary %s was taken", summary)
		}
	}
	g.rendered("job_1", "render", `{"loadCpuSeconds":1,"frameCpuSeconds":1,"frames":1,"pixels":-5,"samples":9000000000}`, moment)
	g.want("acct_1", scene, EngineTraced, &engines.RenderCost{LoadCPUSeconds: 1, FrameCPUSeconds: 1})
	var pixels, samples *int64
	if err := g.db.QueryRow(`SELECT pixels, samples FROM render_costs`).Scan(&pixels, &samples); err != nil || pixels != nil ||
		samples != nil {
		t.Errorf("pixels %v, samples %v, %v; want neither", pixels, samples, err)
	}
}
