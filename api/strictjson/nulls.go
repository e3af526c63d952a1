package strictjson

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// RefuseNulls finds the first null member of raw that schema does not allow. The validator behind the schema takes null for
// any optional member; the contract does not. A member that no schema describes (free metadata) may be null. raw has passed
// Check; the error is a *NullError.
func RefuseNulls(registry huma.Registry, schema *huma.Schema, raw []byte) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return &Error{Message: "the body does not fit the operation's schema"}
	}
	path := findNull(registry, branches(registry, schema, nil), value, nil)
	if path == nil {
		return nil
	}
	return &NullError{Path: pathText(path)}
}

// NullError is a null where the schema has none.
type NullError struct{ Path string }

func (e *NullError) Error() string {
	return fmt.Sprintf("%s: null is not allowed; an optional member is left out instead", e.Path)
}

// findNull walks value beside the schemas that may describe it and returns the path of a forbidden null, or nil.
func findNull(registry huma.Registry, schemas []*huma.Schema, value any, path []segment) []segment {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			below := append(slices.Clip(path), segment{name: name})
			described := members(registry, schemas, name)
			if member == nil {
				if len(described) > 0 && !slices.ContainsFunc(described, takesNull) {
					return below
				}
				continue
			}
			if found := findNull(registry, described, member, below); found != nil {
				return found
			}
		}
	case []any:
		described := items(registry, schemas)
		for i, element := range value {
			if found := findNull(registry, described, element, append(slices.Clip(path),
				segment{index: i, element: true})); found != nil {
				return found
			}
		}
	}
	return nil
}

func takesNull(s *huma.Schema) bool {
	return s.Nullable || s.Type == "" && len(s.OneOf) == 0 && len(s.AnyOf) == 0 && len(s.AllOf) == 0
}

// branches resolves references and returns the schema with every alternative below it.
func branches(registry huma.Registry, s *huma.Schema, found []*huma.Schema) []*huma.Schema {
	for s != nil && s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	if s == nil {
		return found
	}
	found = append(found, s)
	for _, list := range [][]*huma.Schema{s.OneOf, s.AnyOf, s.AllOf} {
		for _, one := range list {
			found = branches(registry, one, found)
		}
	}
	return found
}

func members(registry huma.Registry, schemas []*huma.Schema, name string) []*huma.Schema {
	var found []*huma.Schema
	for _, s := range schemas {
		if member, ok := s.Properties[name]; ok {
			found = branches(registry, member, found)
		} else if extra, ok := s.AdditionalProperties.(*huma.Schema); ok {
			found = branches(registry, extra, found)
		}
	}
	return found
}

func items(registry huma.Registry, schemas []*huma.Schema) []*huma.Schema {
	var found []*huma.Schema
	for _, s := range schemas {
		if s.Items != nil {
			found = branches(registry, s.Items, found)
		}
	}
	return found
}
