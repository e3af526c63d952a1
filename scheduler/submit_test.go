package scheduler_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/redistest"
)

func TestInsufficientCreditStoresNothing(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	accountID := f.account()
	_, err := f.Submit(context.Background(), submission(accountID, 15_000, ""))
	if !fault.Is(err, fault.InsufficientCredits) {
		t.Fatalf("got %v, want %s", err, fault.InsufficientCredits)
	}
	if n := f.count(`SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM tasks) + (SELECT count(*) FROM holds)`); n != 0 {
		t.Errorf("%d rows left behind", n)
	}
}

func TestInvalidRequestIsTheEnginesOwnError(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	_, err := f.Submit(context.Background(), submission(f.account(), 0, ""))
	var invalid *engines.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "shards" {
		t.Errorf("got %v, want an InvalidError of shards", err)
	}
}

func TestIdempotencyKeyGivesOneJob(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	accountID := f.account()
	const callers = 20
	ids, replays := make([]string, callers), make([]bool, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			receipt, err := f.Submit(context.Background(), submission(accountID, 2, "the-same-key"))
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
				return
			}
			ids[i], replays[i] = receipt.JobID, receipt.Replayed
		})
	}
	wg.Wait()
	fresh := 0
	for i := range callers {
		if ids[i] != ids[0] {
			t.Errorf("caller %d got job %s, caller 0 got %s", i, ids[i], ids[0])
		}
		if !replays[i] {
			fresh++
		}
	}
	if fresh != 1 || f.count(`SELECT count(*) FROM jobs`) != 1 || f.count(`SELECT count(*) FROM holds`) != 1 {
		t.Errorf("%d answers were not replays, want exactly one job and one hold", fresh)
	}
	_, err := f.Submit(context.Background(), submission(accountID, 3, "the-same-key"))
	if !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("another request with the key: got %v, want %s", err, fault.IdempotencyKeyReused)
	}
}

func TestIdempotencyKeyOfARunningSubmission(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	accountID := f.account()
	first, err := f.db.Begin() // a submission that has claimed its key and not yet ended
	if err != nil {
		t.Fatal(err)
	}
	_, err = first.Exec(`INSERT INTO idempotency_keys (account_id, operation, key, request_sha256, response, created_at, expires_at)
		VALUES ($1, 'jobs.submit', 'busy', '', '{}', now(), now() + interval '1 day')`, accountID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Submit(context.Background(), submission(accountID, 1, "busy")); !fault.Is(err, fault.IdempotencyInProgress) {
		t.Errorf("got %v, want %s", err, fault.IdempotencyInProgress)
	}
	if err := first.Rollback(); err != nil {
		t.Fatal(err)
	}
	if receipt, err := f.Submit(context.Background(), submission(accountID, 1, "busy")); err != nil || receipt.Replayed {
		t.Errorf("after the first has failed: %+v, %v, want a job", receipt, err)
	}
}

func TestIdempotencyKeyExpires(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	accountID, now := f.account(), time.Now()
	submit := func(after time.Duration) (jobID string, replayed bool) {
		f.Now = func() time.Time { return now.Add(after) }
		receipt, err := f.Submit(context.Background(), submission(accountID, 1, "key"))
		if err != nil {
			t.Fatal(err)
		}
		return receipt.JobID, receipt.Replayed
	}
	first, _ := submit(0)
	if again, replayed := submit(47 * time.Hour); again != first || !replayed {
		t.Errorf("after 47 hours: %s, replayed %v, want %s again", again, replayed, first)
	}
	if later, replayed := submit(49 * time.Hour); later == first || replayed {
		t.Errorf("after 49 hours: %s, replayed %v, want a new job", later, replayed)
	}
}
