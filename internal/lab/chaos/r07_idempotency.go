package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/molfabric/molfabric/internal/id"
)

const (
	// repeatedSubmits is how many submissions with one key come at the same moment.
	repeatedSubmits = 1000
	// otherSubmits is how many with the same key and another body follow.
	otherSubmits = 30
)

// oneKey is R7: it sends one submission a thousand times at once, and two that race for one key.
func oneKey(ctx context.Context, w *World, rng *rand.Rand) error {
	if err := w.Start(ctx, 3, 1, 1); err != nil {
		return err
	}
	if err := oneBody(ctx, w, rng); err != nil {
		return err
	}
	return twoBodies(ctx, w, rng)
}

// submitted is what an answer to a submission says.
type submitted struct {
	JobID            string
	IdempotentReplay bool
}

// verdicts counts the answers to submissions with one key. It is safe for concurrent use.
type verdicts struct {
	mu                             sync.Mutex
	jobs                           map[string]int // answers by the job that they name
	firsts, replays, waits, others int
}

// take sorts an answer in; one that may not be is an error.
func (v *verdicts) take(a Answer) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var receipt submitted
	switch {
	case a.Status == http.StatusOK && json.Unmarshal(a.Body, &receipt) == nil && receipt.JobID != "":
		v.jobs[receipt.JobID]++
		if receipt.IdempotentReplay {
			v.replays++
		} else {
			v.firsts++
		}
	case a.Status == http.StatusConflict && a.code() == "IDEMPOTENCY_IN_PROGRESS":
		v.waits++
	case a.Status == http.StatusUnprocessableEntity && a.code() == "IDEMPOTENCY_KEY_REUSED":
		v.others++
	default:
		return fmt.Errorf("a submission was answered %s", a)
	}
	return nil
}

// one is the job that all answers name.
func (v *verdicts) one() (jobID string, err error) {
	if len(v.jobs) != 1 || v.firsts != 1 {
		return "", fmt.Errorf("the answers name %d jobs, and %d of them are no replay, want 1 and 1", len(v.jobs), v.firsts)
	}
	for jobID = range v.jobs {
	}
	return jobID, nil
}

// keyPlaces are the places of an idempotency key: the header, the body, both.
const keyPlaces = 3

// submitKeyed sends a submission with the key in one of its places, which are all the same to the service.
func (a *Account) submitKeyed(ctx context.Context, api *Process, request json.RawMessage, key string, place int) (Answer, error) {
	var header []string
	if place != 1 {
		header = []string{"Idempotency-Key", key}
	}
	if place != 0 {
		var members map[string]any
		if err := json.Unmarshal(request, &members); err != nil {
			return Answer{}, err
		}
		members["idempotencyKey"] = key
		request = encode(members)
	}
	return a.Send(ctx, api, http.MethodPost, "/v1/jobs/submit", request, header...)
}

// oneBody sends the same submission a thousand times at once, and another one under its key afterwards.
func oneBody(ctx context.Context, w *World, rng *rand.Rand) error {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	apis, key := w.APIs(), id.New("key_")
	places := make([]int, repeatedSubmits)
	for i := range places {
		places[i] = rng.IntN(keyPlaces)
	}
	request := account.Request(Probe{Name: "one", Tasks: 3})
	said := &verdicts{jobs: map[string]int{}}
	send := func(i int, body json.RawMessage, into *verdicts) error {
		answer, err := account.submitKeyed(ctx, apis[i%len(apis)], body, key, places[i])
		if err != nil {
			return err
		}
		return into.take(answer)
	}
	if err := atOnce(repeatedSubmits, func(i int) error { return send(i, request, said) }); err != nil {
		return err
	}
	jobID, err := said.one()
	if err != nil {
		return err
	}
	if said.others > 0 {
		return fmt.Errorf("%d answers call the same request another", said.others)
	}
	w.Figure("replays_count", float64(said.replays))
	w.Figure("in_progress_count", float64(said.waits))

	after := &verdicts{jobs: map[string]int{}}
	other := account.Request(Probe{Name: "another", Tasks: 3})
	if err := atOnce(otherSubmits, func(i int) error { return send(i, other, after) }); err != nil {
		return err
	}
	if after.others != otherSubmits {
		return fmt.Errorf("of %d other bodies under a used key %d were refused as such", otherSubmits, after.others)
	}
	again := &verdicts{jobs: map[string]int{}}
	for i := range apis {
		if err := send(i, request, again); err != nil {
			return err
		}
	}
	if again.jobs[jobID] != len(apis) || again.replays != len(apis) {
		return fmt.Errorf("the same request afterwards: %d of %d APIs replay job %s", again.jobs[jobID], len(apis), jobID)
	}
	if err := w.hasJobs(ctx, account, 1); err != nil {
		return err
	}
	if err := otherAccount(ctx, w, key, jobID); err != nil {
		return err
	}
	return w.AwaitCompleted(ctx, jobID)
}

// otherAccount uses the same key in another account, where it is a new one.
func otherAccount(ctx context.Context, w *World, key, taken string) error {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	jobID, err := account.Submit(ctx, Probe{Name: "one", Tasks: 3}, key)
	if err == nil && jobID == taken {
		err = fmt.Errorf("job %s was replayed to another account", taken)
	}
	return err
}

// twoBodies lets two different submissions with one key race: one becomes a job, whoever sent the other is told.
func twoBodies(ctx context.Context, w *World, rng *rand.Rand) error {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	apis, key := w.APIs(), id.New("key_")
	requests := []json.RawMessage{account.Request(Probe{Name: "first"}), account.Request(Probe{Name: "second"})}
	order := rng.Perm(repeatedSubmits)
	said := []*verdicts{{jobs: map[string]int{}}, {jobs: map[string]int{}}}
	err = atOnce(repeatedSubmits, func(i int) error {
		which := order[i] % len(requests)
		answer, err := account.submitKeyed(ctx, apis[i%len(apis)], requests[which], key, order[i]%keyPlaces)
		if err != nil {
			return err
		}
		return said[which].take(answer)
	})
	if err != nil {
		return err
	}
	won, lost := said[0], said[1]
	if len(won.jobs) == 0 {
		won, lost = lost, won
	}
	jobID, err := won.one()
	if err != nil {
		return err
	}
	if len(lost.jobs) != 0 || lost.others == 0 || won.others != 0 {
		return fmt.Errorf("of two bodies with one key, one has %d jobs and %d refusals, and the other %d refusals", len(lost.jobs),
			lost.others, won.others)
	}
	if err := w.hasJobs(ctx, account, 1); err != nil {
		return err
	}
	return w.AwaitCompleted(ctx, jobID)
}

// hasJobs expects so many jobs of an account, each with its hold.
func (w *World) hasJobs(ctx context.Context, account *Account, want int) error {
	jobs, holds, err := jobsOf(ctx, w.db, account.ID)
	if err == nil && (jobs != want || holds != want) {
		err = fmt.Errorf("the account has %d jobs and %d holds, want %d", jobs, holds, want)
	}
	return err
}
