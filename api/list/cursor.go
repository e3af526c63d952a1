package list

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

// Place is where a list goes on: behind the entry that it names. Its cursor is its JSON in base64url, so the names of its members
// must not change while cursors live.
type Place interface {
	// Good tells whether this service can have made it: a cursor may be anybody's text.
	Good() bool
}

// Cursor is the opaque form of a place.
func Cursor(place any) *string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(place); err != nil { // of texts, finite numbers and times, a time past year 9999 alone can fail
		panic(err)
	}
	cursor := base64.RawURLEncoding.EncodeToString([]byte(strings.TrimSpace(text.String())))
	return &cursor
}

// Read reads a cursor; nil for an empty one. Errors: fault.InvalidCursor for one that this service did not make.
func Read[P Place](cursor string) (*P, error) {
	if cursor == "" {
		return nil, nil
	}
	var place P
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &place)
	}
	if err != nil || !place.Good() {
		return nil, Invalid()
	}
	return &place, nil
}

// Invalid refuses a cursor that no list of this service gave out.
func Invalid() error {
	return fault.New(fault.InvalidCursor, "cursor: pass the nextCursor of an earlier answer unchanged, or leave it out")
}

// Bound is embedded in the places of a list that has filters or several orders: such a place is good for the list, the filters and
// the order that it came from.
type Bound struct {
	Fingerprint string `json:"b"`
}

// BoundTo is the fingerprint of the list that a place is good for.
func (b Bound) BoundTo() Bound { return b }

// Bind is the fingerprint of a list with its filters and its order; parts are values without secrets that JSON can write.
func Bind(parts ...any) Bound {
	text, err := json.Marshal(parts)
	if err != nil { // texts, numbers and switches cannot fail
		panic(err)
	}
	sum := sha256.Sum256(text)
	return Bound{hex.EncodeToString(sum[:8])}
}

// ReadBound is Read for a place that embeds Bound. Errors: fault.InvalidCursor also for one of another list, or with other filters
// or another order.
func ReadBound[P interface {
	Place
	BoundTo() Bound
}](cursor string, to Bound,
) (*P, error) {
	place, err := Read[P](cursor)
	if place != nil && (*place).BoundTo() != to {
		return nil, fault.New(fault.InvalidCursor, "cursor: it is of another list or has other filters or another sort; send it "+
			"with those it came with, or leave it out")
	}
	return place, err
}

// Position is the place in a list that is sorted by time and id, newest first.
type Position struct {
	At time.Time `json:"t"`
	ID string    `json:"i"`
}

// Good refuses what Postgres cannot compare.
func (p Position) Good() bool { return p.ID != "" && !strings.Contains(p.ID, "\x00") && !p.At.IsZero() }

// Values are what Behind compares in the order that Newest makes; none for nil.
func (p *Position) Values() []any {
	if p == nil {
		return nil
	}
	return []any{p.At.UTC(), p.ID} // a made-up zone may be one that Postgres does not know
}
