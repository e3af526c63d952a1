package fpocket

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

const (
	// DefaultMaxPockets is how many pockets a request gets that does not say (doc/contract.md §2.2).
	DefaultMaxPockets = 10
	// mostPockets is the greatest maxPockets of doc/contract.md §2.2.
	mostPockets = 20
	// maxStructureBytes bounds the scene file: 99,999 atoms with their hydrogens, waters and headers fit. structure.py refuses
	// what is larger, for a scene file whose size nobody has stated.
	maxStructureBytes = 64 << 20
)

// Params are the members of simulationParams that fpocket reads (doc/contract.md §2.2). The API embeds the struct, so its tags
// are the rules of the public contract.
type Params struct {
	MaxPockets *int `json:"maxPockets,omitempty" minimum:"1" maximum:"20" default:"10" doc:"Most pockets returned, best first."`
}

// Complete fills in the default, for every simulator: the schema's default comes to a request for any of them.
func (p *Params) Complete(string) {
	if p.MaxPockets == nil {
		most := DefaultMaxPockets
		p.MaxPockets = &most
	}
}

// request is a request with its defaults filled in.
type request struct {
	structure  engines.Object
	maxPockets int
}

// unreadable are extensions of formats that the engine does not read. The content decides about every other file.
var unreadable = map[string]string{
	".gz": "compressed", ".zip": "compressed", ".bz2": "compressed", ".xz": "compressed", ".zst": "compressed",
	".bcif": "binary mmCIF", ".mmtf": "binary",
}

// resolve checks what can be known of a request before its files are read. It returns an *engines.InvalidError.
func resolve(r engines.Request) (request, error) {
	var p Params
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return request{}, invalid("maxPockets", "cannot be read: %v", err)
	}
	q := request{structure: r.SceneFile, maxPockets: DefaultMaxPockets}
	if p.MaxPockets != nil {
		q.maxPockets = *p.MaxPockets
	}
	if q.maxPockets < 1 || q.maxPockets > mostPockets {
		return request{}, invalid("maxPockets", "is %d; it must be 1 to %d", q.maxPockets, mostPockets)
	}
	if r.SceneFile.StorageKey == "" {
		return request{}, invalid("sceneFile", "is missing; give the storage key of the protein's structure (PDB or mmCIF)")
	}
	if kind, known := unreadable[strings.ToLower(path.Ext(r.SceneFile.StorageKey))]; known {
		return request{}, invalid("sceneFile", "is a %s file; upload the structure as plain PDB or mmCIF", kind)
	}
	if r.SceneFile.ByteSize > maxStructureBytes {
		return request{}, invalid("sceneFile", "has %d bytes; a structure may have at most %d", r.SceneFile.ByteSize,
			maxStructureBytes)
	}
	return q, nil
}

func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}
