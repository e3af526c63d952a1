package jobs

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/internal/fault"
)

// place is where a list in the order of the plan goes on: behind the entry that it names. Unlike the lists of package page it
// runs from the first task to the last.
type place struct {
	Ordinal int `json:"o"`
	// Artifact is the last file of the task that was shown; "" in lists of tasks.
	Artifact string `json:"a,omitempty"`
}

// beforeAll is the place that a list without a cursor starts from.
var beforeAll = place{Ordinal: -1}

func (p place) cursor() *string {
	raw, err := json.Marshal(p)
	if err != nil { // a number and a text cannot fail
		panic(err)
	}
	return ref(base64.RawURLEncoding.EncodeToString(raw))
}

// placeOf reads a cursor. Errors: fault.InvalidCursor for one that this service did not make.
func placeOf(cursor string) (place, error) {
	if cursor == "" {
		return beforeAll, nil
	}
	p := beforeAll
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Ordinal < 0 || p.Ordinal > math.MaxInt32 || !printable(p.Artifact) {
		return place{}, fault.New(fault.InvalidCursor, "cursor: pass the nextCursor of an earlier answer unchanged, or leave it out")
	}
	return p, nil
}

// optional is a query parameter that has no default and whose zero value means something.
type optional[T any] struct {
	Value T
	IsSet bool
}

// Schema describes the value alone.
func (o optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver is where huma puts the value.
func (o *optional[T]) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet is called by huma with what it has found.
func (o *optional[T]) OnParamSet(isSet bool, _ any) { o.IsSet = isSet }
