package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/stream"
	"github.com/molfabric/molfabric/internal/fault"
)

// follow opens the account's stream and waits until it stands.
func (d *desk) follow(caller access.Principal, lastEventID string) (lines <-chan string, hangUp func()) {
	d.t.Helper()
	lines, hangUp = d.streamAt(caller, "/v1/events", lastEventID)
	if line := d.next(lines); line != "retry: 1000" {
		d.t.Fatalf("first line is %q", line)
	}
	return lines, hangUp
}

// told waits for the next event of an account's stream, and returns its place, its kind and its data.
func (d *desk) told(lines <-chan string) (place, kind, data string) {
	d.t.Helper()
	for {
		line := d.next(lines)
		if strings.HasPrefix(line, ":") {
			d.t.Fatal("nothing came before the heartbeat")
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			place = value
		case "event":
			kind = value
		case "data":
			return place, kind, value
		case "":
			d.t.Fatal("the stream has ended")
		}
	}
}

func TestAnAccountsStreamTellsOfAllItsJobs(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	first := d.submit(caller)
	lines, _ := d.follow(caller, "")
	second, foreign := d.submit(caller), d.submit(other)
	if _, kind, data := d.told(lines); kind != "status" || !strings.Contains(data, second) { // what was before is not told
		t.Errorf("got %s %s, want the submission of %s", kind, data, second)
	}
	d.add(foreign, "progress", `{"percent": 1, "message": ""}`)
	d.add(first, "progress", `{"percent": 12.5, "message": "docking"}`)
	if _, kind, data := d.told(lines); kind != "progress" ||
		data != fmt.Sprintf(`{"jobId": %q, "message": "docking", "percent": 12.5}`, first) {
		t.Errorf("got %s %s", kind, data)
	}
	d.become(first, "FAILED", `{"status": "FAILED", "reason": "", "terminal": true}`)
	if _, _, data := d.told(lines); !strings.Contains(data, `"terminal": true`) {
		t.Errorf("the end of a job: got %s", data)
	}
	d.add(second, "task", `{"taskIndex": 0}`)
	if _, kind, data := d.told(lines); kind != "task" || !strings.Contains(data, second) {
		t.Errorf("after the end of a job: got %s %s", kind, data)
	}
}

// TestWhatComesLateIsTold: the transactions of two jobs end in another order than that of their events' ids.
func TestWhatComesLateIsTold(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobs := []string{d.submit(caller), d.submit(caller)}
	follower, err := d.Follow(access.With(t.Context(), caller), caller.AccountID, "")
	if err != nil {
		t.Fatal(err)
	}
	defer follower.release()
	news := func() (ids, places []string) {
		t.Helper()
		found, more, err := follower.News(access.With(t.Context(), caller))
		if err != nil || more {
			t.Fatal(err, more)
		}
		for _, message := range found {
			places = append(places, fmt.Sprint(message.ID))
			var body struct{ Message string }
			if message.Kind != "" {
				if err := json.Unmarshal(message.Body, &body); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, body.Message)
			}
		}
		return ids, places
	}
	news()

	slow, err := d.db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Rollback() }()
	var earlier int64
	if err := slow.GetContext(t.Context(), &earlier, `INSERT INTO job_events (account_id, job_id, kind, body, at)
		VALUES ($1, $2, 'progress', '{"message": "earlier"}', now()) RETURNING id`, caller.AccountID, jobs[0]); err != nil {
		t.Fatal(err)
	}
	d.add(jobs[1], "progress", `{"message": "later"}`)
	for i, want := range [][]string{{"later"}, nil, nil} {
		ids, places := news()
		if !slices.Equal(ids, want) || slices.ContainsFunc(places, func(place string) bool {
			return place >= fmt.Sprint(earlier) &&
				len(place) >= len(fmt.Sprint(earlier))
		}) {
			t.Errorf("look %d: got %v at %v, want %v before %d", i, ids, places, want, earlier)
		}
	}
	if err := slow.Commit(); err != nil {
		t.Fatal(err)
	}
	if ids, _ := news(); !slices.Equal(ids, []string{"earlier"}) {
		t.Errorf("after its transaction: got %v", ids)
	}
	// A client that comes back with the last place gets neither again, once there is nothing to wait for.
	var place string
	for end := time.Now().Add(deadline); len(follower.told) > 0; {
		if _, places := news(); len(places) > 0 {
			place = places[len(places)-1]
		}
		if time.Now().After(end) {
			t.Fatal("nothing settles")
		}
	}
	again, err := d.Follow(access.With(t.Context(), caller), caller.AccountID, place)
	if err != nil {
		t.Fatal(err)
	}
	defer again.release()
	follower = again
	if ids, _ := news(); len(ids) > 0 {
		t.Errorf("come back after %s: got %v", place, ids)
	}
}

