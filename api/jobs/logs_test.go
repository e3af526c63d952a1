package jobs

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// log stores what an attempt of a task printed, as the scheduler and a worker do.
func (d *desk) log(caller access.Principal, taskID string, attempt int, text string) (artifactID string) {
	d.t.Helper()
	key := fmt.Sprintf("accounts/%s/%s/%d/log", caller.AccountID, taskID, attempt)
	info, err := d.deps.Objects.Put(d.t.Context(), key, strings.NewReader(text), "text/plain; charset=utf-8", "")
	if err != nil {
		d.t.Fatal(err)
	}
	artifactID = id.New("art_")
	d.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type, format,
		created_at)
		SELECT $1, t.job_id, t.id, t.account_id, 'logs/' || t.name || '.log', 'log', $3, $4, $5, 'text/plain; charset=utf-8', 'log',
		s.finished_at
		FROM tasks t JOIN task_attempts s ON s.task_id = t.id AND s.attempt = $6 WHERE t.id = $2`,
		artifactID, taskID, key, info.SHA256, info.ByteSize, attempt)
	return artifactID
}

func TestLogs(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID, tasks := d.worked(caller)
	long := strings.Repeat("ü", logTailBytes) + "!" // the cut falls into the middle of a character
	want := []string{d.log(caller, tasks[0], 1, "first try\n"), d.log(caller, tasks[0], 2, long),
		d.log(caller, tasks[1], 1, "bad \xff byte")}
	d.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type, format,
		created_at)
		SELECT $1, job_id, id, account_id, 'timings.json', 'log', $1, '', 1, 'application/json', 'json', now() FROM tasks
		WHERE id = $2`, id.New("art_"), tasks[0])

	response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/logs", "")
	shown := decoded[contract.LogList](t, text)
	if response.StatusCode != http.StatusOK || len(shown.Logs) != 4 || shown.NextCursor != nil {
		t.Fatalf("got %d %s, want three logs and a running task", response.StatusCode, text)
	}
	for i, log := range shown.Logs[:3] {
		if log.ArtifactID == nil || *log.ArtifactID != want[i] || log.Attempt != []int{1, 2, 1}[i] || log.Truncated != (i == 1) ||
			log.URLExpiresAt == nil {
			t.Errorf("log %d: got %+v, want %s", i, log, want[i])
		}
		whole, err := http.Get(*log.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = whole.Body.Close()
		if whole.StatusCode != http.StatusOK || whole.ContentLength != log.ByteSize {
			t.Errorf("log %d: its address gives %d, %d bytes, want %d", i, whole.StatusCode, whole.ContentLength, log.ByteSize)
		}
	}
	if cut := *shown.Logs[1].Text; !utf8.ValidString(cut) || len(cut) != logTailBytes-1 || !strings.HasSuffix(long, cut) {
		t.Errorf("cut: got %d bytes", len(cut))
	}
	if *shown.Logs[0].Text != "first try\n" || *shown.Logs[2].Text != "bad \uFFFD byte" {
		t.Errorf("got %q and %q", *shown.Logs[0].Text, *shown.Logs[2].Text)
	}
	if running := shown.Logs[3]; running.TaskID != tasks[2] || running.Status != "RUNNING" ||
		running.Message != "docking benzene" ||
		running.ArtifactID != nil || running.Text != nil || running.URL != nil || running.Truncated {
		t.Errorf("running: got %+v", running)
	}

	if err := d.deps.Objects.Delete(t.Context(), fmt.Sprintf("accounts/%s/%s/1/log", caller.AccountID, tasks[1])); err != nil {
		t.Fatal(err)
	}
	for query, count := range map[string]int{tasks[0]: 2, "0": 2, "1": 1, "2": 1, "3": 0, "999999999": 0, id.New("task_"): 0} {
		found, err := d.Logs(access.With(t.Context(), caller), caller.AccountID, jobID,
			LogQuery{Query: list.Query{Limit: 20}, Task: query})
		if err != nil || len(found.Logs) != count {
			t.Errorf("task %s: got %+v, %v, want %d", query, found.Logs, err, count)
		}
		if query == "1" && (found.Logs[0].Text != nil || found.Logs[0].ArtifactID == nil) {
			t.Errorf("a log that was removed from the store: got %+v", found.Logs[0])
		}
	}
	for _, query := range []string{"-1", "prepare", "task_1", "1e3"} {
		_, err := d.Logs(access.With(t.Context(), caller), caller.AccountID, jobID,
			LogQuery{Query: list.Query{Limit: 20}, Task: query})
		wantFault(t, query, err, fault.Validation, "query.task")
	}
}

func TestLogsPages(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID, tasks := d.worked(caller)
	want := []string{d.log(caller, tasks[0], 1, "1"), d.log(caller, tasks[0], 2, "2"), d.log(caller, tasks[1], 1, "3"), ""}
	var got []string
	for query := (LogQuery{Query: list.Query{Limit: 1}}); ; {
		found, err := d.Logs(access.With(t.Context(), caller), caller.AccountID, jobID, query)
		if err != nil || len(found.Logs) != 1 {
			t.Fatalf("got %+v, %v", found, err)
		}
		got = append(got, valueOr(found.Logs[0].ArtifactID, ""))
		if found.NextCursor == nil {
			break
		}
		query.Cursor = *found.NextCursor
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogPageIsBounded(t *testing.T) {
	t.Parallel()
	rows := func(n int, byteSize int64) []logRecord {
		all := make([]logRecord, n)
		for i := range all {
			all[i].ByteSize.Int64 = byteSize
		}
		return all
	}
	for _, c := range []struct {
		name     string
		count    int
		byteSize int64
		limit    int
		want     int
	}{
		{"none", 0, 0, 20, 0},
		{"fewer than the limit", 3, 1, 20, 3},
		{"one more than the limit", 21, 1, 20, 20},
		{"large logs count their ends", 33, 1 << 30, 100, 32},
		{"as many as there is room for", 32, logTailBytes, 100, 32},
	} {
		if got := logPage(rows(c.count, c.byteSize), c.limit); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		cut        bool
		want       string
	}{
		{"whole", "pose 1", false, "pose 1"},
		{"nothing", "", true, ""},
		{"cut between characters", "ü1", true, "ü1"},
		{"cut in a character", "\xbc1", true, "1"},
		{"cut in a long character", "\x9f\xa7\xac1", true, "1"},
		{"not text at all", "\x80\x80\x80\x80\x80", true, "\uFFFD"},
		{"broken at its beginning", "\xbc1", false, "\uFFFD1"},
	} {
		if got := readable([]byte(c.text), c.cut); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
