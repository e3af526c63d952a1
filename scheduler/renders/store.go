package renders

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/scheduler"
)

// Cost returns what frames of a scene took when the account last rendered it with an engine; found is false when it never did.
func Cost(
	ctx context.Context, db sqlx.QueryerContext, accountID string, scene engines.Object, engine string,
) (cost engines.RenderCost, found bool, err error) {
	var row struct {
		Load    float64       `db:"load_cpu_seconds"`
		Frame   float64       `db:"frame_cpu_seconds"`
		Pixels  sql.NullInt64 `db:"pixels"`
		Samples sql.NullInt64 `db:"samples"`
		Stated  bool          `db:"stated"`
	}
	err = sqlx.GetContext(ctx, db, &row, `SELECT load_cpu_seconds, frame_cpu_seconds, pixels, samples, stated FROM render_costs
		WHERE account_id = $1 AND scene = $2 AND engine = $3`,
		accountID, sceneName(scene), engine)
	if errors.Is(err, sql.ErrNoRows) {
		return engines.RenderCost{}, false, nil
	}
	if err != nil {
		return engines.RenderCost{}, false, fmt.Errorf("read what frames of a scene took: %w", err)
	}
	return engines.RenderCost{LoadCPUSeconds: row.Load, FrameCPUSeconds: row.Frame, Pixels: row.Pixels.Int64,
		Samples: row.Samples.Int64, Stated: row.Stated}, true, nil
}

// maxCuts is of how many jobs with a scene it is remembered into how many shards they were cut.
const maxCuts = 200

// Shards returns, by the likeness of frames of a scene that the account has rendered with an engine, into how many shards they were
// cut the last time.
func Shards(
	ctx context.Context, db sqlx.QueryerContext, accountID string, scene engines.Object, engine string,
) (map[string]int, error) {
	var rows []struct {
		Likeness string `db:"likeness"`
		Shards   int    `db:"shards"`
	}
	err := sqlx.SelectContext(ctx, db, &rows, `SELECT likeness, shards FROM renders
		WHERE account_id = $1 AND scene = $2 AND engine = $3 AND likeness <> '' ORDER BY created_at DESC, job_id DESC LIMIT $4`,
		accountID, sceneName(scene), engine, maxCuts)
	if err != nil {
		return nil, fmt.Errorf("read how frames of a scene were cut into shards: %w", err)
	}
	found := make(map[string]int, len(rows))
	for _, row := range slices.Backward(rows) {
		found[row.Likeness] = row.Shards
	}
	return found, nil
}

func insertRender(ctx context.Context, tx *sqlx.Tx, accepted scheduler.Accepted) error {
	frames, shards := 0, 0
	var params json.RawMessage
	for _, shard := range accepted.Shards {
		if shard.Stage == film.StageRender {
			frames, shards, params = frames+shard.Items, shards+1, shard.Params
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO renders (job_id, account_id, engine, scene, likeness, shards, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, accepted.JobID, accepted.AccountID, accepted.Engine.Spec().ID,
		sceneName(accepted.SceneFile), film.Likeness(params, frames), shards, accepted.At)
	if err != nil {
		return fmt.Errorf("record which scene %s draws: %w", accepted.JobID, err)
	}
	return nil
}

// upsertCost keeps a measurement of the scene that a job draws, unless there is a newer one. A job that was accepted before scenes
// were recorded has none.
func upsertCost(ctx context.Context, tx *sqlx.Tx, jobID string, found measured, at time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO render_costs AS c (account_id, scene, engine, load_cpu_seconds, frame_cpu_seconds,
		pixels, samples, stated, at)
		SELECT account_id, scene, engine, $2, $3, $4, $5, $6, $7 FROM renders WHERE job_id = $1
		ON CONFLICT (account_id, scene, engine) DO UPDATE SET load_cpu_seconds = excluded.load_cpu_seconds,
		frame_cpu_seconds = excluded.frame_cpu_seconds,
			pixels = excluded.pixels, samples = excluded.samples, stated = excluded.stated, at = excluded.at
		WHERE c.at <= excluded.at`, jobID, *found.LoadCPUSeconds, *found.FrameCPUSeconds, found.Pixels, found.Samples, found.Stated, at)
	if err != nil {
		return fmt.Errorf("record what frames of %s took: %w", jobID, err)
	}
	return nil
}
