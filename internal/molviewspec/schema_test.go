package molviewspec

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTableIsTheSchema compares the tables of kinds with the format's own JSON schema: kinds, what may stand below which,
// parameters, which of them are required, and every type and word.
func TestTableIsTheSchema(t *testing.T) {
	t.Parallel()
	packed, err := gzip.NewReader(bytes.NewReader(fixture(t, "testdata", "schema.json.gz"))) // of Mol* 5.11.0 (MIT)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.NewDecoder(packed).Decode(&schema); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, table := range []tree{sceneTree, animationTree} {
		for name, kind := range table.kinds {
			seen++
			got, want := plain(table.nodeSchema(name, kind)), plain(schema.Defs[name])
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %s\nwant %s", name, compact(got), compact(want))
			}
		}
	}
	if seen != len(schema.Defs) {
		t.Errorf("the tables have %d kinds, the schema %d: %v", seen, len(schema.Defs), slices.Sorted(maps.Keys(schema.Defs)))
	}
}

// plain takes away from a schema what is only for people, and gives lists without order one.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for name, member := range value {
			if _, isText := member.(string); (name == "description" && isText) || name == "default" {
				continue
			}
			result[name] = plain(member)
			if list, ok := result[name].([]any); ok && name != "prefixItems" {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(compact(a), compact(b)) })
			}
		}
		return result
	case []any:
		result := []any{}
		for _, entry := range value {
			result = append(result, plain(entry))
		}
		return result
	}
	return value
}

func compact(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

type schema = map[string]any

func (t *tree) nodeSchema(name string, k kind) any {
	members := schema{"kind": schema{"const": name}, "ref": schema{"type": "string"}, "custom": schema{"type": "object"}}
	required := []string{"kind"}
	if k.selector == "" {
		members["params"] = paramsSchema(k.params)
	} else {
		var cases []any
		for word, params := range k.cases {
			one := paramsSchema(params)
			one["properties"].(schema)[k.selector] = schema{"const": word}
			one["required"] = append(requiredOf(params), k.selector)
			cases = append(cases, one)
		}
		members["params"] = schema{"oneOf": cases}
	}
	if k.selector != "" || len(requiredOf(k.params)) > 0 {
		required = append(required, "params")
	}
	var below []any
	for _, child := range t.children(name) {
		below = append(below, schema{"$ref": "#/$defs/" + child})
	}
	members["children"] = schema{"type": "array", "items": schema{"oneOf": below}}
	if len(below) == 0 {
		members["children"] = schema{"type": "array", "maxItems": 0}
	}
	return roundTrip(schema{"type": "object", "properties": members, "required": required})
}

func paramsSchema(params fields) schema {
	result := objectSchema(params)
	result["additionalProperties"] = true
	return result
}

func objectSchema(members fields) schema {
	properties := schema{}
	for name, field := range members {
		properties[name] = field.shape.schema()
	}
	result := schema{"type": "object", "properties": properties}
	if required := requiredOf(members); len(required) > 0 {
		result["required"] = required
	}
	return result
}

func requiredOf(members fields) []string {
	var required []string
	for name, field := range members {
		if field.required {
			required = append(required, name)
		}
	}
	return required
}

// schema writes a shape as the format's schema does. There a name of a colour is any word of letters.
func (s shape) schema() any {
	switch s.form {
	case booleanForm:
		return schema{"type": "boolean"}
	case numberForm:
		return schema{"type": "number"}
	case integerForm:
		return schema{"type": "integer"}
	case nullForm:
		return schema{"type": "null"}
	case wordForm:
		return schema{"enum": s.words}
	case listForm:
		return schema{"type": "array", "items": s.of[0].schema()}
	case dictForm:
		return schema{"type": "object", "additionalProperties": s.of[0].schema()}
	case objectForm:
		return objectSchema(s.members)
	case tupleForm:
		var entries []any
		for _, of := range s.of {
			entries = append(entries, of.schema())
		}
		return schema{"type": "array", "prefixItems": entries, "minItems": len(entries), "maxItems": len(entries), "items": false}
	case colorForm:
		return schema{"anyOf": colorSchemas()}
	case unionForm:
		var choices []any
		for _, of := range s.of {
			if of.form == colorForm {
				choices = append(choices, colorSchemas()...)
			} else {
				choices = append(choices, of.schema())
			}
		}
		return schema{"anyOf": choices}
	default:
		return schema{"type": "string"}
	}
}

func colorSchemas() []any {
	return []any{schema{"type": "string", "pattern": "^[A-Za-z]+$"}, schema{"type": "string",
		"pattern": "^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$"}}
}

func roundTrip(value any) any {
	text, _ := json.Marshal(value)
	var result any
	_ = json.Unmarshal(text, &result)
	return result
}
