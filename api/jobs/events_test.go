package jobs

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/stream"
	"github.com/molfabric/molfabric/internal/fault"
)

// stream opens a job's event stream. lines yields what comes; it is closed with the stream.
func (d *desk) stream(caller access.Principal, jobID, lastEventID string) (lines <-chan string, hangUp func()) {
	d.t.Helper()
	return d.streamAt(caller, "/v1/jobs/"+jobID+"/events", lastEventID)
}

func (d *desk) streamAt(caller access.Principal, path, lastEventID string) (lines <-chan string, hangUp func()) {
	d.t.Helper()
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.url+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("X-Account", caller.AccountID)
	if lastEventID != "" {
		request.Header.Set("Last-Event-ID", lastEventID)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || kind != "text/event-stream" {
		d.t.Fatalf("got %d, %s", response.StatusCode, kind)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			if scanner.Text() != "" {
				out <- scanner.Text()
			}
		}
	}()
	hangUp = func() { _ = response.Body.Close() }
	d.t.Cleanup(hangUp)
	return out, hangUp
}

// next waits for the next line; "" is the end of the stream.
func (d *desk) next(lines <-chan string) string {
	d.t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(deadline):
		d.t.Fatal("nothing came")
		return ""
	}
}

// add appends an event and returns its id.
func (d *desk) add(jobID, kind, body string) (eventID string) {
	d.t.Helper()
	if err := d.db.GetContext(d.t.Context(), &eventID, `INSERT INTO job_events (account_id, job_id, kind, body, at)
		SELECT account_id, id, $2, $3, now() FROM jobs WHERE id = $1 RETURNING id::text`, jobID, kind, body); err != nil {
		d.t.Fatal(err)
	}
	return eventID
}

// become changes the state of a job and appends the event in one statement, as the scheduler does in one transaction: no stream
// sees one without the other.
func (d *desk) become(jobID, status, body string) (eventID string) {
	d.t.Helper()
	err := d.db.GetContext(d.t.Context(), &eventID, `
		WITH changed AS (
			UPDATE jobs SET status = $2, finished_at = CASE WHEN $2 IN ('SUBMITTED', 'QUEUED', 'RUNNING',
			'CANCELLING') THEN NULL ELSE now() END WHERE id = $1 RETURNING id, account_id
		) INSERT INTO job_events (account_id, job_id, kind, body, at) SELECT account_id, id, 'status', $3, now() FROM changed RETURNING id::text`, jobID, status, body)
	if err != nil {
		d.t.Fatal(err)
	}
	return eventID
}

func (d *desk) openStreams() int {
	return d.streams.Slots.Taken()
}

// settle waits until no stream is open.
func (d *desk) settle() {
	d.t.Helper()
	for end := time.Now().Add(deadline); d.openStreams() > 0; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%d streams are still open", d.openStreams())
		}
	}
}

func TestStreamTellsWhatHappensUntilTheEnd(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	lines, _ := d.stream(caller, jobID, "")
	if line := d.next(lines); line != "retry: 1000" {
		t.Errorf("first line is %q", line)
	}
	for line := d.next(lines); !strings.HasPrefix(line, "data:"); line = d.next(lines) { // the submission itself
	}
	progress := d.add(jobID, "progress", `{"percent": 12.5, "message": "docking\nethanol"}`)
	for _, want := range []string{"id: " + progress, "event: progress", `data: {"message": "docking\nethanol", "percent": 12.5}`} {
		if line := d.next(lines); line != want {
			t.Errorf("got %q, want %q", line, want)
		}
	}
	d.exec(`UPDATE jobs SET status = 'COMPLETED', finished_at = now() WHERE id = $1`, jobID)
	end := d.add(jobID, "status", `{"status": "COMPLETED", "reason": "", "terminal": true}`)
	for _, want := range []string{"id: " + end, "event: status", `data: {"reason": "", "status": "COMPLETED", "terminal": true}`,
		""} {
		if line := d.next(lines); line != want {
			t.Errorf("got %q, want %q", line, want)
		}
	}
	d.settle()

	lines, _ = d.stream(caller, jobID, progress)
	if line := d.next(lines); line != "retry: 1000" {
		t.Errorf("first line is %q", line)
	}
	if line := d.next(lines); line != "id: "+end {
		t.Errorf("resumed with %q, want only what came after %s", line, progress)
	}
	if response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/events", "", "Last-Event-ID",
		end); response.StatusCode != http.StatusNoContent {
		t.Errorf("after the end: got %d %s, want 204", response.StatusCode, text)
	}
}

