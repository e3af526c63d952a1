package engines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The type of an engine's own members of simulationParams may have these methods beside its fields; its pointer has them.
type (
	// Completer are parameters with defaults.
	Completer interface {
		// Complete fills in the defaults of a request for a simulator, which need not be one of the engine's: the members of
		// all engines stand side by side in simulationParams. What the caller shares with others is replaced and not changed.
		Complete(simulator string)
	}
	// FileNamer are parameters that name stored files and say what they must be.
	FileNamer interface {
		// NamedFiles lists the files, whichever simulator is asked.
		NamedFiles() []NamedFile
	}
)

// NamedFile is a stored file that a request names. Path is that of InvalidError.Field.
type NamedFile struct {
	Path   string
	Object Object
}

// remembered is a document and what it was read as.
type remembered struct {
	text json.RawMessage
	read any
}

// Remember makes a request's Params known as the engine's own type of them, so that nobody has to read them again: a
// library is megabytes. The value is shared and must not be changed. It is forgotten when Params are replaced.
func Remember[T any](r *Request, params T) { r.remembered = remembered{r.Params, params} }

// ParamsOf are the parameters of a request as the engine's own type of them.
func ParamsOf[T any](r Request) (params T, err error) {
	if known, ok := r.remembered.read.(T); ok && bytes.Equal(r.remembered.text, r.Params) {
		return known, nil
	}
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return params, fmt.Errorf("reading simulationParams: %w", err)
	}
	return params, nil
}

// plannedMembers are the members beside simulationParams that an engine plans from, and may refuse by their own names.
// None of them is a member of simulationParams too.
var plannedMembers = []string{
	"sceneFile", "attachments", "taskCount", "frameStart", "frameEnd", "frameStep", "outputFormat", "parameters", "metadata",
	"recovery",
}

// Place is the JSON path in a request of what an engine calls by a path of its own (InvalidError.Field).
func Place(field string) string {
	if member, _, _ := strings.Cut(strings.ReplaceAll(field, "[", "."), "."); slices.Contains(plannedMembers, member) {
		return field
	}
	return "simulationParams." + field
}
