package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// reader is a recorder that reads summaries and keeps nothing.
type reader struct{}

func (reader) Submitted(context.Context, *sqlx.Tx, scheduler.Accepted) error { return nil }

func (reader) Moved(_ context.Context, _ *sqlx.Tx, move scheduler.TaskMove) error {
	if move.To != job.TaskSucceeded {
		return nil
	}
	var found struct{ Ligands []string }
	if err := json.Unmarshal(move.Result.Summary, &found); err != nil {
		return fmt.Errorf("record %s: %w", move.Name, err)
	}
	return nil
}

func (reader) Restarted(context.Context, *sqlx.Tx, string, []string, time.Time) error { return nil }

func (reader) Ended(context.Context, *sqlx.Tx, string, job.Status, string, time.Time) error {
	return nil
}

// A report that its recorder will never understand fails its attempt, instead of lying in the stream while its job never ends.
func TestASummaryThatIsNoneFailsItsAttempt(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	deps := f.Deps
	deps.Recorders = map[string]scheduler.Recorder{threeStages{}.Spec().ID: reader{}}
	f.Scheduler = scheduler.New(deps)
	f.lead()
	torn := map[string]string{"dock-000": `{"ligands":5}`, "dock-001": "", "dock-002": `[]`}
	f.hire(2, func(order queue.WorkOrder) *queue.Event {
		event := success(order)
		event.Result.Summary = json.RawMessage(`{"ligands":["aspirin"]}`)
		if summary, broken := torn[order.Shard.Name]; broken && order.Attempt == 1 {
			event.Result.Summary = json.RawMessage(summary)
		}
		return event
	})
	jobID := f.submit(f.account(), 3)
	f.awaitStatus(jobID, job.Completed)
	got := f.column(`SELECT t.name || ':' || string_agg(a.outcome, ',' ORDER BY a.attempt) FROM tasks t
		JOIN task_attempts a ON a.task_id = t.id
		WHERE t.job_id = $1 AND t.stage = 'dock' GROUP BY t.name ORDER BY t.name`, jobID)
	if want := strings.Join([]string{"dock-000:FAILED,SUCCEEDED", "dock-001:FAILED,SUCCEEDED", "dock-002:FAILED,SUCCEEDED"},
		" "); got != want {
		t.Errorf("got attempts %s, want %s", got, want)
	}
}
