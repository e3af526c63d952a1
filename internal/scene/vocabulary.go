package scene

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// MaxOperations bounds a list, as the schema does.
const MaxOperations = 20

//go:embed operations.schema.json
var schemaText []byte

// Schema is the JSON Schema (2020-12) of a list of operations, for readers and for models that call them as tools.
func Schema() []byte { return slices.Clone(schemaText) }

// InvalidError says why a list of operations is refused. Index counts from 0, -1 for the list as a whole; Op and Argument are ""
// where none is to blame. Message says what is allowed.
type InvalidError struct {
	Index        int
	Op, Argument string
	Message      string
}

func (e *InvalidError) Error() string {
	place := "operations"
	if e.Index >= 0 {
		place = "operation " + strconv.Itoa(e.Index+1)
	}
	if e.Op != "" {
		place += " (" + e.Op + ")"
	}
	if e.Argument != "" {
		place += ", argument " + e.Argument
	}
	return place + ": " + e.Message
}

// Parse reads a list of operations from JSON and checks it against the schema. Errors: *InvalidError.
func Parse(text []byte) ([]Operation, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, &InvalidError{Index: -1, Message: `expected a list of {"op": …, "args": {…}} in JSON: ` + err.Error()}
	}
	if len(list) > MaxOperations {
		return nil, &InvalidError{Index: -1, Message: fmt.Sprintf("at most %d at a time, got %d", MaxOperations, len(list))}
	}
	known, err := vocabulary()
	if err != nil {
		return nil, err
	}
	operations := make([]Operation, len(list))
	for i, entry := range list {
		if invalid := known.read(entry, &operations[i]); invalid != nil {
			invalid.Index = i
			return nil, invalid
		}
	}
	return operations, nil
}

// Validate checks operations that were made in Go as Parse checks their JSON. Errors: *InvalidError.
func Validate(operations []Operation) error {
	text, err := json.Marshal(operations)
	if err != nil {
		return &InvalidError{Index: -1, Message: err.Error()}
	}
	_, err = Parse(text)
	return err
}

// lexicon are the operations of the schema by their names.
type lexicon map[string]entry

// entry is what the schema says of one operation's arguments: of all together, and of each.
type entry struct {
	together  *jsonschema.Resolved
	arguments map[string]*jsonschema.Resolved
	required  []string
	defs      map[string]*jsonschema.Schema
}

// vocabulary reads the schema once.
var vocabulary = sync.OnceValues(func() (lexicon, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(schemaText, &schema); err != nil {
		return nil, fmt.Errorf("read the schema of operations: %w", err)
	}
	known := lexicon{}
	for _, operation := range schema.Items.OneOf {
		name, _ := (*operation.Properties["op"].Const).(string)
		made, err := entryOf(operation.Properties["args"], schema.Defs)
		if err != nil {
			return nil, fmt.Errorf("read the schema of operation %q: %w", name, err)
		}
		known[name] = made
	}
	return known, nil
})

func entryOf(args *jsonschema.Schema, defs map[string]*jsonschema.Schema) (entry, error) {
	made := entry{arguments: map[string]*jsonschema.Resolved{}, required: args.Required, defs: defs}
	var err error
	if made.together, err = resolved(args, defs); err != nil {
		return entry{}, err
	}
	for name, schema := range args.Properties {
		if made.arguments[name], err = resolved(schema, defs); err != nil {
			return entry{}, err
		}
	}
	return made, nil
}

// resolved is a part of the schema that can be used alone.
func resolved(part *jsonschema.Schema, defs map[string]*jsonschema.Schema) (*jsonschema.Resolved, error) {
	alone := *part.CloneSchemas()
	alone.Defs = (&jsonschema.Schema{Defs: defs}).CloneSchemas().Defs
	return alone.Resolve(nil)
}

