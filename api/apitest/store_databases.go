package apitest

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/tenant"
)

// AddDatabase registers a sequence database without its files: enough for whatever searches nothing. letter fills its checksum. One
// that is there stays.
func AddDatabase(ctx context.Context, db *sqlx.DB, name, version, releasedOn, typ, letter string) error {
	digest := strings.Repeat(letter, 64)
	files := `[{"name":"NAME.LETTERhr","sha256":"DIGEST","byteSize":10},{"name":"NAME.LETTERsq","sha256":"DIGEST","byteSize":20}]`
	files = strings.NewReplacer("NAME", name, "LETTER", typ[:1], "DIGEST", digest).Replace(files)
	ctx = tenant.Everyone(ctx, "the operator keeps the databases")
	_, err := db.ExecContext(ctx, `
INSERT INTO sequence_databases (name, version, released_on, type, checksum, title, sequences, residues, bytes, files, source_sha256,
program, created_at)
VALUES ($1, $2, $3::date, $4, $5, $1 || ' of a test', 3, 300, 30, $6::jsonb, $5, 'none', now()) ON CONFLICT DO NOTHING`, name, version, releasedOn, typ, digest, files)
	if err != nil {
		return fmt.Errorf("register database %s: %w", name, err)
	}
	return nil
}
