package engines

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Registry finds engines by their canonical id or by an alias. It is immutable after New and safe for concurrent use.
type Registry struct {
	byName map[string]Engine
	ids    []string
}

// NewRegistry builds a registry. Two engines that claim one name are a programming error and panic at start-up.
func NewRegistry(list ...Engine) *Registry {
	r := &Registry{byName: make(map[string]Engine)}
	for _, e := range list {
		spec := e.Spec()
		r.ids = append(r.ids, spec.ID)
		names := append([]string{spec.ID}, spec.Aliases...)
		seen := map[string]bool{}
		for _, name := range names {
			key := Normalize(name)
			if seen[key] {
				continue
			}
			seen[key] = true
			if _, taken := r.byName[key]; taken {
				panic(fmt.Sprintf("engines: two engines are called %q", name))
			}
			r.byName[key] = e
		}
	}
	sort.Strings(r.ids)
	return r
}

// Only returns the registry with the engines of these ids or aliases and their helpers alone; all of them when there are none. A
// name that no engine has is an error.
func (r *Registry) Only(names []string) (*Registry, error) {
	if len(names) == 0 {
		return r, nil
	}
	var list []Engine
	seen := map[string]bool{}
	wanted := slices.Clone(names)
	for i := 0; i < len(wanted); i++ { // it grows by helpers
		e, ok := r.Lookup(wanted[i])
		if !ok {
			return nil, fmt.Errorf("no engine of this build is called %q; there are: %s", wanted[i], strings.Join(r.ids, ", "))
		}
		if spec := e.Spec(); !seen[spec.ID] {
			seen[spec.ID] = true
			list = append(list, e)
			wanted = append(wanted, spec.Helpers...)
		}
	}
	return NewRegistry(list...), nil
}

// Normalize folds a simulator name as doc/contract.md §1 says: lower case without spaces, "_" and "-".
func Normalize(name string) string {
	return withoutGaps.Replace(strings.ToLower(name))
}

// withoutGaps is made once: making it takes longer than its work, and a plan looks its engine up for each of its shards.
var withoutGaps = strings.NewReplacer(" ", "", "_", "", "-", "")

// Lookup returns the engine of a canonical id or alias.
func (r *Registry) Lookup(name string) (Engine, bool) {
	e, ok := r.byName[Normalize(name)]
	return e, ok
}

// IDs returns the canonical ids, sorted.
func (r *Registry) IDs() []string { return append([]string(nil), r.ids...) }

// Serving returns the canonical ids of the engines that run jobs of the type, sorted.
func (r *Registry) Serving(jobType string) []string {
	var ids []string
	for _, id := range r.ids {
		if r.byName[Normalize(id)].Spec().Serves(jobType) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Serves reports whether the engine runs jobs of the type.
func (s Spec) Serves(jobType string) bool {
	if s.Helper {
		return false
	}
	if len(s.JobTypes) == 0 {
		return jobType == JobTypeSimulation
	}
	return slices.Contains(s.JobTypes, jobType)
}
