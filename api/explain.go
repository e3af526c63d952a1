package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/gofiber/fiber/v2"
)

const (
	// maxExplained bounds how many violations one message names.
	maxExplained = 8
	// maxPathChars bounds how much of a path a message repeats: its names may be the caller's.
	maxPathChars = 160
	// maxNamed bounds how many allowed members a message lists.
	maxNamed     = 12
	requiredRule = "expected required property "
	dateRule     = "invalid date/time"
	// kind tells the objects of a union apart. When it is missing or no text, huma forgets to take it off the path again, so that
	// every later violation of the same body names a wrong place.
	kind = "kind"
)

// bodySchemas is what the body of a request is held against, so that a message can say what is allowed. The zero value knows
// nothing.
type bodySchemas struct {
	registry huma.Registry
	body     *huma.Schema
}

type registryKey struct{}

// withSchemas lets errors of this request find the schemas of its API.
func withSchemas(ctx context.Context, registry huma.Registry) context.Context {
	return context.WithValue(ctx, registryKey{}, registry)
}

func schemasOf(ctx huma.Context) bodySchemas {
	registry, ok := ctx.Context().Value(registryKey{}).(huma.Registry)
	if !ok || ctx.Operation() == nil || ctx.Operation().RequestBody == nil ||
		ctx.Operation().RequestBody.Content[fiber.MIMEApplicationJSON] == nil {
		return bodySchemas{}
	}
	return bodySchemas{registry, ctx.Operation().RequestBody.Content[fiber.MIMEApplicationJSON].Schema}
}

// violation is one finding: a place and the rule that it breaks.
type violation struct{ place, rule string }

func (v violation) String() string {
	place := v.place
	if short := []rune(place); len(short) > maxPathChars {
		place = string(short[:maxPathChars]) + "…"
	}
	if place == "" {
		return v.rule
	}
	return place + ": " + v.rule
}

// explain turns huma's findings into one message: "member: rule; member: rule". It repeats no submitted value. Findings are
// sorted, so that the same request always gets the same message.
func explain(message string, errs []error, schemas bodySchemas) string {
	if len(errs) == 0 {
		return message
	}
	found := violations(errs, schemas)
	slices.SortStableFunc(found, func(a, b violation) int { return strings.Compare(a.place, b.place) })
	found = slices.DeleteFunc(found, func(v violation) bool {
		// That no object of a union fits is no news beside what is wrong with its kind.
		return strings.HasPrefix(v.rule, "expected value to match") && slices.ContainsFunc(found, func(inner violation) bool {
			return inner.place == v.place+"."+kind
		})
	})
	var parts []string
	for i, v := range found {
		if i == maxExplained {
			parts = append(parts, fmt.Sprintf("and %d more", len(found)-maxExplained))
			break
		}
		parts = append(parts, v.String())
	}
	return strings.Join(parts, "; ")
}

func violations(errs []error, schemas bodySchemas) []violation {
	var found []violation
	for _, err := range errs {
		var detailed huma.ErrorDetailer
		if !errors.As(err, &detailed) {
			found = append(found, violation{rule: err.Error()})
			continue
		}
		detail := detailed.ErrorDetail()
		location, rule, lost := missingKind(detail.Location, detail.Message)
		found = append(found, finding(location, rule, schemas))
		if lost {
			break
		}
	}
	return found
}

// missingKind mends the place and the rule of a union whose kind is missing or no text, and says that the paths of what follows
// are lost.
func missingKind(location, rule string) (place, said string, lost bool) {
	if rule == validation.MsgExpectedPropertyNameInObject {
		return location, "is required", true
	}
	if place, twice := strings.CutSuffix(location, "."+kind+"."+kind); twice {
		return place + "." + kind, rule, true
	}
	return location, rule, false
}

func finding(location, rule string, schemas bodySchemas) violation {
	path := strings.TrimPrefix(strings.TrimPrefix(location, "body"), ".")
	switch name, required := strings.CutPrefix(rule, requiredRule); {
	case required:
		name = strings.TrimSuffix(name, " to be present")
		if path != "" {
			name = path + "." + name
		}
		return violation{name, "is required"}
	case rule == validation.MsgExpectedMatchExactlyOneSchema || rule == validation.MsgExpectedMatchAtLeastOneSchema:
		if allowed := schemas.describe(path); allowed != "" {
			return violation{path, "expected " + allowed}
		}
	case rule == validation.MsgUnexpectedProperty:
		if names := schemas.siblings(path); names != "" {
			return violation{path, "is not a member; there are " + names}
		}
		return violation{path, "is not a member"}
	case strings.HasPrefix(rule, dateRule):
		return violation{path, "expected a date and time as RFC 3339 has it, such as 2026-11-21T10:00:00Z"}
	}
	return violation{path, rule}
}

// at finds the schema of a place in the body; nil when the place is none of the document's.
func (s bodySchemas) at(path string) *huma.Schema {
	node := s.resolve(s.body)
	for _, step := range pathStep.FindAllStringSubmatch(path, -1) {
		switch {
		case node == nil:
			return nil
		case step[2] != "":
			node = s.resolve(node.Items)
		default:
			node = s.resolve(node.Properties[step[1]])
		}
	}
	return node
}

// pathStep is a member's name or an index in brackets.
var pathStep = regexp.MustCompile(`([^.\[\]]+)|\[(\d+)\]`)

func (s bodySchemas) resolve(schema *huma.Schema) *huma.Schema {
	for schema != nil && schema.Ref != "" && s.registry != nil {
		schema = s.registry.SchemaFromRef(schema.Ref)
	}
	return schema
}

// describe says in words what a union at a place allows; "" when that cannot be said shortly.
func (s bodySchemas) describe(path string) string {
	union := s.at(path)
	if union == nil {
		return ""
	}
	var ways []string
	for _, one := range slices.Concat(union.OneOf, union.AnyOf) {
		way := s.inWords(s.resolve(one))
		if way == "" {
			return ""
		}
		ways = append(ways, way)
	}
	return strings.Join(ways, ", or ")
}

func (s bodySchemas) inWords(schema *huma.Schema) string {
	switch {
	case schema == nil:
		return ""
	case schema.Type == huma.TypeNumber || schema.Type == huma.TypeInteger:
		return "a number" + between(schema)
	case schema.Type == huma.TypeArray && schema.MinItems != nil && schema.MaxItems != nil && *schema.MinItems == *schema.MaxItems:
		element := s.resolve(schema.Items)
		if element == nil || element.Type != huma.TypeNumber {
			return ""
		}
		words := "an array of " + strconv.Itoa(*schema.MinItems) + " numbers"
		if bounds := between(element); bounds != "" {
			words += ", each" + bounds
		}
		return words
	}
	return ""
}

func between(schema *huma.Schema) string {
	if schema.Minimum == nil || schema.Maximum == nil {
		return ""
	}
	return " from " + plainNumber(*schema.Minimum) + " to " + plainNumber(*schema.Maximum)
}

// plainNumber writes a bound as people do, without an exponent where it is a whole number of usual length.
func plainNumber(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// siblings lists the members that may stand where an unknown one stood; "" when there are too many.
func (s bodySchemas) siblings(path string) string {
	cut := strings.LastIndexAny(path, ".")
	parent := s.at(path[:max(cut, 0)])
	if parent == nil || len(parent.Properties) == 0 || len(parent.Properties) > maxNamed {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(parent.Properties)), ", ")
}
