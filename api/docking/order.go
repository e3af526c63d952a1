package docking

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/molfabric/molfabric/api/list"
)

// place is where a list goes on. Lists of docking have several orders.
type place struct {
	list.Bound
	Key string `json:"k"`           // what is sorted by, as Postgres writes it
	Tie int    `json:"t,omitempty"` // what decides between equal keys, before the id
	ID  string `json:"i"`
}

// Good tells whether the place can be one of some order; read looks at its key too.
func (p place) Good() bool {
	return p.ID != "" && !strings.Contains(p.ID, "\x00") && p.Tie >= 0 && p.Tie <= math.MaxInt32
}

// order is a way to sort a list: by a key, then by a small whole number, then by the id.
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
	"score": {key: "coalesce(x.best_score_kcal_mol, 'Infinity')", kind: "float8", tie: "x.ligand_index",
		value: floatKey},
	"-score": {key: "coalesce(-x.best_score_kcal_mol, 'Infinity')", kind: "float8", tie: "x.ligand_index",
		value: floatKey},
	"ligandEfficiency": {key: "coalesce(-x.ligand_efficiency, 'Infinity')", kind: "float8", tie: "x.ligand_index",
		value: floatKey},
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

// columns are what an order sorts by, of a table that is called x.
func (o order) columns() list.Order {
	columns := []list.Column{{SQL: o.key, Type: o.kind}}
	if o.tie != "" {
		columns = append(columns, list.Column{SQL: o.tie, Type: "int"})
	}
	return list.Order{Columns: append(columns, list.Column{SQL: "x.id"}), Descending: o.descending}
}

// by is the ORDER BY of an order.
func (o order) by() string { return o.columns().By() }

// again is the ORDER BY of an order over the rows that were chosen, with the columns of sorted.
func (o order) again() string {
	chosen := []list.Column{{SQL: "chosen.sort_value"}, {SQL: "chosen.sort_tie"}, {SQL: "chosen.id"}}
	return list.Order{Columns: chosen, Descending: o.descending}.By()
}

// selected are the columns of sorted but the id.
func (o order) selected() string {
	tie := o.tie
	if tie == "" {
		tie = "0"
	}
	return fmt.Sprintf("%s AS sort_value, (%s)::text AS sort_key, %s AS sort_tie", o.key, o.key, tie)
}

// sorted are the columns that say where a row stands in its list.
type sorted struct {
	ID        string `db:"id"`
	SortValue any    `db:"sort_value"`
	SortKey   string `db:"sort_key"` // the value as text
	SortTie   int    `db:"sort_tie"`
}

func (s sorted) place() place { return place{Key: s.SortKey, Tie: s.SortTie, ID: s.ID} }

// behind goes on behind a place in an order; nil is the beginning.
func (o order) behind(c *list.Conditions, from *place) {
	if from == nil {
		return
	}
	key, _ := o.value(from.Key)
	values := []any{key}
	if o.tie != "" {
		values = append(values, from.Tie)
	}
	c.Behind(o.columns(), append(values, from.ID)...)
}

// read reads a cursor of this order; nil for an empty one. Errors: fault.InvalidCursor.
func (o order) read(cursor string, bound list.Bound) (*place, error) {
	from, err := list.ReadBound[place](cursor, bound)
	if from != nil {
		if _, fits := o.value(from.Key); !fits {
			return nil, list.Invalid()
		}
	}
	return from, err
}

// cut trims rows that were read with one more than the limit, and returns the cursor of the next page, or nil.
func cut[R any](rows []R, limit int, bound list.Bound, at func(R) place) ([]R, *string) {
	return list.Cut(rows, limit, func(row R) place {
		p := at(row)
		p.Bound = bound
		return p
	})
}
