package projects_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
)

// TestConcurrentSaversHaveOneWinner lets fifty save on the same head at once: one wins, forty-nine are told of it.
func TestConcurrentSaversHaveOneWinner(t *testing.T) {
	t.Parallel()
	const savers = 50
	c := open(t, projects.Quota{}).account()
	p := c.create(`{"round":0}`)
	for round := int64(1); round <= 3; round++ {
		statuses := atOnce(t, savers, func(i int) (apitest.Answer, error) {
			body := fmt.Sprintf(`{"name":"n","content":{"round":%d,"saver":%d},"expectedVersion":%d}`, round, i, round)
			return c.Try("PUT", base+"/"+p.ProjectID, body, "Idempotency-Key", id.New("key-"))
		})
		if statuses[200] != 1 || statuses[409] != savers-1 {
			t.Fatalf("round %d: %v", round, statuses)
		}
		if now := c.read(p.ProjectID); now.CurrentVersion != round+1 {
			t.Fatalf("head is %d after round %d", now.CurrentVersion, round)
		}
	}
	list := decoded[contract.ProjectRevisionList](t, c.Send("GET", base+"/"+p.ProjectID+"/revisions", ""))
	for i, r := range list.Revisions {
		if r.Version != int64(len(list.Revisions)-i) {
			t.Errorf("history has a gap: %+v", list.Revisions)
		}
	}
}

// TestConcurrentCreatesWithOneKey makes one project, and tells everybody of it.
func TestConcurrentCreatesWithOneKey(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	var mu sync.Mutex
	ids, replays := map[string]bool{}, 0
	statuses := atOnce(t, 20, func(int) (apitest.Answer, error) {
		got, err := c.Try("POST", base, `{"name":"n","content":{}}`, "Idempotency-Key", "the-same-key")
		mu.Lock()
		defer mu.Unlock()
		ids[got.Header.Get("Location")] = true
		if got.Header.Get("Idempotency-Replayed") == "true" {
			replays++
		}
		return got, err
	})
	if statuses[201] != 20 || len(ids) != 1 || replays != 19 {
		t.Errorf("answers %v, projects %v, replays %d", statuses, ids, replays)
	}
	if list := decoded[contract.ProjectList](t, c.Send("GET", base, "")); len(list.Projects) != 1 {
		t.Errorf("%d projects", len(list.Projects))
	}
}

// atOnce runs n requests together and counts their statuses.
func atOnce(t *testing.T, n int, request func(i int) (apitest.Answer, error)) map[int]int {
	t.Helper()
	var (
		mu       sync.Mutex
		wait     sync.WaitGroup
		start    = make(chan struct{})
		statuses = map[int]int{}
	)
	for i := range n {
		wait.Go(func() {
			<-start
			got, err := request(i)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[got.StatusCode]++
		})
	}
	close(start)
	wait.Wait()
	return statuses
}
