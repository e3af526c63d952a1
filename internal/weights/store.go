package weights

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// store keeps the rows of the weights.
type store struct{ db *sqlx.DB }

const columns = `digest, model, title, licence, commercial_use, trained, bytes, files, created_at, retired_at`

// row is Weights with their files as they are stored.
type row struct {
	Weights
	Files json.RawMessage `db:"files"`
}

func (r row) weights() (Weights, error) {
	if err := json.Unmarshal(r.Files, &r.Weights.Files); err != nil {
		return Weights{}, fmt.Errorf("read the files of weights %s: %w", r.Weights, err)
	}
	return r.Weights, nil
}

// all reads all weights, retired ones included, by model and then from the newest to the oldest.
func (s store) all(ctx context.Context) ([]Weights, error) {
	var rows []row
	err := s.db.SelectContext(ctx, &rows, `SELECT `+columns+` FROM model_weights ORDER BY model, created_at DESC, digest LIMIT $1`,
		MaxWeights)
	if err != nil {
		return nil, fmt.Errorf("read the weights: %w", err)
	}
	list := make([]Weights, len(rows))
	for i, r := range rows {
		if list[i], err = r.weights(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// one reads weights; found is false when there are none of this digest.
func (s store) one(ctx context.Context, digest string) (w Weights, found bool, err error) {
	var r row
	err = s.db.GetContext(ctx, &r, `SELECT `+columns+` FROM model_weights WHERE digest = $1`, digest)
	if errors.Is(err, sql.ErrNoRows) {
		return Weights{}, false, nil
	}
	if err != nil {
		return Weights{}, false, fmt.Errorf("read weights %s: %w", digest, err)
	}
	w, err = r.weights()
	return w, err == nil, err
}

// insert keeps new weights; inserted is false when their digest, or the registry's last place, is taken.
func (s store) insert(ctx context.Context, w Weights) (inserted bool, err error) {
	files, err := json.Marshal(w.Files)
	if err != nil {
		return false, fmt.Errorf("keep weights %s: %w", w, err)
	}
	result, err := s.db.ExecContext(ctx, `
INSERT INTO model_weights (digest, model, title, licence, commercial_use, trained, bytes, files, created_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9 WHERE (SELECT count(*) FROM model_weights) < $10
ON CONFLICT (digest) DO NOTHING`,
		w.Digest, w.Model, w.Title, w.Licence, w.CommercialUse, w.Trained, w.Bytes, string(files), w.CreatedAt, MaxWeights)
	if err != nil {
		return false, fmt.Errorf("keep weights %s: %w", w, err)
	}
	count, err := result.RowsAffected()
	return count == 1, err
}

// setRetired retires weights, or with nil takes them into use again.
func (s store) setRetired(ctx context.Context, digest string, at *time.Time) error {
	_, err := s.db.ExecContext(ctx, `UPDATE model_weights SET retired_at = $2 WHERE digest = $1`, digest, at)
	if err != nil {
		return fmt.Errorf("retire weights %s: %w", digest, err)
	}
	return nil
}