func TestStreamSendsALongPastInBatches(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	d.exec(`INSERT INTO job_events (job_id, kind, body, at) SELECT $1, 'progress', jsonb_build_object('percent', n / 10.0,
		'message', ''), now() FROM generate_series(1, $2::int) n`, jobID, 2*eventBatch+50)
	d.exec(`UPDATE jobs SET status = 'FAILED', finished_at = now() WHERE id = $1`, jobID)
	d.add(jobID, "status", `{"status": "FAILED", "reason": "", "terminal": true}`)
	lines, _ := d.stream(caller, jobID, "")
	count, last := 0, 0
	for line := d.next(lines); line != ""; line = d.next(lines) {
		var eventID int
		if _, err := fmt.Sscanf(line, "id: %d", &eventID); err == nil {
			if eventID <= last {
				t.Errorf("event %d comes after %d", eventID, last)
			}
			count, last = count+1, eventID
		}
	}
	if want := 1 + 2*eventBatch + 50 + 1; count != want { // the submission, the progress, the end
		t.Errorf("got %d events, want %d", count, want)
	}
}

// read reads events until the stream ends or has brought count of them, as "id event data".
func (d *desk) read(lines <-chan string, count int) (events []string) {
	d.t.Helper()
	var event []string
	for len(events) < count {
		switch line := d.next(lines); {
		case line == "":
			return events
		case strings.HasPrefix(line, "data: "):
			events, event = append(events, strings.Join(append(event, line), " ")), nil
		case strings.HasPrefix(line, "id: "), strings.HasPrefix(line, "event: "):
			event = append(event, line)
		}
	}
	return events
}

// A stream is cut twice, once in each run of a job that is retried in between. Every event comes once.
func TestStreamResumesAcrossARetry(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.streams.Heartbeat = 20 * time.Millisecond // finds out that the client has gone
	caller := d.account()
	jobID := d.submit(caller)
	var want []string
	task := func(status string) string {
		body := fmt.Sprintf(`{"name": "prepare", "stage": "prepare", "status": %q, "attempt": 1, "taskIndex": 0}`, status)
		eventID := d.add(jobID, "task", body)
		want = append(want, fmt.Sprintf("id: %s event: task data: %s", eventID, body))
		return eventID
	}
	become := func(status string, terminal bool) string {
		body := fmt.Sprintf(`{"reason": "", "status": %q, "terminal": %v}`, status, terminal)
		eventID := d.become(jobID, status, body)
		want = append(want, fmt.Sprintf("id: %s event: status data: %s", eventID, body))
		return eventID
	}
	lines, hangUp := d.stream(caller, jobID, "")
	got := d.read(lines, 1) // the submission itself
	become("RUNNING", false)
	cut := task("RUNNING")
	got = append(got, d.read(lines, 2)...)
	hangUp()
	d.settle()

	task("FAILED")
	end := become("FAILED", true)
	lines, _ = d.stream(caller, jobID, cut)
	got = append(got, d.read(lines, 100)...) // it ends with the job
	d.settle()
	if response, _ := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/events", "", "Last-Event-ID",
		end); response.StatusCode != http.StatusNoContent {
		t.Errorf("after the end: got %d, want 204", response.StatusCode)
	}

	cut = become("SUBMITTED", false) // a retry
	lines, hangUp = d.stream(caller, jobID, end)
	got = append(got, d.read(lines, 1)...)
	hangUp()
	d.settle()
	task("SUCCEEDED")
	lines, _ = d.stream(caller, jobID, cut)
	got = append(got, d.read(lines, 1)...)
	become("COMPLETED", true)
	got = append(got, d.read(lines, 100)...)
	if !slices.Equal(got[1:], want) {
		t.Errorf("got\n%s\nwant every event once\n%s", strings.Join(got[1:], "\n"), strings.Join(want, "\n"))
	}

	// Who comes first after the retry reads over the end of the first run to that of the second.
	lines, _ = d.stream(caller, jobID, "")
	whole := d.read(lines, 100)
	if len(whole) != len(got) || strings.Count(strings.Join(whole, "\n"),
		`"terminal":true`)+strings.Count(strings.Join(whole, "\n"), `"terminal": true`) != 1 {
		t.Errorf("from the beginning: got\n%s\nwant %d events, of which the last alone is terminal", strings.Join(whole, "\n"),
			len(got))
	}
}

