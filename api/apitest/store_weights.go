package apitest

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/tenant"
)

// AddWeights registers weights of a model without their files, which anybody may use: enough for whatever folds nothing. letter
// fills their digest. What is there stays.
func AddWeights(ctx context.Context, db *sqlx.DB, model, letter string) error {
	digest := strings.Repeat(letter, 64)
	files := `[{"name":"config.json","sha256":"DIGEST","byteSize":10},{"name":"model.safetensors","sha256":"DIGEST","byteSize":90}]`
	ctx = tenant.Everyone(ctx, "the operator keeps the weights")
	_, err := db.ExecContext(ctx, `
INSERT INTO model_weights (digest, model, title, licence, commercial_use, trained, bytes, files, created_at)
VALUES ($1, $2, $2 || ' of a test', 'none', $4, $4, 100, $3::jsonb, now()) ON CONFLICT DO NOTHING`, digest, model,
		strings.ReplaceAll(files, "DIGEST", digest), true)
	if err != nil {
		return fmt.Errorf("register weights of %s: %w", model, err)
	}
	return nil
}
