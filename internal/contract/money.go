package contract

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
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

// Float64 is the amount as near as a float64 comes to it. The error is of what is no number.
func (p Pounds) Float64() (float64, error) { return strconv.ParseFloat(string(p), 64) }
