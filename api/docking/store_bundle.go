package docking

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/scheduler"
)

// madeRow is a file of a docking job with the task that made it.
type madeRow struct {
	artifactRow
	Stage string `db:"stage"`
	Task  string `db:"task"` // name of its shard
}

// made reads up to limit files of a job, in the order of the plan and then by name; those that one stage leaves for the next alone
// stay out.
func (s store) made(ctx context.Context, accountID, jobID, hiddenRole string, limit int) ([]madeRow, error) {
	var rows []madeRow
	err := s.db.SelectContext(ctx, &rows, `SELECT `+artifactColumns+`, t.stage, t.name AS task
FROM artifacts a JOIN tasks t ON t.id = a.task_id
WHERE a.account_id = $1 AND a.job_id = $2 AND a.role <> $3 ORDER BY t.ordinal, a.name COLLATE "C", a.id LIMIT $4`, accountID, jobID, hiddenRole, limit)
	return rows, wrap(err, "reading the files of a docking job")
}

// kindOfTask is what the tasks of one program in one stage have in common: their names without the number.
const kindOfTask = `regexp_replace(t.name, '-[0-9]+$', '')`

// stepRow is a program of a docking job with all of its tasks that have run.
type stepRow struct {
	Stage      string       `db:"stage"`
	Kind       string       `db:"kind"`
	Tasks      int          `db:"tasks"`
	Failed     int          `db:"failed"`
	Ordinal    int          `db:"ordinal"` // of the first task
	StartedAt  sql.NullTime `db:"started_at"`
	FinishedAt sql.NullTime `db:"finished_at"`
}

// steps reads what has run for a job, in the order of the plan, with the shard of each one's first task; nil where there is none.
func (s store) steps(ctx context.Context, accountID, jobID string) ([]stepRow, []json.RawMessage, error) {
	var rows []stepRow
	err := s.db.SelectContext(ctx, &rows, `
SELECT t.stage, `+kindOfTask+` AS kind, count(*) AS tasks, count(*) FILTER (WHERE t.status = 'FAILED') AS failed, min(t.ordinal) AS ordinal,
    min(r.started_at) AS started_at, max(r.finished_at) AS finished_at
FROM tasks t CROSS JOIN LATERAL (
    SELECT min(started_at) AS started_at, max(finished_at) AS finished_at FROM task_attempts
    WHERE task_id = t.id HAVING count(*) > 0
) r
WHERE t.account_id = $1 AND t.job_id = $2 GROUP BY 1, 2 ORDER BY min(t.ordinal)`, accountID, jobID)
	if err != nil {
		return nil, nil, wrap(err, "reading the steps of a docking job")
	}
	firsts := make([]plans.Place, len(rows))
	for i, row := range rows {
		firsts[i] = plans.Place{JobID: jobID, Ordinal: row.Ordinal}
	}
	shards, err := plans.At(ctx, s.db, firsts)
	return rows, shards, wrap(err, "reading the steps of a docking job")
}

// givenRow is a stored file that tasks of a kind started from.
type givenRow struct {
	Kind       string
	Name       string // what the first of them calls it
	StorageKey string
	SHA256     sql.NullString
	ByteSize   sql.NullInt64
}

// given reads up to limit files that the job was given, in the order of the plan.
func (s store) given(ctx context.Context, jobID string, limit int) ([]givenRow, error) {
	var rows []givenRow
	type place struct{ kind, key string }
	seen := map[place]int{}
	err := plans.Each(ctx, s.db, jobID, func(_ int, shard engines.Shard) error {
		kind := numberOfTask.ReplaceAllString(shard.Name, "")
		for _, input := range slices.SortedFunc(slices.Values(shard.Inputs), byObject) {
			if input.Object == nil {
				continue
			}
			at, known := seen[place{kind, input.Object.StorageKey}]
			if !known {
				if len(rows) == limit {
					return plans.ErrEnough
				}
				at = len(rows)
				seen[place{kind, input.Object.StorageKey}] = at
				rows = append(rows, givenRow{Kind: kind, Name: input.Name, StorageKey: input.Object.StorageKey})
			}
			row := &rows[at]
			row.ByteSize = sql.NullInt64{Int64: max(row.ByteSize.Int64, input.Object.ByteSize), Valid: true}
			if row.SHA256.String < input.Object.SHA256 {
				row.SHA256 = sql.NullString{String: input.Object.SHA256, Valid: true}
			}
		}
		return nil
	})
	return rows, wrap(err, "reading the inputs of a docking job")
}

