package molviewspec

import (
	"slices"
	"strconv"
	"strings"
)

// form is the sort of value that a shape describes.
type form int

const (
	textForm form = iota
	booleanForm
	numberForm
	integerForm
	nullForm
	wordForm   // one of the shape's words
	colorForm  // the name of a colour, or #rgb or #rrggbb
	urlForm    // text that refers to a file
	linkForm   // text that names another node by its "ref"
	listForm   // any number of entries of the one shape in of
	tupleForm  // as many entries as of has shapes
	objectForm // an object with members; others are ignored, as by the renderer
	dictForm   // an object whose values have the one shape in of
	unionForm  // any one of the shapes in of
)

// shape describes the values that a parameter may have.
type shape struct {
	form    form
	name    string   // for people, where the form does not say enough: "a component expression"
	words   []string // of a word; of a link, the kinds that the node may have (nil: any)
	of      []shape
	members fields
	keys    form // of a dict: textForm or integerForm
}

// field is a parameter of a node or a member of an object.
type field struct {
	shape    shape
	required bool
}

type fields map[string]field

var (
	text    = shape{form: textForm}
	boolean = shape{form: booleanForm}
	number  = shape{form: numberForm}
	integer = shape{form: integerForm}
	null    = shape{form: nullForm}
	color   = shape{form: colorForm}
	url     = shape{form: urlForm}
	link    = shape{form: linkForm}
	vector  = tuple(number, number, number)
	matrix  = list(number) // 9 or 16 of them, by column; the format leaves it open
)

func must(s shape) field                 { return field{shape: s, required: true} }
func may(s shape) field                  { return field{shape: s} }
func oneOf(words ...string) shape        { return shape{form: wordForm, words: words} }
func linkTo(kinds ...string) shape       { return shape{form: linkForm, words: kinds} }
func list(of shape) shape                { return shape{form: listForm, of: []shape{of}} }
func tuple(of ...shape) shape            { return shape{form: tupleForm, of: of} }
func dict(keys form, of shape) shape     { return shape{form: dictForm, keys: keys, of: []shape{of}} }
func object(name string, m fields) shape { return shape{form: objectForm, name: name, members: m} }
func orNull(s shape) shape               { return union(s, null) }

// union is any of the shapes; unions among them are taken apart.
func union(of ...shape) shape {
	var flat []shape
	for _, s := range of {
		if s.form == unionForm {
			flat = append(flat, s.of...)
		} else {
			flat = append(flat, s)
		}
	}
	return shape{form: unionForm, of: flat}
}

// with is the fields together; a later one replaces an earlier one of its name.
func with(sets ...fields) fields {
	all := fields{}
	for _, set := range sets {
		for name, field := range set {
			all[name] = field
		}
	}
	return all
}

// describe says what a shape allows, for "expected …".
func (s shape) describe() string {
	switch s.form {
	case booleanForm:
		return "true or false"
	case numberForm:
		return "a number"
	case integerForm:
		return "a whole number"
	case nullForm:
		return "null"
	case wordForm:
		return choices(s.words)
	case colorForm:
		return `a colour (a name in small letters such as "skyblue", or "#rrggbb")`
	case listForm:
		return "a list of " + s.of[0].plural()
	case tupleForm:
		return s.describeTuple()
	case objectForm:
		return s.name
	case dictForm:
		return "an object of " + s.of[0].plural()
	case unionForm:
		return s.describeUnion()
	default:
		return "text"
	}
}

// plural is describe for several of them.
func (s shape) plural() string {
	switch s.form {
	case numberForm:
		return "numbers"
	case integerForm:
		return "whole numbers"
	case textForm, linkForm, urlForm:
		return "texts"
	case colorForm:
		return "colours"
	case objectForm:
		return strings.TrimPrefix(strings.TrimPrefix(s.name, "a "), "an ") + "s"
	default:
		return "entries, each " + s.describe()
	}
}

func (s shape) describeTuple() string {
	if slices.ContainsFunc(s.of, func(of shape) bool { return of.form != s.of[0].form }) || s.of[0].form == unionForm {
		parts := make([]string, len(s.of))
		for i, of := range s.of {
			parts[i] = of.describe()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return count(len(s.of)) + " " + s.of[0].plural()
}

func (s shape) describeUnion() string {
	var parts []string
	for _, of := range s.of {
		if of.form != wordForm {
			parts = append(parts, of.describe())
			continue
		}
		for _, word := range of.words {
			parts = append(parts, strconv.Quote(word))
		}
	}
	return alternatives(slices.Compact(parts))
}
