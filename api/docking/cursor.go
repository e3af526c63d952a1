package docking

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/molfabric/molfabric/internal/fault"
)

// place is where a sorted list goes on: behind the entry that it names. Lists of package page know one order; these have several,
// and a place is good for the list, the filters and the order that it came from.
type place struct {
	Bound string `json:"b"`           // binding of the list
	Key   string `json:"k"`           // what is sorted by, as Postgres writes it
	Tie   int    `json:"t,omitempty"` // what decides between equal keys, before the id
	ID    string `json:"i"`
}

// order is a way to sort a list: by a key, then by a small whole number, then by the id. All three go in one direction, so that
// one comparison of rows finds the next page.
type order struct {
	key        string // SQL expression
	kind       string // its SQL type
	tie        string // SQL expression of an int; "" when there is none
	descending bool
	value      func(key string) (any, bool) // reads a key that has come back; false when it cannot be one
}

// newest sorts by time, newest first.
var newest = order{key: "x.created_at", kind: "timestamptz", descending: true, value: timeKey}

// sorts are the orders of lists of results. What has no figure comes last in both directions.
var sorts = map[string]order{
	"score":             {key: "coalesce(x.best_score_kcal_mol, 'Infinity')", kind: "float8", tie: "x.ligand_index", value: floatKey},
	"-score":            {key: "coalesce(-x.best_score_kcal_mol, 'Infinity')", kind: "float8", tie: "x.ligand_index", value: floatKey},
	"ligandEfficiency":  {key: "coalesce(-x.ligand_efficiency, 'Infinity')", kind: "float8", tie: "x.ligand_index", value: floatKey},
	"-ligandEfficiency": {key: "coalesce(x.ligand_efficiency, 'Infinity')", kind: "float8", tie: "x.ligand_index", value: floatKey},
	"cnnScore":          {key: "coalesce(-x.cnn_score, 'Infinity')", kind: "float8", tie: "x.ligand_index", value: floatKey},
	"-cnnScore":         {key: "coalesce(x.cnn_score, 'Infinity')", kind: "float8", tie: "x.ligand_index", value: floatKey},
	"index":             {key: "x.ligand_index", kind: "int", value: intKey},
	"label":             {key: `x.label COLLATE "C"`, kind: "text", tie: "x.ligand_index", value: textKey},
	"createdAt":         {key: "x.created_at", kind: "timestamptz", tie: "x.ligand_index", value: timeKey},
	"-createdAt":        newest,
}

// byRank sorts the poses of a result.
var byRank = order{key: "x.rank", kind: "int", value: intKey}

// postgresTime is how Postgres writes a timestamptz in UTC.
const postgresTime = "2006-01-02 15:04:05.999999-07"

func timeKey(key string) (any, bool) {
	at, err := time.Parse(postgresTime, key)
	return at.UTC(), err == nil && at.Year() > 0
}

func floatKey(key string) (any, bool) {
	value, err := strconv.ParseFloat(key, 64)
	return value, err == nil && !math.IsNaN(value)
}

func intKey(key string) (any, bool) {
	value, err := strconv.ParseInt(key, 10, 32)
	return value, err == nil
}

func textKey(key string) (any, bool) {
	return key, utf8.ValidString(key) && !strings.Contains(key, "\x00")
}

// binding is the fingerprint of a list with its filters and its order; parts are values without secrets that JSON can write.
func binding(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil { // texts, numbers and switches cannot fail
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (p place) cursor() *string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p); err != nil { // texts and a number cannot fail
		panic(err)
	}
	cursor := base64.RawURLEncoding.EncodeToString([]byte(strings.TrimSpace(out.String())))
	return &cursor
}

// read reads a cursor of this order; nil for an empty one. Errors: fault.InvalidCursor for one that this service did not make,
// or made for another list, other filters or another order.
func (o order) read(cursor, bound string) (*place, error) {
	if cursor == "" {
		return nil, nil
	}
	var p place
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if _, fits := o.value(p.Key); err != nil || !fits || p.ID == "" || strings.Contains(p.ID, "\x00") || p.Tie < 0 || p.Tie > math.MaxInt32 {
		return nil, fault.New(fault.InvalidCursor, "cursor: pass the nextCursor of an earlier answer unchanged, or leave it out")
	}
	if p.Bound != bound {
		return nil, fault.New(fault.InvalidCursor, "cursor: it is of another list or has other filters or another sort; send it with those it came with, or leave it out")
	}
	return &p, nil
}

// cut trims rows that were read with one more than the limit, and returns the cursor of the next page, or nil.
func cut[T any](rows []T, limit int, bound string, at func(T) place) ([]T, *string) {
	if len(rows) <= limit {
		return rows, nil
	}
	rows = rows[:limit]
	p := at(rows[limit-1])
	p.Bound = bound
	return rows, p.cursor()
}
