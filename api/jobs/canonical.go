package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
)

// Bounds of a number in metadata, well inside what Postgres' jsonb keeps (16,383 decimals) and beyond what anyone counts.
const (
	maxNumberBytes = 512
	minExponent    = -512
)

// canonical is the request as it is compared and kept: defaults filled in, members sorted, without the idempotency key, which
// may come in three places, and without the priority, which is ignored. params are the completed simulationParams. Numbers
// of metadata keep their digits; one that the database could not hold is fault.Validation.
func canonical(request SubmitRequest, params json.RawMessage) (json.RawMessage, error) {
	request.JobType = ref(valueOr(request.JobType, engines.JobTypeRender))
	request.Recovery = &Recovery{Mode: ref(recoveryMode(request.Recovery))}
	if *request.JobType == engines.JobTypeRender {
		request.FrameStep = ref(valueOr(request.FrameStep, 1))
	}
	request.IdempotencyKey, request.Priority, request.SimulationParams = "", nil, nil
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("writing the canonical request: %w", err)
	}
	tree, err := decode(text)
	if err != nil {
		return nil, err
	}
	if docking, ok := tree["dockingRequest"].(map[string]any); ok {
		delete(docking, "idempotencyKey")
	}
	if err := storable("metadata", tree["metadata"]); err != nil {
		return nil, err
	}
	tree["simulationParams"] = params
	return writeObject(tree)
}

// decode reads a JSON object and keeps the digits of its numbers.
func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("reading the canonical request: %w", err)
	}
	return tree, nil
}

// writeObject writes an object with its members sorted. What is JSON already is taken as it is and not looked through again.
func writeObject(members map[string]any) (json.RawMessage, error) {
	out := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(members)) {
		text, ready := members[name].(json.RawMessage)
		if !ready {
			var err error
			if text, err = encode(members[name]); err != nil {
				return nil, err
			}
		}
		quoted, err := encode(name)
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

// encode writes members sorted, as encoding/json does for maps, and leaves <, > and & as they are.
func encode(tree any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, fmt.Errorf("writing the canonical request: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// storable refuses numbers that Postgres' jsonb cannot hold, so that whoever reads a kept request as JSON there can. The rest of a value has been
// checked with the body.
func storable(path string, value any) error {
	switch value := value.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(value.String()), "e")
		if n, err := strconv.Atoi(exponent); len(value) > maxNumberBytes || exponent != "" && (err != nil || n < minExponent) {
			return fault.New(fault.Validation, "%s: a number has at most %d digits and an exponent of at least %d", path, maxNumberBytes, minExponent)
		}
	case []any:
		for i, element := range value {
			if err := storable(path+"["+strconv.Itoa(i)+"]", element); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range value {
			if err := storable(path+"."+name, member); err != nil {
				return err
			}
		}
	}
	return nil
}

func recoveryMode(r *Recovery) string {
	if r == nil {
		return defaultRecoveryMode
	}
	return valueOr(r.Mode, defaultRecoveryMode)
}
