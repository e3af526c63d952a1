package mol

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/danielgtaylor/huma/v2"
)

// Bounds of a docking box's edge in Å (doc/contract.md §2.2, boxSizeAngstrom).
const (
	MinBoxEdgeAngstrom = 1.0
	MaxBoxEdgeAngstrom = 100.0
)

// BoxCenter is the centre of a docking box: x, y and z in Å, in the receptor's coordinates.
type BoxCenter [3]float64

// Schema describes exactly three numbers.
func (BoxCenter) Schema(huma.Registry) *huma.Schema { return triple(nil, nil) }

// UnmarshalJSON reads an array of exactly three numbers.
func (c *BoxCenter) UnmarshalJSON(text []byte) error {
	read, err := readTriple(text)
	if err != nil {
		return err
	}
	*c = read
	return nil
}

// BoxSize is the edge lengths of a docking box along x, y and z in Å. In JSON it is an array of three numbers, or one number
// for a cube; it is always written as an array.
type BoxSize [3]float64

// Schema describes one number or exactly three, each within [MinBoxEdgeAngstrom, MaxBoxEdgeAngstrom].
func (BoxSize) Schema(huma.Registry) *huma.Schema {
	lowest, highest := MinBoxEdgeAngstrom, MaxBoxEdgeAngstrom
	return &huma.Schema{
		OneOf: []*huma.Schema{
			{Type: huma.TypeNumber, Minimum: &lowest, Maximum: &highest, Description: "Edge of a cube in Å."},
			triple(&lowest, &highest),
		},
	}
}

// UnmarshalJSON reads a number or an array of exactly three numbers. Their range is the schema's to check.
func (s *BoxSize) UnmarshalJSON(text []byte) error {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] != '[' {
		edge, err := readNumber(trimmed)
		if err != nil {
			return err
		}
		*s = BoxSize{edge, edge, edge}
		return nil
	}
	read, err := readTriple(text)
	if err != nil {
		return err
	}
	*s = read
	return nil
}

func triple(lowest, highest *float64) *huma.Schema {
	three := 3
	return &huma.Schema{
		Type:     huma.TypeArray,
		Items:    &huma.Schema{Type: huma.TypeNumber, Minimum: lowest, Maximum: highest},
		MinItems: &three,
		MaxItems: &three,
	}
}

var errNotTriple = errors.New("expected an array of three numbers")

func readTriple(text []byte) ([3]float64, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != 3 {
		return [3]float64{}, errNotTriple
	}
	var read [3]float64
	for i, part := range parts {
		number, err := readNumber(part)
		if err != nil {
			return [3]float64{}, errNotTriple
		}
		read[i] = number
	}
	return read, nil
}

// readNumber refuses null, which encoding/json would read as "leave it alone".
func readNumber(text []byte) (float64, error) {
	var number *float64
	if err := json.Unmarshal(text, &number); err != nil || number == nil {
		return 0, errors.New("expected a number")
	}
	return *number, nil
}
