package jobs

import (
	"encoding/json"
	"strings"

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

func poundsOf(pence int64) Pounds { return exactPounds(billing.FromPence(pence)) }

func exactPounds(m billing.Micropence) Pounds { return Pounds(billing.Pounds(m).String()) }

func ref[T any](value T) *T { return &value }

// valueOr is the value a pointer holds, or the fallback for nil.
func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}