// byObject sorts inputs by what they are stored as, and then by their names; those from earlier stages come first.
func byObject(a, b engines.Input) int {
	key := func(i engines.Input) string {
		if i.Object == nil {
			return ""
		}
		return i.Object.StorageKey
	}
	return cmp.Or(strings.Compare(key(a), key(b)), strings.Compare(a.Name, b.Name))
}

// requestRow is the fingerprint of a job's request as it is kept.
type requestRow struct {
	SHA256   string `db:"sha256"`
	ByteSize int64  `db:"byte_size"`
}

// keptRequest is a job's request as it is kept, as bytes.
const keptRequest = `SELECT convert_to(` + scheduler.RequestText + `, 'UTF8') AS bytes FROM jobs WHERE account_id = $1 AND id = $2`

func (s store) request(ctx context.Context, accountID, jobID string) (row requestRow, err error) {
	err = s.db.GetContext(ctx, &row, `WITH kept AS MATERIALIZED (`+keptRequest+`)
SELECT encode(sha256(bytes), 'hex') AS sha256, octet_length(bytes) AS byte_size FROM kept`, accountID, jobID)
	return row, wrap(err, "measuring the request of a docking job")
}

// requestPart reads up to size bytes of a job's request from an offset on.
func (s store) requestPart(ctx context.Context, accountID, jobID string, offset int64, size int) (part []byte, err error) {
	err = s.db.GetContext(ctx, &part, `SELECT substring(bytes FROM $3 + 1 FOR $4) FROM (`+keptRequest+`) kept`, accountID, jobID,
		offset, size)
	return part, wrap(err, "reading the request of a docking job")
}

// origins are how the ligands of a run were given.
type origins struct {
	SMILES     int `db:"smiles"`
	Components int `db:"components"`
	Files      int `db:"files"`
	AsTheyWere int `db:"as_they_were"` // files in PDBQT, which is docked without a preparation
}

// origins counts the ligands of a run by how they were given.
func (s store) origins(ctx context.Context, accountID, runID string) (o origins, err error) {
	err = s.db.GetContext(ctx, &o, `SELECT count(*) FILTER (WHERE source = 'smiles') AS smiles, count(*) FILTER (WHERE source =
		'ccd') AS components,
    count(*) FILTER (WHERE source = 'artifact') AS files, count(*) FILTER (WHERE notes::text LIKE '["given as PDBQT%') AS
    as_they_were
FROM docking_results WHERE account_id = $1 AND run_id = $2`, accountID, runID)
	return o, wrap(err, "counting the ligands of a docking run")
}

// failures counts the failed ligands of a run by the stage at which they failed; "" is a ligand that never got that far.
func (s store) failures(ctx context.Context, accountID, runID string) (map[string]int, error) {
	var rows []struct {
		Stage string `db:"stage"`
		Count int    `db:"count"`
	}
	err := s.db.SelectContext(ctx, &rows, `SELECT coalesce(failure_stage, '') AS stage, count(*) AS count FROM docking_results
WHERE account_id = $1 AND run_id = $2 AND status = 'FAILED' GROUP BY 1`, accountID, runID)
	if err != nil {
		return nil, wrap(err, "counting the failures of a docking run")
	}
	counts := map[string]int{}
	for _, row := range rows {
		counts[row.Stage] = row.Count
	}
	return counts, nil
}
