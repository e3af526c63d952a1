package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// document is what the tests read of the OpenAPI document of a running API.
type document struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]schema
	}
}

// operation is one operation; its method and path are not in its own text.
type operation struct {
	Method, Path string
	OperationID  string
	Security     []map[string][]string // empty for a public one
	Parameters   []parameter
	RequestBody  *struct {
		Content map[string]struct {
			Schema  schema
			Example json.RawMessage
		}
	}
	Responses map[string]json.RawMessage
}

type parameter struct {
	Name     string
	In       string // path, query or header
	Required bool
	Schema   schema
}

// schema is what tells the shape of a value.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a name, or several
	Format               string
	Enum                 []any
	Properties           map[string]schema
	Items                *schema
	OneOf, AnyOf, AllOf  []schema
	AdditionalProperties json.RawMessage
}

// readDocument asks an API for its document.
func readDocument(ctx context.Context, api *Process) (document, error) {
	answer, err := caller{}.send(ctx, api, http.MethodGet, "/api/v1/openapi.json", nil)
	if err != nil {
		return document{}, err
	}
	var d document
	if err := answer.read(&d, http.StatusOK); err != nil {
		return document{}, fmt.Errorf("the OpenAPI document: %w", err)
	}
	return d, nil
}

// operations lists every operation, by path and method.
func (d document) operations() []operation {
	var all []operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			one := d.Paths[path][method]
			one.Method, one.Path = strings.ToUpper(method), path
			all = append(all, one)
		}
	}
	return all
}

func (o operation) String() string { return o.Method + " " + o.Path }

// in lists the operation's parameters of a place.
func (o operation) in(place string) []parameter {
	return slices.DeleteFunc(slices.Clone(o.Parameters), func(p parameter) bool { return p.In != place })
}

// documents tells whether the document names a status among the operation's answers.
func (o operation) documents(status int) bool {
	_, ok := o.Responses[fmt.Sprint(status)]
	return ok
}

// scheme finds a way to prove who one is; scopes is what it has to hold. ok is false when the operation does not take it.
func (o operation) scheme(name string) (scopes []string, ok bool) {
	for _, requirement := range o.Security {
		if scopes, ok := requirement[name]; ok {
			return scopes, true
		}
	}
	return nil, false
}

// public tells whether nobody need prove who they are.
func (o operation) public() bool { return len(o.Security) == 0 }

// safe tells whether the method changes nothing, so that browsers send it from anywhere.
func (o operation) safe() bool { return o.Method == http.MethodGet }

// bills tells whether the operation can cost money: it may answer that there is not enough.
func (o operation) bills() bool { return o.documents(http.StatusPaymentRequired) }

const jsonMedia = "application/json"

// takesJSON tells whether the operation takes a body.
func (o operation) takesJSON() bool {
	if o.RequestBody == nil {
		return false
	}
	_, ok := o.RequestBody.Content[jsonMedia]
	return ok
}

// example is the body that the document shows; nil when the operation takes none.
func (o operation) example() []byte {
	if !o.takesJSON() {
		return nil
	}
	return o.RequestBody.Content[jsonMedia].Example
}

// inBraces is a path parameter.
var inBraces = regexp.MustCompile(`\{([^/}]+)\}`)

// at is the address with its path parameters filled in.
func (o operation) at(values map[string]string) string {
	return "/api" + inBraces.ReplaceAllStringFunc(o.Path, func(braced string) string { return values[strings.Trim(braced, "{}")] })
}

// isText tells whether a value of the schema is a free text: neither one of a list nor a moment.
func (s schema) isText() bool {
	kinds, _ := s.Type.([]any)
	return (s.Type == "string" || slices.Contains(kinds, any("string"))) && len(s.Enum) == 0 && s.Format != "date-time"
}

// texts lists the places of all free texts in a value of the schema, such as sceneFile or parts[].etag.
func (d document) texts(s schema) []string {
	found := map[string]bool{}
	d.walk(s, "", nil, found)
	return slices.Sorted(maps.Keys(found))
}

func (d document) walk(s schema, place string, above []string, found map[string]bool) {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		if slices.Contains(above, name) {
			return
		}
		d.walk(d.Components.Schemas[name], place, append(slices.Clone(above), name), found)
		return
	}
	for name, member := range s.Properties {
		d.walk(member, strings.TrimPrefix(place+"."+name, "."), above, found)
	}
	for _, one := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		d.walk(one, place, above, found)
	}
	if s.Items != nil {
		d.walk(*s.Items, place+"[]", above, found)
	}
	if s.isText() {
		found[place] = true
	}
}
