// Package sortedjson writes JSON with the members of every object sorted and nothing escaped that need not be, so that
// two texts are the same where their values are. It knows no document's meaning.
package sortedjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/molfabric/molfabric/internal/parallel"
)

// Decode reads an object and keeps the digits of its numbers.
func Decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("reading a JSON object: %w", err)
	}
	return tree, nil
}

// Encode writes a value: the members of maps sorted, as encoding/json does, and those of a struct as they are declared.
func Encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// EncodeObject is Encode for an object. What is JSON already (json.RawMessage) is taken as it is and not looked through
// again.
func EncodeObject(members map[string]any) (json.RawMessage, error) {
	out := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(members)) {
		text, ready := members[name].(json.RawMessage)
		if !ready {
			var err error
			if text, err = Encode(members[name]); err != nil {
				return nil, err
			}
		}
		quoted, err := Encode(name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), text...)
	}
	return append(out, '}'), nil
}

// EncodeList is Encode for a long list whose elements are objects, on all processors.
func EncodeList[T any](list []T) (json.RawMessage, error) {
	runs, err := parallel.Runs(list, func(run []T) ([]byte, error) {
		text, err := Encode(run)
		return bytes.Trim(text, "[]"), err // of the list: objects have no brackets at their ends
	})
	return slices.Concat([]byte{'['}, bytes.Join(runs, []byte{','}), []byte{']'}), err
}