// TestAnAccountsStreamIsTakenUp where it broke, with the end of a run that a retry has followed.
func TestAnAccountsStreamIsTakenUp(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	lines, hangUp := d.follow(caller, "")
	d.add(jobID, "progress", `{"percent": 1, "message": ""}`)
	place, _, _ := d.told(lines)
	hangUp()
	d.become(jobID, "FAILED", `{"status": "FAILED", "reason": "", "terminal": true}`)
	d.become(jobID, "QUEUED", `{"status": "QUEUED", "reason": "retry", "terminal": false}`)
	lines, _ = d.follow(caller, place)
	var states []string
	for len(states) < 2 {
		_, kind, data := d.told(lines)
		if kind != "status" {
			continue
		}
		var body struct {
			Status   string
			Terminal bool
		}
		if err := json.Unmarshal([]byte(data), &body); err != nil {
			t.Fatal(err)
		}
		states = append(states, fmt.Sprint(body.Status, body.Terminal))
	}
	if want := []string{"FAILEDfalse", "QUEUEDfalse"}; !slices.Equal(states, want) {
		t.Errorf("got %v, want %v", states, want)
	}
}

func TestAnAccountsStreamSendsALongPastInBatches(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	const events = 2*eventBatch + 1
	d.exec(`INSERT INTO job_events (account_id, job_id, kind, body, at) SELECT account_id, id, 'task', jsonb_build_object('taskIndex', n),
		now() FROM jobs, generate_series(1, $2) n WHERE id = $1`, jobID, events)
	lines, _ := d.follow(caller, "0")
	for n := 1; n <= events; {
		if _, kind, data := d.told(lines); kind == "task" {
			if !strings.Contains(data, fmt.Sprintf(`"taskIndex": %d}`, n)) {
				t.Fatalf("got %s, want task %d", data, n)
			}
			n++
		}
	}
}

func TestFollowRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	ctx := func() context.Context { return access.With(t.Context(), caller) }
	_, err := d.Follow(ctx(), caller.AccountID, "soon")
	wantFault(t, "id", err, fault.Validation, "Last-Event-ID")
	for range stream.MaxAccount {
		if _, err := d.Follow(ctx(), caller.AccountID, ""); err != nil {
			t.Fatal(err)
		}
	}
	_, err = d.Follow(ctx(), caller.AccountID, "")
	wantFault(t, "one too many", err, fault.RateLimited, "")
	jobID := d.submit(caller)
	_, _, err = d.Watch(ctx(), caller.AccountID, jobID, "")
	wantFault(t, "a job's stream beside them", err, fault.RateLimited, "")
}

// TestAnAccountsStreamReadsItsOwnEventsAlone looks at the plan: what other accounts do costs nothing.
func TestAnAccountsStreamReadsItsOwnEventsAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	d.exec(`INSERT INTO job_events (account_id, job_id, kind, body, at) SELECT CASE n % 100 WHEN 0 THEN account_id ELSE 'acct_' || n END, id,
		'task', '{}', now() FROM jobs, generate_series(1, 20000) n WHERE id = $1`, jobID)
	d.exec(`ANALYZE job_events`)
	var plan []string
	if err := d.db.SelectContext(t.Context(), &plan, `EXPLAIN SELECT e.id FROM job_events e JOIN jobs j ON j.id = e.job_id
		WHERE e.account_id = $1 AND e.id > $2 AND e.id <> ALL ('{}') ORDER BY e.id LIMIT 200`, caller.AccountID, 19_000); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "job_events_by_account") {
		t.Errorf("the plan is\n%s", text)
	}
}
