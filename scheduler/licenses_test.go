package scheduler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// quiet makes a fabric whose scheduler only does what the test tells it.
func quiet(t *testing.T) (*fabric, *scheduler.Leader) {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	return f, scheduler.NewLeader(f.Scheduler, "")
}

// submitWith submits a job that names software.
func (f *fabric) submitWith(accountID string, shards int, metadata string) string {
	f.t.Helper()
	sub := submission(accountID, shards, "")
	sub.Params = json.RawMessage(fmt.Sprintf(`{"shards":1,"companions":%d}`, shards))
	sub.Metadata = json.RawMessage(metadata)
	receipt, err := f.Submit(context.Background(), sub)
	if err != nil {
		f.t.Fatal(err)
	}
	return receipt.JobID
}

// TestEstimateWithAndWithoutTheAccountsOwnLicence walks what decides about the licence fee.
func TestEstimateWithAndWithoutTheAccountsOwnLicence(t *testing.T) {
	t.Parallel()
	f, _ := quiet(t)
	ada, eve := f.account(), f.account()
	estimate := func(accountID, metadata string) scheduler.Estimation {
		t.Helper()
		got, err := f.Estimate(t.Context(), accountID, threeStages{}, engines.Request{Params: json.RawMessage(`{"shards":600}`),
			Metadata: json.RawMessage(metadata)}, false)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	wantFee := func(what, accountID, metadata string, fee bool) {
		t.Helper()
		got := estimate(accountID, metadata).Quote
		names := strings.Join(got.LicenseNames, ",")
		if got.HasLicenseFee != fee || (got.Breakdown.Software > 0) != fee || (names == "SideFX Houdini Engine") != fee ||
			got.LicenseNames == nil {
			t.Errorf("%s: fee %v, %d micropence for %q; want a fee: %v", what, got.HasLicenseFee, got.Breakdown.Software, names,
				fee)
		}
	}
	wantFee("no metadata", ada, ``, false)
	wantFee("unknown software", ada, `{"software":"a program of my own"}`, false)
	wantFee("software that is no text", ada, `{"software":7}`, false)
	wantFee("licensed software", ada, houdini, true)
	wantFee("written otherwise", ada, `{"software":" hou-DINI_"}`, true)
	wantFee("renderer where software is unset", ada, `{"renderer":"houdini","software":""}`, true)
	wantFee("software before renderer", ada, `{"renderer":"houdini","software":"blender"}`, false)
	wantFee("another case of the member's name", ada, `{"Software":"houdini"}`, false)
	wantFee("a visitor", "", houdini, true)
	with, without := estimate(ada, houdini).Quote, estimate(ada, ``).Quote
	if with.EstimatedPence <= without.EstimatedPence || with.HoldPence <= without.HoldPence ||
		with.Breakdown.Compute != without.Breakdown.Compute {
		t.Errorf("with software %+v, without %+v", with, without)
	}

	own := f.server(ada, seating{seats: 1, enforcement: "ENFORCED", enabled: true})
	wantFee("with a server", ada, houdini, false)
	wantFee("with a server of somebody else", eve, houdini, true)
	wantFee("a visitor beside a server", "", houdini, true)
	if got := estimate(ada, `{"software":"maya"}`).Quote; !got.HasLicenseFee || got.LicenseNames[0] != "Autodesk Maya" {
		t.Errorf("other software: %+v", got)
	}
	f.reseat(own, seating{seats: 1, enforcement: "ADVISORY", enabled: true})
	wantFee("with an advisory server", ada, houdini, false)
	f.reseat(own, seating{seats: 1, enforcement: "DISABLED", enabled: true})
	wantFee("with a server that is not enforced", ada, houdini, true)
	f.reseat(own, seating{seats: 1, enforcement: "ENFORCED", enabled: false})
	wantFee("with a server that is switched off", ada, houdini, true)
	if got := estimate(ada, houdini).Quote; got.HoldPence != with.HoldPence {
		t.Errorf("without a server again: hold of %d, want %d", got.HoldPence, with.HoldPence)
	}
}

// TestTheBillKeepsWhatTheSubmitDecided: whatever happens to the account's servers while a job runs, it is billed as estimated.
func TestTheBillKeepsWhatTheSubmitDecided(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.hire(4, success)
	ada, eve := f.account(), f.account()
	server := f.server(ada, seating{seats: 1, enforcement: "ENFORCED", enabled: true})
	own := f.submitWith(ada, 40, houdini)
	paid := f.submitWith(eve, 40, houdini)
	plain := f.submitWith(ada, 40, ``)
	f.server(eve, seating{seats: 100, enforcement: "ENFORCED", enabled: true}) // too late for the job above
	for _, jobID := range []string{own, paid, plain} {
		f.awaitStatus(jobID, job.Completed)
	}
	if f.count(`SELECT count(*) FROM license_servers WHERE id = $1`, server) != 1 {
		t.Fatal("the server is gone")
	}
	var micropence [3]int64
	for i, jobID := range []string{own, paid, plain} {
		if err := f.db.Get(&micropence[i], `SELECT accrued_micropence FROM jobs WHERE id = $1`, jobID); err != nil {
			t.Fatal(err)
		}
	}
	// 43 tasks of ten seconds: 430 s of a core at 12p an hour.
	if fee := micropence[1] - micropence[2]; micropence[0] != micropence[2] || fee < 1_433_000 || fee > 1_434_000 {
		t.Errorf("own licence %d, paid %d, no software %d micropence", micropence[0], micropence[1], micropence[2])
	}
	for jobID, want := range map[string]bool{own: false, paid: true, plain: false} {
		if got := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND software_micropence_per_core_hour = $2`, jobID,
			int64(houdiniFee)); (got == 1) != want {
			t.Errorf("job with a stored fee: %d, want %v", got, want)
		}
	}
}

// TestSeatsHoldBackNobodyElse: tasks that wait for a seat block neither other jobs of their account nor other accounts, and
// move on when seats are added.
func TestSeatsHoldBackNobodyElse(t *testing.T) {
	t.Parallel()
	f, leader := quiet(t)
	ada, eve := f.account(), f.account()
	server := f.server(ada, seating{seats: 1, enforcement: "ENFORCED", enabled: true})
	licensed := f.submitWith(ada, 100, houdini) // fills every window, if it may
	inFlight := func(jobID string) int {
		return f.count(`SELECT count(*) FROM tasks WHERE job_id = $1 AND status IN ('QUEUED', 'RUNNING')`, jobID)
	}
	dispatch := func() {
		t.Helper()
		if err := leader.Dispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	dispatch()
	if got := inFlight(licensed); got != 1 {
		t.Fatalf("%d licensed tasks in flight, want the one seat's", got)
	}
	own, others := f.submit(ada, 1), f.submit(eve, 1)
	dispatch()
	if inFlight(own) != 1 || inFlight(others) != 1 || inFlight(licensed) != 1 {
		t.Errorf("in flight: %d of the account's other job, %d of another account, %d licensed; want 1 each", inFlight(own),
			inFlight(others), inFlight(licensed))
	}
	f.reseat(server, seating{seats: 2, enforcement: "ENFORCED", enabled: true})
	dispatch()
	if got := inFlight(licensed); got != 2 {
		t.Errorf("with a second seat %d run", got)
	}
	f.reseat(server, seating{seats: 100, enforcement: "ENFORCED", enabled: false})
	f.db.MustExec(`UPDATE tasks SET status = 'SUCCEEDED' WHERE status = 'QUEUED'`)
	dispatch()
	if got := inFlight(licensed); got != 0 {
		t.Errorf("without an enabled server %d started", got)
	}
	second := f.server(ada, seating{seats: 1, enforcement: "ENFORCED", enabled: true})
	f.server(ada, seating{seats: 1, enforcement: "ENFORCED", enabled: true})
	dispatch()
	if got := inFlight(licensed); got != 2 {
		t.Errorf("with two servers of one seat %d run", got)
	}
	f.reseat(second, seating{seats: 1, enforcement: "ADVISORY", enabled: true})
	dispatch()
	if got := inFlight(licensed); got <= 2 {
		t.Errorf("with an advisory server %d run", got)
	}
}

func TestAdvisorySeatsWarn(t *testing.T) {
	t.Parallel()
	f, _ := quiet(t)
	var log bytes.Buffer
	f.Log = slog.New(slog.NewTextHandler(&log, nil))
	ada := f.account()
	f.server(ada, seating{seats: 1, enforcement: "ADVISORY", enabled: true})
	f.submitWith(ada, 10, houdini)
	if err := scheduler.NewLeader(f.Scheduler, "").Dispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "advisory licence") || !strings.Contains(log.String(), "license=sidefx/houdiniengine") ||
		f.inUse(ada) < 2 {
		t.Errorf("%d tasks in flight of one seat, the log says %q", f.inUse(ada), log.String())
	}
}

// TestTwoLeadersShareTheSeats lets leaders dispatch to two queues at the same moment, again and again, while tasks end: what one
// has picked, another may have made wrong.
func TestTwoLeadersShareTheSeats(t *testing.T) {
	t.Parallel()
	f, first := quiet(t)
	leaders := []*scheduler.Leader{first, scheduler.NewLeader(scheduler.New(f.Deps), "")}
	ada := f.account()
	const seats, rounds = 3, 60
	f.server(ada, seating{seats: seats, enforcement: "ENFORCED", enabled: true})
	for range 5 {
		f.submitWith(ada, 20, houdini)
	}
	queues := []string{cpuQueue, "cpu.another"}
	f.db.MustExec(`UPDATE tasks SET queue = $1 WHERE ordinal % 2 = 0`, queues[1])
	for round := range rounds {
		var all sync.WaitGroup
		for _, leader := range leaders {
			for _, queueName := range queues {
				all.Go(func() {
					if err := leader.Fill(t.Context(), queueName); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if got := f.inUse(ada); got > seats {
			t.Fatalf("round %d: %d tasks hold one of %d seats", round, got, seats)
		}
		f.db.MustExec(`UPDATE tasks SET status = 'SUCCEEDED' WHERE id IN (SELECT id FROM tasks WHERE status = 'QUEUED' LIMIT $1)`,
			1+round%seats)
	}
	if ran := f.count(`SELECT count(*) FROM tasks WHERE status = 'SUCCEEDED'`); ran < rounds {
		t.Errorf("only %d tasks ran", ran)
	}
}

func TestLicenseNote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seats, inUse      int64
		advisory, waiting bool
		want              string
	}{
		{4, 3, false, true, ""},
		{4, 4, false, false, ""},
		{4, 4, false, true, "waits for a licence of houdini: 4 of 4 seats are in use"},
		{0, 0, false, true, "waits for a licence of houdini: the account has no enabled licence server for it any more"},
		{4, 4, true, true, ""},
		{4, 5, true, false, "more tasks run than the licence of houdini has seats: 5 of 4"},
	} {
		if got := scheduler.LicenseNote("houdini", c.seats, c.inUse, c.advisory, c.waiting); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
