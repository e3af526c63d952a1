package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jmoiron/sqlx"
)

// Copy writes rows into a table with COPY, which is the fastest way for thousands of them. Values are in the order of the columns,
// nil for NULL, text for JSON. table and columns are names of the program's own.
func Copy(ctx context.Context, tx *sqlx.Tx, table string, columns []string, rows iter.Seq[[]any]) error {
	statement, err := tx.PrepareContext(ctx, "COPY "+table+" ("+strings.Join(columns, ", ")+") FROM STDIN") //nolint:sqlclosecheck // closed below; the linter loses it in the loop over a function
	if err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	defer statement.Close()
	for row := range rows {
		if _, err := statement.ExecContext(ctx, row...); err != nil {
			return fmt.Errorf("copy into %s: %w", table, err)
		}
	}
	if _, err := statement.ExecContext(ctx); err != nil { // ends the copying
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}
