package mol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Variant is one object of a union whose member "kind" tells which one it is.
type Variant struct {
	Kind string
	Type reflect.Type // a struct whose Kind has the constant as its rule
}

// UnionSchema describes a union. The outer "kind" makes huma name a missing or unknown kind; the discriminator makes it check,
// and name, the members of the kind that was given instead of only saying that nothing matched.
func UnionSchema(r huma.Registry, variants ...Variant) *huma.Schema {
	mapping := map[string]string{}
	var kinds []any
	var objects []*huma.Schema
	for _, variant := range variants {
		ref := r.Schema(variant.Type, true, "")
		mapping[variant.Kind] = ref.Ref
		kinds = append(kinds, variant.Kind)
		objects = append(objects, ref)
	}
	return &huma.Schema{
		Type: huma.TypeObject,
		Properties: map[string]*huma.Schema{"kind": {Type: huma.TypeString, Enum: kinds,
			Description: "Tells which of the objects it is."}},
		Required:      []string{"kind"},
		OneOf:         objects,
		Discriminator: &huma.Discriminator{PropertyName: "kind", Mapping: mapping},
	}
}

// ReadVariant reads a union's object into the variant that its "kind" names and refuses members that this kind does not have.
// name is the union's member, for errors.
func ReadVariant(name string, text []byte, variants map[string]any) error {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	variant, ok := variants[head.Kind]
	if !ok {
		return fmt.Errorf("%s.kind: expected one of %s", name, strings.Join(slices.Sorted(maps.Keys(variants)), ", "))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(variant); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
