// Package wire holds the small types that questions and answers of several groups are made of: optional parameters, amounts of
// money, answers in JSON, columns that may be NULL, and entity tags. It knows no resource.
package wire

import (
	"database/sql"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
)

// Optional is a query parameter that has no default and whose zero value means something.
type Optional[T any] struct {
	Value T
	IsSet bool
}

// Schema describes the value alone.
func (o Optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver is where huma puts the value.
func (o *Optional[T]) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet is called by huma with what it has found.
func (o *Optional[T]) OnParamSet(isSet bool, _ any) { o.IsSet = isSet }

// OrNil is the value, or nil when it was not given.
func (o Optional[T]) OrNil() *T {
	if !o.IsSet {
		return nil
	}
	return &o.Value
}

// PoundsOf are pence in pounds.
func PoundsOf(pence int64) contract.Pounds { return ExactPounds(billing.FromPence(pence)) }

// ExactPounds are millionths of a penny in pounds.
func ExactPounds(m billing.Micropence) contract.Pounds {
	return contract.Pounds(billing.Pounds(m).String())
}

// Answer is an answer in JSON.
type Answer[T any] struct{ Body T }

// Answered is the answer with a body, or the error in its place.
func Answered[T any](body T, err error) (*Answer[T], error) {
	if err != nil {
		return nil, err
	}
	return &Answer[T]{Body: body}, nil
}

// OrNil is a pointer to a column's value, or nil for NULL.
func OrNil[T any](column sql.Null[T]) *T {
	if !column.Valid {
		return nil
	}
	return &column.V
}

// TextOrNil is OrNil of a text.
func TextOrNil(column sql.NullString) *string {
	if !column.Valid {
		return nil
	}
	return &column.String
}

// TimeOrNil is OrNil of a time, in UTC.
func TimeOrNil(column sql.NullTime) *time.Time {
	if !column.Valid {
		return nil
	}
	at := column.Time.UTC()
	return &at
}

// Matches reports whether an If-None-Match header names the tag: "*", or a list of tags of which a weak one counts too
// (RFC 9110, section 13.1.2).
func Matches(ifNoneMatch, tag string) bool {
	if strings.TrimSpace(ifNoneMatch) == "*" {
		return true
	}
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		if strings.TrimPrefix(strings.TrimSpace(candidate), "W/") == tag {
			return true
		}
	}
	return false
}
