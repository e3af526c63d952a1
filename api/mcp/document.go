package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// operation is what a call needs to know of one operation of the API.
type operation struct {
	method, path string // "GET", "/api/v1/jobs/{id}/status"
	parameters   []parameter
	body         json.RawMessage // its schema; nil when the operation takes none
	bodyRequired bool
}

// parameter is one of the path or of the query. Headers are the front door's.
type parameter struct {
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Description string         `json:"description"`
	Required    bool           `json:"required"`
	Schema      map[string]any `json:"schema"`
}

// document is the OpenAPI document as the tools see it.
type document struct {
	operations map[string]operation // by operationId
	schemas    map[string]json.RawMessage
}

func readDocument(text []byte) (document, error) {
	var whole struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []parameter
			RequestBody *struct {
				Required bool
				Content  map[string]struct{ Schema json.RawMessage }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return document{}, err
	}
	prefix := ""
	if len(whole.Servers) > 0 {
		prefix = whole.Servers[0].URL
	}
	found := document{operations: map[string]operation{}, schemas: whole.Components.Schemas}
	for path, methods := range whole.Paths {
		for method, described := range methods {
			o := operation{method: strings.ToUpper(method), path: prefix + path}
			for _, p := range described.Parameters {
				if p.In == "path" || p.In == "query" {
					o.parameters = append(o.parameters, p)
				}
			}
			if described.RequestBody != nil {
				o.body, o.bodyRequired = described.RequestBody.Content[typeJSON].Schema, described.RequestBody.Required
			}
			found.operations[described.OperationID] = o
		}
	}
	return found, nil
}

// inputOf is the JSON schema of a tool's arguments: the members of the operation's body beside its parameters. What the
// schemas of the document share stays shared, below $defs.
func (d document) inputOf(o operation, t tool) (map[string]any, error) {
	input := map[string]any{"type": "object", "additionalProperties": false}
	properties, required := map[string]any{}, []any{}
	if o.body != nil {
		body, err := d.resolved(o.body)
		if err != nil {
			return nil, err
		}
		members, _ := body["properties"].(map[string]any)
		maps.Copy(properties, members)
		for name, words := range t.shortened {
			properties[name] = map[string]any{"type": "object", "description": words}
		}
		if needed, ok := body["required"].([]any); ok && o.bodyRequired {
			required = append(required, needed...)
		}
	}
	for _, p := range o.parameters {
		name := nameHere(p.Name, t.renamed)
		schema := maps.Clone(p.Schema)
		if p.Description != "" {
			schema["description"] = p.Description
		}
		properties[name] = schema
		if p.Required {
			required = append(required, name)
		}
	}
	input["properties"] = properties
	if len(required) > 0 {
		input["required"] = required
	}
	return d.closed(input)
}

func nameHere(name string, renamed map[string]string) string {
	if here, ok := renamed[name]; ok {
		return here
	}
	return name
}

const componentsPlace, definitionsPlace = "#/components/schemas/", "#/$defs/"

// resolved follows a reference to a component, if the schema is one.
func (d document) resolved(schema json.RawMessage) (map[string]any, error) {
	var members map[string]any
	if err := json.Unmarshal(schema, &members); err != nil {
		return nil, err
	}
	name, isReference := members["$ref"].(string)
	if !isReference {
		return members, nil
	}
	target, found := d.schemas[strings.TrimPrefix(name, componentsPlace)]
	if !found {
		return nil, fmt.Errorf("the document has no schema %s", name)
	}
	return d.resolved(target)
}

// reference matches a reference to a component in the text of a schema: by $ref, or by a discriminator.
var reference = regexp.MustCompile(`"` + regexp.QuoteMeta(componentsPlace) + `([^"]+)"`)

// closed adds every component that a schema leads to, so that it can be read without the document.
func (d document) closed(schema map[string]any) (map[string]any, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	definitions := map[string]json.RawMessage{}
	for waiting := [][]byte{text}; len(waiting) > 0; {
		next := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		for _, match := range reference.FindAllSubmatch(next, -1) {
			name := string(match[1])
			if _, known := definitions[name]; known {
				continue
			}
			component, found := d.schemas[name]
			if !found {
				return nil, fmt.Errorf("the document has no schema %s", name)
			}
			definitions[name] = moved(component)
			waiting = append(waiting, component)
		}
	}
	var whole map[string]any
	if err := json.Unmarshal(moved(text), &whole); err != nil {
		return nil, err
	}
	if len(definitions) > 0 {
		whole["$defs"] = definitions
	}
	return whole, nil
}

// moved is the text of a schema whose references lead to definitions.
func moved(schema []byte) json.RawMessage {
	return reference.ReplaceAll(schema, []byte(`"`+strings.ReplaceAll(definitionsPlace, "$", "$$")+`$1"`))
}

func sortedNames[V any](members map[string]V) []string { return slices.Sorted(maps.Keys(members)) }