// read checks an operation and reads it.
func (l lexicon) read(text json.RawMessage, into *Operation) *InvalidError {
	var members map[string]json.RawMessage
	var name string
	if err := json.Unmarshal(text, &members); err != nil || json.Unmarshal(members["op"], &name) != nil {
		return &InvalidError{Message: `expected an object with "op", the name of an operation, and "args"`}
	}
	known, ok := l[name]
	if !ok {
		return &InvalidError{Message: fmt.Sprintf("there is no operation %.40q; there are %s", name, listed(l))}
	}
	for member := range members {
		if member != "op" && member != "args" {
			return &InvalidError{Op: name, Message: fmt.Sprintf(`only "op" and "args" may stand here, got %.40q`, member)}
		}
	}
	var args map[string]any
	if err := json.Unmarshal(members["args"], &args); err != nil || args == nil {
		return &InvalidError{Op: name, Message: `expected "args", an object`}
	}
	if argument, message := known.check(args); message != "" {
		return &InvalidError{Op: name, Argument: argument, Message: message}
	}
	if err := into.UnmarshalJSON(text); err != nil {
		return &InvalidError{Op: name, Message: err.Error()}
	}
	return nil
}

// check says what is wrong with arguments: which one, or "" where it is with all of them; the message is "" when nothing is.
func (e entry) check(args map[string]any) (argument, message string) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		schema, ok := e.arguments[name]
		if !ok {
			return name, "is not known here; allowed are " + listed(e.arguments)
		}
		if schema.Validate(args[name]) != nil {
			return name, fmt.Sprintf("expected %s, got %s", e.allowed(schema.Schema()), brief(args[name]))
		}
	}
	for _, name := range e.required {
		if _, ok := args[name]; !ok {
			return name, "is missing; expected " + e.allowed(e.arguments[name].Schema())
		}
	}
	if e.together.Validate(args) != nil {
		return "", e.alternatives()
	}
	return "", ""
}

// alternatives says which arguments together an operation takes, where each alone is right.
func (e entry) alternatives() string {
	schema := e.together.Schema()
	if len(schema.OneOf) > 0 {
		var choices []string
		for _, choice := range schema.OneOf {
			choices = append(choices, strings.Join(choice.Required, " with "))
		}
		return "expected exactly one of " + strings.Join(choices, ", ")
	}
	count := "at least one"
	if schema.MaxProperties != nil {
		count = "exactly one"
	}
	return "expected " + count + " of " + listed(e.arguments)
}

// allowed says in words what a part of the schema takes.
func (e entry) allowed(s *jsonschema.Schema) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s = e.defs[name]
	}
	switch {
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, word := range s.Enum {
			words[i] = fmt.Sprint(word)
		}
		return "one of " + strings.Join(words, ", ")
	case s.Type == "number" || s.Type == "integer":
		what := map[string]string{"number": "a number", "integer": "a whole number"}[s.Type]
		if s.Minimum != nil && s.Maximum != nil {
			what += fmt.Sprintf(" from %v to %v", *s.Minimum, *s.Maximum)
		}
		return what
	case s.Type == "boolean":
		return "true or false"
	case s.Type == "array":
		return e.allowedList(s)
	case s.Type == "object":
		return "an object with " + listed(s.Properties)
	}
	return e.allowedText(s)
}

func (e entry) allowedList(s *jsonschema.Schema) string {
	text := "a list"
	if s.MinItems != nil {
		text += fmt.Sprintf(" of at least %d", *s.MinItems)
	}
	if s.MaxItems != nil {
		text += fmt.Sprintf(" of at most %d", *s.MaxItems)
	}
	return text + ", each " + e.allowed(s.Items)
}

func (e entry) allowedText(s *jsonschema.Schema) string {
	text := "text"
	if s.Description != "" {
		text = s.Description
	}
	if s.Pattern != "" && s.Description == "" {
		text += " (" + s.Pattern + ")"
	}
	if s.MaxLength != nil {
		text += fmt.Sprintf(" of at most %d characters", *s.MaxLength)
	}
	return text
}

// brief quotes a value, cut to what a message has room for.
func brief(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "something else"
	}
	const most = 60
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(text)
}

func listed[T any](named map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(named)), ", ")
}
