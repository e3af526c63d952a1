package searches

import (
	"math"

	"github.com/molfabric/molfabric/api/list"
)

// place is where a list of queries or of hits goes on.
type place struct {
	list.Bound
	Key   *float64 `json:"k,omitempty"` // of a list of queries: what is sorted by; nil for no figure
	Index int      `json:"i"`           // of a query
	Rank  int      `json:"r,omitempty"` // of a hit of that query
}

// Good tells whether the database can compare the place.
func (p place) Good() bool {
	return p.Index >= 0 && p.Index <= math.MaxInt32 && p.Rank >= 0 && p.Rank <= math.MaxInt32
}

// byIndex sorts a search's queries as in the file.
var byIndex = list.Column{SQL: "x.query_index", Type: "int"}

// order is a way to sort a search's queries: by a figure, then by their index. What has no figure comes last.
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

// columns are what an order sorts by.
func (o order) columns() list.Order {
	if o.key == "" {
		return list.Order{Columns: []list.Column{byIndex}, Descending: o.descending}
	}
	return list.Order{Columns: []list.Column{{SQL: o.key, Type: "float8"}, byIndex}, Descending: o.descending}
}

// behind goes on behind a place in an order; nil is the beginning.
func (o order) behind(c *list.Conditions, from *place) {
	switch {
	case from == nil:
	case o.key == "":
		c.Behind(o.columns(), from.Index)
	case from.Key == nil:
		c.Behind(o.columns(), math.Inf(1), from.Index)
	default:
		c.Behind(o.columns(), *from.Key, from.Index)
	}
}