func TestStreamNoticesThatItsClientHasGone(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.streams.Heartbeat = 20 * time.Millisecond
	caller := d.account()
	jobID := d.submit(caller)
	lines, hangUp := d.stream(caller, jobID, "")
	for line := d.next(lines); line != ": heartbeat"; line = d.next(lines) {
	}
	if n := d.openStreams(); n != 1 {
		t.Errorf("%d streams are open, want 1", n)
	}
	hangUp()
	d.settle()
}

func TestStreamEndsWithTheServer(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	lines, _ := d.stream(caller, d.submit(caller), "")
	d.next(lines)
	d.stop()
	for d.next(lines) != "" {
	}
	d.settle()
}

func TestStreamEndsAtItsAge(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.streams.MaxAge = time.Millisecond
	caller := d.account()
	lines, _ := d.stream(caller, d.submit(caller), "")
	for d.next(lines) != "" {
	}
	d.settle()
}

// TestStreamEndsWithItsCredential: a stream goes on while its credential is good, and sees nothing once it is not.
func TestStreamEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.streams.Recheck = time.Millisecond
	caller := d.account()
	jobID := d.submit(caller)
	lines, _ := d.stream(caller, jobID, "")
	progress := d.add(jobID, "progress", `{"percent": 1, "message": ""}`)
	for d.next(lines) != "id: "+progress {
	}
	d.ended.Store(true)
	for d.next(lines) != "" {
	}
	d.settle()
}

func TestWatchRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	jobID := d.submit(caller)
	_, _, err := d.Watch(access.With(t.Context(), other), other.AccountID, jobID, "")
	wantFault(t, "another account", err, fault.NotFound, "")
	_, _, err = d.Watch(access.With(t.Context(), caller), caller.AccountID, jobID, "soon")
	wantFault(t, "id", err, fault.Validation, "Last-Event-ID")
	for range stream.MaxAccount {
		if _, _, err := d.Watch(access.With(t.Context(), caller), caller.AccountID, jobID, ""); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err = d.Watch(access.With(t.Context(), caller), caller.AccountID, jobID, "")
	wantFault(t, "one too many", err, fault.RateLimited, "")
	if response, _ := d.call(other, http.MethodHead, "/v1/jobs/"+jobID+"/events", ""); response.StatusCode == http.StatusOK {
		t.Errorf("HEAD of another account: got %d", response.StatusCode)
	}
}

// TestStreamsOfOneAddressAreBounded: accounts without number at one address leave streams to everybody else.
func TestStreamsOfOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t)
	at := func(address string) context.Context { return access.WithAddress(d.t.Context(), address) }
	var releases []func()
	for range stream.MaxAddress / stream.MaxAccount {
		caller := d.account()
		jobID := d.submit(caller)
		for range stream.MaxAccount {
			w, _, err := d.Watch(access.With(at("203.0.113.1"), caller), caller.AccountID, jobID, "")
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, w.release)
		}
	}
	caller := d.account()
	jobID := d.submit(caller)
	if _, _, err := d.Watch(access.With(at("203.0.113.1"), caller), caller.AccountID, jobID, ""); !fault.Is(err,
		fault.RateLimited) {
		t.Errorf("another account at the address: %v, want %s", err, fault.RateLimited)
	}
	w, _, err := d.Watch(access.With(at("203.0.113.2"), caller), caller.AccountID, jobID, "")
	if err != nil {
		t.Fatalf("at another address: %v", err)
	}
	for _, release := range append(releases, w.release) {
		release()
	}
	if open := d.openStreams(); open != 0 {
		t.Errorf("%d streams are open", open)
	}
}
