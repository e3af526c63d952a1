package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// framesToLose are the frames of a rendering that is killed twice, in one task. They have as many samples as it takes to be caught
// between two of them.
const (
	framesToLose = 14
	slowSamples  = 48
	// cancelledFrames take the better part of a minute.
	cancelledFrames = 60
)

// TestKilledRenderingBillsEachFrameOnce kills the only worker of a rendering twice, each time when it has saved frames. The end has
// every frame once, none of the saved ones was rendered again, and each attempt is charged for those that it saved. Then it cancels
// one.
func TestKilledRenderingBillsEachFrameOnce(t *testing.T) {
	t.Parallel()
	serverstest.Long(t)
	needRenderers(t)
	folder := blends(t)
	c := start(t, "MOLFABRIC_LIMIT_CREDENTIAL=100000").chemist(t)
	scene, db := c.blend(folder, "plain"), c.database()
	slow := func(last int) map[string]any {
		return artist(scene, map[string]any{"frameStart": 1, "frameEnd": last, "recovery": map[string]any{"mode": "resumable"},
			// By this guess all frames are one task's.
			"metadata": map[string]any{"resolution": small, "samples": slowSamples, "renderTimeMinutes": 0.002}})
	}
	jobID := c.simulate(slow(framesToLose))
	first := c.killRenderer(db, jobID, 1, 2)
	second := c.killRenderer(db, jobID, 2, 1)
	c.rendered(jobID)
	c.eventually("nothing is kept any more", func() bool {
		return asks[int](t, db, `SELECT (SELECT count(*) FROM kept_work) + (SELECT count(*) FROM task_checkpoints)`) == 0
	})
	c.checkEachFrameOnce(db, jobID, first, second)
	c.checkLastAttempt(db, jobID, len(first)+len(second))
	c.checkAttempts(db, jobID, first, second)
	chargedOnce(t, c.api, jobID)
	if held := asks[int](t, db, `SELECT count(*) FROM holds WHERE status = 'open'`); held != 0 {
		t.Errorf("%d holds are open", held)
	}
	c.cancelRendering(db, slow(cancelledFrames))
}

