package mol

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// Exhaustiveness is how many independent searches a ligand gets: a number, or "auto" for as many as it takes.
type Exhaustiveness int

const (
	// AutoExhaustiveness goes on until two independent searches have found the same best pose, up to a bound.
	AutoExhaustiveness    Exhaustiveness = 0
	leastExhaustiveness                  = 1
	mostExhaustiveness                   = 128
	autoExhaustivenessTag                = "auto"
)

// Schema describes a number or "auto".
func (Exhaustiveness) Schema(huma.Registry) *huma.Schema {
	least, most := float64(leastExhaustiveness), float64(mostExhaustiveness)
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeInteger, Format: "int64", Minimum: &least, Maximum: &most, Description: "As many, whatever they find."},
			{Type: huma.TypeString, Enum: []any{autoExhaustivenessTag},
				Description: "As many as it takes until two independent searches agree, up to a bound."},
		},
	}
}

// MarshalJSON writes the number or "auto".
func (e Exhaustiveness) MarshalJSON() ([]byte, error) {
	if e == AutoExhaustiveness {
		return []byte(`"` + autoExhaustivenessTag + `"`), nil
	}
	return strconv.AppendInt(nil, int64(e), 10), nil
}

// UnmarshalJSON reads an integer from 1 to 128 or "auto".
func (e *Exhaustiveness) UnmarshalJSON(text []byte) error {
	if string(bytes.TrimSpace(text)) == `"`+autoExhaustivenessTag+`"` {
		*e = AutoExhaustiveness
		return nil
	}
	var number *int
	err := json.Unmarshal(text, &number)
	if err != nil || number == nil || *number < leastExhaustiveness || *number > mostExhaustiveness {
		return errors.New(`expected an integer from 1 to 128, or "auto"`)
	}
	*e = Exhaustiveness(*number)
	return nil
}
