// Package list holds what the lists of the API share: conditions, orders, cursors, pages, and their export as tables and other
// files. It knows no resource and no table of the database.
package list

import (
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// Bounds of a page.
const (
	MaxPage     = contract.MaxPage
	defaultPage = 20
)

// Query is embedded in the input of every list that is answered in pages alone.
type Query struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Entries a page."`
	Cursor string `query:"cursor" maxLength:"512" doc:"The nextCursor of the page before, unchanged."`
}

// PageLimit is the limit of a page of a list that can be exported as well; most is what its export may have, as says how that is
// asked for. Errors: fault.Validation for a limit that only an export may have.
func PageLimit(limit, most int, as string) (int, error) {
	switch {
	case limit == 0:
		return defaultPage, nil
	case limit > MaxPage:
		return 0, fault.New(fault.Validation,
			"limit: expected 1 to %d; only an answer %s (header Accept) may have up to %d entries",
			MaxPage, as, most)
	}
	return limit, nil
}

// Cut trims rows that were read with one more than the limit, and returns the cursor of the next page, or nil.
func Cut[R, P any](rows []R, limit int, at func(R) P) ([]R, *string) {
	if len(rows) <= limit {
		return rows, nil
	}
	rows = rows[:limit]
	return rows, Cursor(at(rows[limit-1]))
}
