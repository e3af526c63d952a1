package jobs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/sortedjson"
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
	tree, err := sortedjson.Decode(text)
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
	return sortedjson.EncodeObject(tree)
}

// storable refuses numbers that Postgres' jsonb cannot hold, so that whoever reads a kept request as JSON there can. The rest of a
// value has been checked with the body.
func storable(path string, value any) error {
	switch value := value.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(value.String()), "e")
		if n, err := strconv.Atoi(exponent); len(value) > maxNumberBytes || exponent != "" && (err != nil || n < minExponent) {
			return fault.New(fault.Validation, "%s: a number has at most %d digits and an exponent of at least %d", path,
				maxNumberBytes, minExponent)
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