// killRenderer kills the worker of a rendering in its attempt, when that has saved so many frames, and returns all that it had
// saved.
func (c *chemist) killRenderer(db *sqlx.DB, jobID string, attempt, frames int) (saved []string) {
	c.t.Helper()
	const keeps = `SELECT count(*) FROM task_checkpoints k JOIN tasks t ON t.id = k.task_id JOIN kept_work w ON w.task_id = t.id
		AND w.attempt = $2
		WHERE t.job_id = $1 AND t.status = 'RUNNING' AND t.attempt = $2 AND k.attempt = $2 AND k.name LIKE '%/frame_%.json'`
	c.eventually(fmt.Sprintf("attempt %d has saved %d frames", attempt, frames),
		func() bool { return asks[int](c.t, db, keeps, jobID, attempt) >= frames })
	state, err := c.api.Job(c.t.Context(), jobID)
	if err != nil || state.Body.Terminal || state.Body.Preview == nil {
		c.t.Fatalf("with frames saved the job is %+v (%v), want it to run and to have a preview", state, err)
	}
	if err := syscall.Kill(c.worker(), syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	c.eventually(fmt.Sprintf("attempt %d is given up", attempt), func() bool {
		return asks[int](c.t, db, `SELECT count(*) FROM task_attempts a JOIN tasks t ON t.id = a.task_id
			WHERE t.job_id = $1 AND t.stage = 'render' AND a.attempt = $2 AND a.outcome = 'LOST'`, jobID, attempt) == 1
	})
	if err := db.SelectContext(c.t.Context(), &saved, `SELECT k.name FROM task_checkpoints k JOIN tasks t ON t.id = k.task_id
		WHERE t.job_id = $1 AND k.attempt = $2 AND k.name LIKE '%/frame_%.json' ORDER BY k.name`, jobID, attempt); err != nil {
		c.t.Fatal(err)
	}
	return saved
}

// frameOf is the number in the name of a frame's file.
func frameOf(t *testing.T, name string) (frame int64) {
	t.Helper()
	_, number, _ := strings.Cut(name, "frame_")
	if _, err := fmt.Sscanf(number, "%d", &frame); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return frame
}

// checkEachFrameOnce expects a picture and a line of every frame, and that those which either lost attempt had saved are the ones
// that were taken over.
func (c *chemist) checkEachFrameOnce(db *sqlx.DB, jobID string, saved ...[]string) {
	c.t.Helper()
	var all, takenOver, want []int64
	for frame := range int64(framesToLose) {
		all = append(all, frame+1)
	}
	c.checkPictures(jobID, ".png", all...)
	rows := c.frameTable(jobID)
	for i, row := range rows {
		if len(rows) != len(all) || row.frame != all[i] || row.tries != 1 || row.cpuSeconds <= 0 {
			c.t.Fatalf("the table is %+v, want a line of each frame, of one try", rows)
		}
		if row.resumed {
			takenOver = append(takenOver, row.frame)
		}
	}
	for _, name := range slices.Concat(saved...) {
		want = append(want, frameOf(c.t, name))
	}
	slices.Sort(want)
	if unique := slices.Compact(slices.Clone(want)); len(unique) != len(want) || !slices.Equal(takenOver, want) {
		c.t.Errorf("the lost attempts had saved the frames %v, and %v were taken over", want, takenOver)
	}
	if n := asks[int](c.t, db, `SELECT count(DISTINCT frame) FROM artifacts WHERE job_id = $1 AND role = 'frame'`,
		jobID); n != framesToLose {
		c.t.Errorf("%d frames are stored, want %d", n, framesToLose)
	}
}

// checkLastAttempt expects that the third attempt of the only render task rendered no more than what was left.
func (c *chemist) checkLastAttempt(db *sqlx.DB, jobID string, takenOver int) {
	c.t.Helper()
	const said = `SELECT string_agg(t.attempt || ': ' || (d.summary ->> 'frames') || ' frames, ' || (d.summary ->> 'framesResumed')
		|| ' resumed', ' ')
		FROM tasks t JOIN task_details d ON d.task_id = t.id WHERE t.job_id = $1 AND t.stage = 'render'`
	if got, want := asks[string](c.t, db, said, jobID), fmt.Sprintf("3: %d frames, %d resumed", framesToLose,
		takenOver); got != want {
		c.t.Errorf("the last attempt says %q, want %q", got, want)
	}
}

// settled is an attempt of a task with what it used and what it is charged.
type settled struct {
	Stage             string `db:"stage"`
	Attempt           int    `db:"attempt"`
	Outcome           string `db:"outcome"`
	CPUMicroseconds   int64  `db:"cpu_us"`
	ChargedMicropence int64  `db:"charged_micropence"`
}

// checkAttempts holds the attempts against the bill: both lost ones are charged, each for no more than it used until it saved its
// last frame, and all together are what the account has paid.
func (c *chemist) checkAttempts(db *sqlx.DB, jobID string, saved ...[]string) {
	c.t.Helper()
	var attempts []settled
	if err := db.SelectContext(c.t.Context(), &attempts, `SELECT t.stage, a.attempt, a.outcome, a.cpu_us, a.charged_micropence
		FROM task_attempts a
		JOIN tasks t ON t.id = a.task_id WHERE t.job_id = $1 ORDER BY t.stage_index, a.attempt`, jobID); err != nil {
		c.t.Fatal(err)
	}
	cpuSeconds := map[int64]float64{}
	for _, row := range c.frameTable(jobID) {
		cpuSeconds[row.frame] = row.cpuSeconds
	}
	var sum billing.Micropence
	var ended []string
	for _, a := range attempts {
		c.t.Logf("%s, attempt %d: %s, %.2f CPU seconds, %.4f pence", a.Stage, a.Attempt, a.Outcome, float64(a.CPUMicroseconds)/1e6,
			billing.Micropence(a.ChargedMicropence).Pence())
		sum += billing.Micropence(a.ChargedMicropence)
		if a.Stage != "render" {
			continue
		}
		ended = append(ended, a.Outcome)
		if a.Outcome != "LOST" {
			continue
		}
		const micropencePerMicrosecond = 24.0 * 1e6 / 3600e6 // of the class cpu in the price book
		if got, want := a.ChargedMicropence, micropencePerMicrosecond*float64(a.CPUMicroseconds); float64(got) < want-1 ||
			float64(got) > want+1 {
			c.t.Errorf("lost attempt %d is charged %d micropence, want %.0f", a.Attempt, got, want)
		}
		frames := 0.0
		for _, name := range saved[a.Attempt-1] {
			frames += cpuSeconds[frameOf(c.t, name)]
		}
		c.t.Logf("its frames took %.2f CPU seconds", frames)
		if used := float64(a.CPUMicroseconds) / 1e6; used < frames/2 {
			c.t.Errorf("lost attempt %d is charged for %.2f CPU seconds, and the frames that it saved took %.2f", a.Attempt, used,
				frames)
		}
	}
	if got := strings.Join(ended, " "); got != "LOST LOST SUCCEEDED" {
		c.t.Errorf("the attempts ended as %s", got)
	}
	const startFeePence = 1 // of cycles in the price book
	accrued := billing.Micropence(asks[int64](c.t, db, `SELECT accrued_micropence FROM jobs WHERE id = $1`, jobID))
	charged, held := asks[int64](c.t, db, `SELECT charged_pence FROM jobs WHERE id = $1`, jobID), asks[int64](c.t, db, `SELECT
		held_pence FROM jobs WHERE id = $1`, jobID)
	if want := min((sum + billing.FromPence(startFeePence)).RoundPence(), held); accrued != sum || charged != want {
		c.t.Errorf("the attempts cost %d micropence; the job has used %d and is charged %d of %d pence, want %d", sum, accrued,
			charged, held, want)
	}
}

// cancelRendering cancels a rendering that has saved frames and would go on for minutes: its processes end, and what it has used is
// charged.
func (c *chemist) cancelRendering(db *sqlx.DB, request map[string]any) {
	c.t.Helper()
	jobID := c.simulate(request)
	c.eventually("a frame is saved", func() bool {
		return asks[int](c.t, db, `SELECT count(*) FROM kept_work w JOIN tasks t ON t.id = w.task_id WHERE t.job_id = $1`,
			jobID) > 0 && len(childrenOf(c.worker())) > 0
	})
	if _, err := c.api.Cancel(c.t.Context(), jobID, "enough"); err != nil {
		c.t.Fatal(err)
	}
	ended := c.await(c.api, jobID)
	if ended.Status != job.Cancelled {
		c.t.Errorf("ended as %s: %+v", ended.Status, ended.Error)
	}
	c.checkBill(ended)
	c.eventually("the renderer's processes and directories are gone",
		func() bool { return c.attempts() == 0 && len(childrenOf(c.worker())) == 0 })
	chargedOnce(c.t, c.api, jobID)
}
