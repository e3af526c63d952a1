// Package page holds what every list of the API shares: the limit and the opaque keyset cursor. It knows no table.
package page

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// Query is embedded in the input of every list operation.
type Query struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Entries a page."`
	Cursor string `query:"cursor" maxLength:"512" doc:"The nextCursor of the page before, unchanged."`
}

// Position is where a list sorted by (time, id), newest first, goes on.
type Position struct {
	At time.Time `json:"t"`
	ID string    `json:"i"`
}

// Encode makes the opaque cursor of a position.
func Encode(p Position) string {
	raw, err := json.Marshal(p)
	if err != nil { // a time past year 9999 alone can fail here
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Decode reads a cursor; nil for an empty one. A cursor that this service did not make is fault.InvalidCursor.
func Decode(cursor string) (*Position, error) {
	if cursor == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, invalid()
	}
	var p Position
	if err := json.Unmarshal(raw, &p); err != nil || p.ID == "" || p.At.IsZero() {
		return nil, invalid()
	}
	p.At = p.At.UTC() // a made-up zone may be one that Postgres does not know
	return &p, nil
}

// Cut trims a slice that was read with one row more than the limit, and returns the cursor of the next page, or nil.
func Cut[T any](rows []T, limit int, position func(T) Position) ([]T, *string) {
	if len(rows) <= limit {
		return rows, nil
	}
	rows = rows[:limit]
	next := Encode(position(rows[limit-1]))
	return rows, &next
}

func invalid() error {
	return fault.New(fault.InvalidCursor, "cursor: pass the nextCursor of an earlier answer unchanged, or leave it out")
}
