package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
)

const (
	// racingSaves meet at one version of a project.
	racingSaves = 50
	// saveRounds is how often, in the whole form and in the short one.
	saveRounds, shortSaveRounds = 20, 4
)

// oneVersion is R9: it lets writers meet at one version of a project, round after round.
func oneVersion(ctx context.Context, w *World, rng *rand.Rand) error {
	if err := w.Start(ctx, 3, 0, 0); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	project, err := account.Client.CreateProject(ctx, contract.ProjectCreateRequest{Name: "Raced for",
		Content: contract.Content(`{"writer":"nobody"}`)})
	if err != nil {
		return err
	}
	rounds := saveRounds
	if w.Short {
		rounds = shortSaveRounds
	}
	wins := []string{project.Body.ContentSHA256}
	for version := int64(1); version <= int64(rounds); version++ {
		digest, err := raceToSave(ctx, w, rng, account, project.Body.ProjectID, version)
		if err != nil {
			return fmt.Errorf("at version %d: %w", version, err)
		}
		wins = append(wins, digest)
	}
	w.Figure("rounds_count", float64(rounds))
	return unbroken(ctx, account, project.Body.ProjectID, wins)
}

// change is a request that makes a successor of a project's version.
type change struct {
	method, path, key string
	body              []byte
}

// changesAt are requests that all expect the same version: saves, and where mixed is set restorations and shares with a content
// too.
func changesAt(projectID string, version int64, mixed bool, rng *rand.Rand) []change {
	base := "/v1/molecular/projects/" + projectID
	all := make([]change, racingSaves)
	for i := range all {
		content := map[string]any{"writer": i, "version": version}
		one := change{method: http.MethodPut, path: base, key: id.New("key_"),
			body: encode(map[string]any{"expectedVersion": version, "name": fmt.Sprintf("writer %d", i), "content": content})}
		if mixed && rng.IntN(3) == 0 {
			one.method, one.path = http.MethodPost, base+"/shares"
			one.body = encode(map[string]any{"expectedVersion": version, "content": content})
		} else if mixed && rng.IntN(3) == 0 {
			one.method, one.path = http.MethodPost, base+"/revisions/1/restore"
			one.body = encode(map[string]any{"expectedVersion": version})
		}
		all[i] = one
	}
	return all
}

// raceToSave sends all changes at once. One wins; its winner's next try answers as before, and a loser's is refused again. Returns
// the digest of the new head.
func raceToSave(
	ctx context.Context, w *World, rng *rand.Rand, account *Account, projectID string, version int64,
) (digest string, err error) {
	apis, all := w.APIs(), changesAt(projectID, version, version%2 == 0, rng)
	var mu sync.Mutex
	winners := []int{}
	send := func(i int, api *Process) (Answer, error) {
		return account.Send(ctx, api, all[i].method, all[i].path, all[i].body, "Idempotency-Key", all[i].key)
	}
	err = atOnce(len(all), func(i int) error {
		answer, err := send(i, apis[i%len(apis)])
		if err != nil {
			return err
		}
		if answer.Status == http.StatusOK || answer.Status == http.StatusCreated {
			mu.Lock()
			defer mu.Unlock()
			winners = append(winners, i)
			return nil
		}
		return conflicts(answer, version+1)
	})
	if err != nil {
		return "", err
	}
	if len(winners) != 1 {
		return "", fmt.Errorf("%d of %d changes won, want 1", len(winners), len(all))
	}
	for _, api := range apis {
		again, err := send(winners[0], api)
		if err != nil {
			return "", err
		}
		if again.Status/100 != 2 || again.Header.Get("Idempotency-Replayed") != "true" {
			return "", fmt.Errorf("the winner's request again answered %s, Idempotency-Replayed %q", again,
				again.Header.Get("Idempotency-Replayed"))
		}
		late, err := send((winners[0]+1)%len(all), api)
		if err != nil {
			return "", err
		}
		if err := conflicts(late, version+1); err != nil {
			return "", fmt.Errorf("a loser's request again: %w", err)
		}
	}
	head, err := account.Client.Project(ctx, projectID)
	if err == nil && head.Body.CurrentVersion != version+1 {
		err = fmt.Errorf("the head is version %d", head.Body.CurrentVersion)
	}
	return head.Body.ContentSHA256, err
}

// conflicts expects a conflict that tells the current version.
func conflicts(answer Answer, current int64) error {
	if err := answer.refuses(http.StatusConflict, "VERSION_CONFLICT"); err != nil {
		return err
	}
	var said struct{ CurrentVersion int64 }
	if err := json.Unmarshal(answer.Body, &said); err != nil || said.CurrentVersion != current {
		return fmt.Errorf("answered %s, want the current version %d", answer, current)
	}
	return nil
}

// unbroken walks through a project's history: every version once, each with the content of its winner, digests the first version's
// first.
func unbroken(ctx context.Context, account *Account, projectID string, digests []string) error {
	var found []string
	page := client.Page{Limit: 100}
	for {
		list, err := account.Client.Revisions(ctx, projectID, page)
		if err != nil {
			return err
		}
		for _, revision := range list.Body.Revisions {
			found = append(found, strconv.FormatInt(revision.Version, 10)+" "+revision.ContentSHA256)
		}
		if list.Body.NextCursor == nil {
			break
		}
		page.Cursor = *list.Body.NextCursor
	}
	slices.Reverse(found)
	for i, digest := range digests {
		if want := strconv.Itoa(i+1) + " " + digest; i >= len(found) || found[i] != want {
			return fmt.Errorf("the history is %q, want %q at place %d", found, want, i+1)
		}
	}
	if len(found) != len(digests) {
		return fmt.Errorf("the history has %d revisions, want %d", len(found), len(digests))
	}
	return nil
}
