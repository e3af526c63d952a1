package searches

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/scheduler"
)

// recordSearch keeps what a shard has found for each of its queries. A query that it names as failed has failed, although BLAST
// tells of no hits for it too; so has one that the split gave it and that it does not tell of.
func recordSearch(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	found, err := blast.ReadSearch(move.Result.Summary)
	if err != nil {
		return err
	}
	key := storageKey(move, found.HitsFile)
	for _, query := range found.Queries {
		if query.Hits > 0 && key == "" {
			return fmt.Errorf("the task has no output %s, where the hits of query %d lie", found.HitsFile, query.Index)
		}
	}
	if err := setVersion(ctx, tx, move.JobID, found.Version); err != nil {
		return err
	}
	failed, _ := failedQueries(move.Result.Failures)
	searched := slices.DeleteFunc(found.Queries, func(q blast.QueryFound) bool { return slices.Contains(failed, int64(q.Index)) })
	if err := upsertFound(ctx, tx, move, key, searched); err != nil {
		return err
	}
	if err := keepFailures(ctx, tx, move); err != nil {
		return err
	}
	return failTask(ctx, tx, move, "the search told nothing of this query")
}

// storageKey finds the key of an output by its name; "" when the task has none of that name.
func storageKey(move scheduler.TaskMove, name string) string {
	for _, artifact := range move.Result.Artifacts {
		if artifact.Name == name {
			return artifact.StorageKey
		}
	}
	return ""
}

// queryItem is how a failure names a query: by its place in the file of queries.
var queryItem = regexp.MustCompile(`^queries\[([0-9]{1,9})\]$`)

// failedQueries are the queries that failures name; other items say nothing of a query.
func failedQueries(items []engines.ItemFailure) (indices []int64, named []engines.ItemFailure) {
	for _, item := range items {
		found := queryItem.FindStringSubmatch(item.Item)
		if found == nil {
			continue
		}
		index, err := strconv.ParseInt(found[1], 10, 32)
		if err != nil {
			continue
		}
		indices, named = append(indices, index), append(named, item)
	}
	return indices, named
}

// keepFailures keeps the queries that a task names as failed, with their names.
func keepFailures(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	indices, items := failedQueries(move.Result.Failures)
	if len(indices) == 0 {
		return nil
	}
	return upsertFailed(ctx, tx, move, indices, items)
}

// splitFound is what the recorder reads of the summary of the split.
type splitFound struct {
	Queries int `json:"queries"` // in the file, failed ones included
	Parts   []struct {
		Name    string `json:"name"`    // of the part's file
		Queries int    `json:"queries"` // that it holds; they follow those of the part before
	} `json:"parts"`
}

// partFile is what the split calls the part that the shard "search-" with the same number searches.
var partFile = regexp.MustCompile(`^parts/([0-9]{4,6})\.fasta$`)

// maxQueries bounds the queries of a search; the engine takes no more.
const maxQueries = 100_000

// recordSplit gives every query its row: those that cannot be searched have failed, the others wait for the task that searches
// their part. The parts hold the queries that have not failed in the order of the file.
func recordSplit(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	var found splitFound
	if err := json.Unmarshal(move.Result.Summary, &found); err != nil {
		return fmt.Errorf("read the summary: %w", err)
	}
	if found.Queries < 0 || found.Queries > maxQueries {
		return fmt.Errorf("the summary tells of %d queries; there may be %d", found.Queries, maxQueries)
	}
	if err := setQueryCount(ctx, tx, move.JobID, found.Queries); err != nil {
		return err
	}
	if err := keepFailures(ctx, tx, move); err != nil {
		return err
	}
	waiting, err := found.waiting(move.Result.Failures)
	if err != nil {
		return err
	}
	return insertPending(ctx, tx, move, waiting)
}

// waiting are queries and the tasks that search them.
type waiting struct {
	indices []int64
	tasks   []string
}

// waiting lists the queries that have not failed with the tasks that search them.
func (f splitFound) waiting(failures []engines.ItemFailure) (w waiting, err error) {
	failed := map[int64]bool{}
	indices, _ := failedQueries(failures)
	for _, index := range indices {
		failed[index] = true
	}
	next := int64(0)
	for _, part := range f.Parts {
		number := partFile.FindStringSubmatch(part.Name)
		if number == nil {
			return waiting{}, fmt.Errorf("the summary calls a part %q", part.Name)
		}
		for range part.Queries {
			for failed[next] {
				next++
			}
			if next >= int64(f.Queries) {
				return waiting{}, fmt.Errorf("the parts hold more than the %d queries of the file", f.Queries)
			}
			w.indices, w.tasks = append(w.indices, next), append(w.tasks, "search-"+number[1])
			next++
		}
	}
	return w, nil
}
