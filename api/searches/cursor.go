package searches

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"

	"github.com/molfabric/molfabric/internal/fault"
)

// place is where a list goes on: behind the entry that it names. It is good for the list, the filters and the order that it came
// from.
type place struct {
	Bound string   `json:"b"`           // binding of the list
	Key   *float64 `json:"k,omitempty"` // of a list of queries: what is sorted by; nil for none
	Index int      `json:"i"`           // of a query
	Rank  int      `json:"r,omitempty"` // of a hit of that query
}

// order is a way to sort a search's queries: by a figure, then by their index, both in one direction. What has no figure comes last.
type order struct {
	key        string // SQL expression of a figure without NULL; "" sorts by the index alone
	descending bool
}

// sorts are the orders of lists of queries.
var sorts = map[string]order{
	"index":   {},
	"-index":  {descending: true},
	"evalue":  {key: "coalesce(x.best_evalue, 'Infinity'::float8)"},
	"-evalue": {key: "coalesce(-x.best_evalue, 'Infinity'::float8)"},
	"hits":    {key: "-x.hit_count::float8"},
	"-hits":   {key: "x.hit_count::float8"},
	"length":  {key: "coalesce(-x.length::float8, 'Infinity'::float8)"},
	"-length": {key: "coalesce(x.length::float8, 'Infinity'::float8)"},
}

// binding is the fingerprint of a list with its filters and its order; parts are values without secrets that JSON can write.
func binding(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil { // texts and numbers cannot fail
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// cursor is the opaque form of a place.
func (p place) cursor() *string {
	if p.Key != nil && math.IsInf(*p.Key, 0) {
		p.Key = nil // JSON has no infinity; what has no figure needs none
	}
	text, err := json.Marshal(p)
	if err != nil { // texts and finite numbers cannot fail
		panic(err)
	}
	cursor := base64.RawURLEncoding.EncodeToString(text)
	return &cursor
}

// readPlace reads a cursor; nil for an empty one. Errors: fault.InvalidCursor for one that this service did not make, or made for
// another list, other filters or another order.
func readPlace(cursor, bound string) (*place, error) {
	if cursor == "" {
		return nil, nil
	}
	var p place
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Index < 0 || p.Index > math.MaxInt32 || p.Rank < 0 || p.Rank > math.MaxInt32 {
		return nil, fault.New(fault.InvalidCursor, "cursor: pass the nextCursor of an earlier answer unchanged, or leave it out")
	}
	if p.Bound != bound {
		return nil, fault.New(fault.InvalidCursor, "cursor: it is of another list or has other filters or another sort; send it with those it came with, or leave it out")
	}
	return &p, nil
}

// figure is the sorted figure of a place as the database compares it.
func (p place) figure() float64 {
	if p.Key == nil {
		return math.Inf(1)
	}
	return *p.Key
}
