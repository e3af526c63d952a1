package docking

import (
	"database/sql"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/billing"
)

// Pounds is an amount of money in pounds: a JSON number with at least two decimals, exact.
type Pounds string

// Schema describes a number.
func (Pounds) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: "Amount in pounds.", Examples: []any{json.Number("1.25")}}
}

// MarshalJSON writes the digits as they are: a float64 would turn 5.00 into 5.
func (p Pounds) MarshalJSON() ([]byte, error) { return []byte(p), nil }

// UnmarshalJSON keeps the digits.
func (p *Pounds) UnmarshalJSON(text []byte) error {
	*p = Pounds(strings.TrimSpace(string(text)))
	return nil
}

func poundsOf(pence int64) Pounds { return Pounds(billing.Pounds(billing.FromPence(pence)).String()) }

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

// orNil is the value, or nil when it was not given.
func (o optional[T]) orNil() *T {
	if !o.IsSet {
		return nil
	}
	return &o.Value
}

// ptr is a pointer to a column's value, or nil for NULL.
func ptr[T any](column sql.Null[T]) *T {
	if !column.Valid {
		return nil
	}
	return &column.V
}

func textOrNil(column sql.NullString) *string {
	if !column.Valid {
		return nil
	}
	return &column.String
}

func timeOrNil(column sql.NullTime) *time.Time {
	if !column.Valid {
		return nil
	}
	at := column.Time.UTC()
	return &at
}

// filled is the text, or nil when it is empty.
func filled(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
