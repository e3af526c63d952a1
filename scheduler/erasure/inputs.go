package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
)

// What a job reads is recorded when it is submitted (package scheduler). Jobs from before that, and those that an instance of the
// release before submits, are recorded here from their requests: little by little, and those of an account at once before files
// of it are deleted. So whoever looks for the readers of a file reads no request.

const (
	// recordBatch is how many jobs are recorded in one transaction: their requests may have megabytes.
	recordBatch = 50
	// passJobs bounds the jobs that one pass records, and callJobs those that a call waits for.
	passJobs, callJobs = 1000, 5000
)

// errUnrecorded says that there are jobs of the account whose inputs are not recorded.
var errUnrecorded = errors.New("what earlier jobs of the account read is not recorded")

// recordAccount records what the earlier jobs of an account read. Errors: fault.ProviderUnavailable when there are too many of
// them; the next call goes on.
func recordAccount(ctx context.Context, db *sqlx.DB, accountID string) error {
	for range callJobs / recordBatch {
		if n, err := recordInputs(ctx, db, accountID); err != nil || n < recordBatch {
			return err
		}
	}
	return fault.New(fault.ProviderUnavailable, "job: what the account's earlier jobs read is being written down; try again in "+
		"a minute")
}

// recordSome records what earlier jobs of all accounts read, up to passJobs.
func (e *Eraser) recordSome(ctx context.Context) error {
	total := 0
	defer func() {
		if total > 0 {
			e.Log.Info("wrote down what earlier jobs read", "jobs", total)
		}
	}()
	for total < passJobs {
		n, err := recordInputs(ctx, e.DB, "")
		if total += n; err != nil || n < recordBatch {
			return err
		}
	}
	return nil
}

// recordInputs records a batch, of all accounts for "", and returns how many jobs it has.
func recordInputs(ctx context.Context, db *sqlx.DB, accountID string) (jobs int, err error) {
	err = postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		batch, err := selectUnrecorded(ctx, tx, accountID, recordBatch)
		if err != nil {
			return err
		}
		jobs = len(batch)
		return insertRecorded(ctx, tx, batch)
	})
	return jobs, err
}

// namedFiles are the account's own files that a request names, each once. Of a text that is not JSON, which no request is, those
// before the place where it ends to be.
func namedFiles(request, accountID string) []string {
	own, keys := accountPrefix(accountID), []string{}
	tokens := json.NewDecoder(strings.NewReader(request))
	for {
		token, err := tokens.Token()
		if err != nil {
			break
		}
		if text, isText := token.(string); isText {
			if at := strings.Index(text, own); at >= 0 {
				keys = append(keys, text[at:])
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
