package molviewspec

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// checker collects what is wrong with a document and what it refers to. It stops when it has as many issues as its limit.
type checker struct {
	limit      int
	issues     []Issue
	references []Reference
	seen       map[string]bool     // urls among references; nil where references do not matter
	named      map[string][]string // kinds of the nodes of this view, by their "ref"
	links      []nodeLink
}

// nodeLink is a reference from one node of a view to another.
type nodeLink struct {
	ref   string
	kinds []string // that the other may have; nil for any
	at    *place
}

func (c *checker) full() bool { return len(c.issues) >= c.limit }

// refuse notes an issue; one of a place is enough.
func (c *checker) refuse(at *place, format string, values ...any) {
	path := at.String()
	if !c.full() && !slices.ContainsFunc(c.issues, func(i Issue) bool { return i.Path == path }) {
		c.issues = append(c.issues, Issue{Path: path, Message: fmt.Sprintf(format, values...)})
	}
}

// value checks one value against its shape.
func (c *checker) value(s *shape, value any, at *place) {
	switch s.form {
	case listForm:
		c.list(s, value, at)
	case tupleForm:
		c.tuple(s, value, at)
	case objectForm:
		c.object(s, value, at)
	case dictForm:
		c.dict(s, value, at)
	case unionForm:
		c.union(s, value, at)
	case urlForm:
		c.url(value, at)
	default:
		if !s.holds(value) {
			c.refuse(at, "expected %s, got %s", s.describe(), got(value))
		} else if s.form == linkForm {
			c.links = append(c.links, nodeLink{ref: value.(string), kinds: s.words, at: at})
		}
	}
}

// holds tells whether a value has a form that is made of no others.
func (s *shape) holds(value any) bool {
	switch value := value.(type) {
	case nil:
		return s.form == nullForm
	case bool:
		return s.form == booleanForm
	case float64:
		return s.form == numberForm || s.form == integerForm && value == math.Trunc(value)
	case string:
		switch s.form {
		case textForm, linkForm:
			return true
		case wordForm:
			return slices.Contains(s.words, value)
		case colorForm:
			return IsColor(value)
		}
	}
	return false
}

func (c *checker) list(s *shape, value any, at *place) {
	entries, ok := value.([]any)
	if !ok {
		c.refuse(at, "expected %s, got %s", s.describe(), got(value))
		return
	}
	of := &s.of[0]
	for i, element := range entries {
		if of.form != linkForm && of.holds(element) {
			continue // most entries of most lists are numbers: no place is made for each
		}
		if c.full() {
			return
		}
		c.value(of, element, entry(at, i))
	}
}

func (c *checker) tuple(s *shape, value any, at *place) {
	entries, ok := value.([]any)
	if !ok {
		c.refuse(at, "expected %s, got %s", s.describe(), got(value))
		return
	}
	if len(entries) != len(s.of) {
		c.refuse(at, "expected %s, got %s", s.describe(), count(len(entries)))
		return
	}
	for i, element := range entries {
		c.value(&s.of[i], element, entry(at, i))
	}
}

func (c *checker) object(s *shape, value any, at *place) {
	members, ok := value.(map[string]any)
	if !ok {
		c.refuse(at, "expected %s, got %s", s.describe(), got(value))
		return
	}
	c.members(s.members, members, at)
}

// members checks those members that are known and that none is missing.
func (c *checker) members(known fields, members map[string]any, at *place) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if field, ok := known[name]; ok {
			c.value(&field.shape, members[name], member(at, name))
		}
	}
	for _, name := range known.missing(members) {
		c.refuse(member(at, name), "is missing; expected %s", known[name].shape.describe())
	}
}

// missing are the required fields that members lack.
func (f fields) missing(members map[string]any) []string {
	var missing []string
	for name := range f {
		if _, ok := members[name]; !ok && f[name].required {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

func (c *checker) dict(s *shape, value any, at *place) {
	members, ok := value.(map[string]any)
	if !ok {
		c.refuse(at, "expected %s, got %s", s.describe(), got(value))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if c.full() {
			return
		}
		if _, err := strconv.Atoi(key); err != nil && s.keys == integerForm {
			c.refuse(at, "expected whole numbers as the names of its members, got %s", quote(key))
			continue
		}
		c.value(&s.of[0], members[key], member(at, key))
	}
}

// union checks a value against the alternative that it comes closest to, so that the issue is told of where it lies. A plain value
// is close to none.
func (c *checker) union(s *shape, value any, at *place) {
	best, closest := -1, 0
	for i := range s.of {
		if near := s.of[i].nearness(value); near > closest {
			best, closest = i, near
		}
	}
	if best < 0 {
		c.refuse(at, "expected %s, got %s", s.describe(), got(value))
		return
	}
	c.value(&s.of[best], value, at)
}

// valid is how near a value is to a shape that it fits; one that fits several belongs to that which knows more of its members.
const valid = 1 << 16

// nearness tells how well a value fits a shape: 0 for another form, and more for a better fit.
func (s *shape) nearness(value any) int {
	near := 0
	switch value := value.(type) {
	case map[string]any:
		near = s.objectNearness(value)
	case []any:
		near = s.listNearness(value)
	}
	trial := checker{limit: 1}
	if trial.value(s, value, nil); len(trial.issues) == 0 {
		return near + valid
	}
	return near
}

func (s *shape) objectNearness(members map[string]any) int {
	if s.form == dictForm {
		return 1
	}
	if s.form != objectForm {
		return 0
	}
	near := 1
	for name, field := range s.members {
		if value, ok := members[name]; ok {
			near++
			if field.shape.form == wordForm && field.shape.holds(value) {
				near += len(s.members) // the word that tells the objects apart
			}
		}
	}
	return near
}

func (s *shape) listNearness(entries []any) int {
	if s.form != listForm && s.form != tupleForm {
		return 0
	}
	near := 1
	if s.form == tupleForm && len(entries) == len(s.of) {
		near++
	}
	if len(entries) > 0 {
		near += min(1, s.of[0].nearness(entries[0]))
	}
	return near
}
