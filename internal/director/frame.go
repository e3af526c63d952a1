package director

import "slices"

// frame is one clause: a verb, what it acts on, and the attributes that were read, in any order. An attribute that no builder takes
// means that the clause was not understood.
type frame struct {
	verb string
	// carried tells that the verb is the one of the clause before.
	carried bool
	// negated tells "no", "without", "do not".
	negated bool
	// only tells that what is not named is to go.
	only bool
	also bool
	// styled tells that a representation stood behind "as": it is not one to be hidden.
	styled  bool
	objects []phrase
	// attributes are by category; those that may stand several times are []string.
	attributes map[string]any
	// closed tells that an attribute stood behind an object, so that the next noun phrase begins a clause.
	closed bool
	// located is the chain that stood behind an attribute; built is what the clause came to.
	located *phrase
	built   []Operation
	// upon tells that a representation stood behind "on": it is what the colours of the clauses are for.
	upon bool
	// bridging tells that waters between two things are meant.
	bridging bool
	// joined tells that "and" stood before the next object.
	joined      bool
	first, last int
}

func (f *frame) empty() bool {
	return f.verb == "" && len(f.objects) == 0 && len(f.attributes) == 0 && !f.negated && !f.only
}

func (f *frame) has(category string) bool { return f.attributes[category] != nil }

// takeText takes an attribute that is one text; "" when there is none.
func (f *frame) takeText(category string) string {
	text, _ := f.attributes[category].(string)
	delete(f.attributes, category)
	return text
}

// takeList takes an attribute that may stand several times.
func (f *frame) takeList(category string) []string {
	list, _ := f.attributes[category].([]string)
	delete(f.attributes, category)
	return list
}

// takeNumber takes a number, and tells whether there was one.
func (f *frame) takeNumber(category string) (float64, bool) {
	value, ok := f.attributes[category].(float64)
	delete(f.attributes, category)
	return value, ok
}

// names tells whether a clause names a thing of the scene.
func (f *frame) names(thing string) bool {
	list, _ := f.attributes["thing"].([]string)
	return slices.Contains(list, thing)
}

// acts tells whether the clause's verb is one of several.
func (f *frame) acts(verbs ...string) bool { return slices.Contains(verbs, f.verb) }

// oneOf tells whether a text is one of several.
func oneOf(text string, several ...string) bool { return slices.Contains(several, text) }

// drop takes a thing of the scene out of the clause and tells whether it was named.
func (f *frame) drop(thing string) bool {
	if !f.names(thing) {
		return false
	}
	list, _ := f.attributes["thing"].([]string)
	list = slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == thing })
	if len(list) == 0 {
		delete(f.attributes, "thing")
	} else {
		f.attributes["thing"] = list
	}
	return true
}

// set keeps an attribute; false when one of its kind is there already.
func (f *frame) set(category string, value any) bool {
	if old := f.attributes[category]; old != nil {
		return old == value
	}
	f.attributes[category] = value
	f.closed = f.closed || len(f.objects) > 0
	return true
}

// put appends to an attribute that may stand several times.
func (f *frame) put(category, value string) bool {
	list, _ := f.attributes[category].([]string)
	f.attributes[category] = append(slices.Clone(list), value)
	f.closed = f.closed || len(f.objects) > 0
	return true
}

// separate tells whether objects joined by "and" stay apart: the ends of a distance, the two sides of interactions.
func (f *frame) separate(last *phrase) bool {
	return f.bridging || last.role == "between" || f.verb == "measure" || f.names("distance") || f.names("angle")
}

// isHead tells the attributes that are what a clause is about.
func isHead(category string) bool {
	return slices.Contains([]string{"thing", "effect", "itype", "preset", "view", "model", "assembly"}, category)
}

// hasHeadBesides tells whether a clause is about something else than one of its attributes.
func (f *frame) hasHeadBesides(category string) bool {
	for other := range f.attributes {
		if other != category && isHead(other) {
			return true
		}
	}
	return false
}

func (f *frame) hasHead() bool {
	for category := range f.attributes {
		if isHead(category) {
			return true
		}
	}
	return false
}

// repeats tells the attributes that may stand several times in a clause.
func repeats(category string) bool {
	return slices.Contains([]string{"thing", "effect", "itype", "itype_less"}, category)
}
