package api

import (
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/internal/mol"
)

// TestExplainUnion reads the messages of a broken union beside other violations: every place must be the right one.
func TestExplainUnion(t *testing.T) {
	setHumaRules()
	type body struct {
		Ligand mol.LigandEntry `json:"ligand"`
		Size   int             `json:"size" maximum:"5"`
	}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[body](), true, "")
	ligand := func(source any) any {
		return map[string]any{"size": 6.0, "ligand": map[string]any{"ligandId": "l", "label": "", "source": source}}
	}
	for _, c := range []struct {
		name   string
		source any
		want   string
	}{
		{"no kind", map[string]any{"smiles": "C"}, "ligand.label: expected length >= 1; ligand.source.kind: is required"},
		{"a number as kind", map[string]any{"kind": 5.0}, "ligand.label: expected length >= 1; ligand.source.kind: " +
			"expected string"},
		{"inner member", map[string]any{"kind": "smiles"}, "ligand.label: expected length >= 1; ligand.source.smiles: is " +
			"required; size: expected number <= 5"},
		{"unknown kind", map[string]any{"kind": "inchi"}, "ligand.label: expected length >= 1; ligand.source.kind: expected one " +
			"of ccd, smiles, artifact; size: expected number <= 5"},
	} {
		result := &huma.ValidateResult{}
		huma.Validate(registry, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, ligand(c.source), result)
		if got := explain("", result.Errors, bodySchemas{registry, schema}); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
	}
}
