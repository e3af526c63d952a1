package molviewspec

import (
	"maps"
	"slices"
)

// node is a node of a document, and where it stands.
type node struct {
	kind   string
	params map[string]any
	custom map[string]any
	at     *place
}

// tree checks a tree from its top.
func (c *checker) tree(t *tree, value any, at *place) { c.node(t, value, nil, at) }

// node checks a node and all below it. The depth of the document bounds the recursion.
func (c *checker) node(t *tree, value any, parent *node, at *place) {
	members, ok := value.(map[string]any)
	if !ok {
		c.refuse(at, "expected a node (an object with a kind), got %s", got(value))
		return
	}
	n, known := c.kind(t, members, parent, at)
	if !known {
		return // what may stand below is not known either
	}
	n.params = c.optionalObject(members, "params", at)
	n.custom = c.optionalObject(members, "custom", at)
	c.params(t.kinds[n.kind], n)
	c.extras(n)
	if ref, ok := members["ref"]; ok {
		name, isText := ref.(string)
		if !isText {
			c.refuse(member(at, "ref"), "expected text, got %s", got(ref))
		}
		c.named[name] = append(c.named[name], n.kind)
	}
	if parent != nil {
		c.below(n, parent)
	}
	c.childNodes(t, members, n)
}

func (c *checker) childNodes(t *tree, members map[string]any, n *node) {
	value, ok := members["children"]
	if !ok || value == nil {
		return
	}
	at := member(n.at, "children")
	children, ok := value.([]any)
	if !ok {
		c.refuse(at, "expected a list of nodes, got %s", got(value))
		return
	}
	for i, child := range children {
		if c.full() {
			return
		}
		c.node(t, child, n, entry(at, i))
	}
}

// kind reads a node's kind and checks that it may stand where it does.
func (c *checker) kind(t *tree, members map[string]any, parent *node, at *place) (*node, bool) {
	name, _ := members["kind"].(string)
	kind, known := t.kinds[name]
	switch {
	case parent == nil && name != t.top:
		c.refuse(member(at, "kind"), "expected %q, got %s", t.top, gotMember(members, "kind"))
		return nil, false
	case parent != nil && !known:
		c.refuse(member(at, "kind"), "is no kind of node: %s; %s", gotMember(members, "kind"), t.allowedBelow(parent.kind))
		return nil, false
	case parent != nil && !slices.Contains(kind.parents, parent.kind):
		c.refuse(member(at, "kind"), "%q cannot stand below %q, only below %s", name, parent.kind, orNothing(kind.parents))
	}
	return &node{kind: name, at: at}, true
}

func (t *tree) allowedBelow(parent string) string {
	children := t.children(parent)
	slices.Sort(children)
	return quoteKind(parent) + " may hold " + orNothing(children)
}

func quoteKind(kind string) string { return choices([]string{kind}) }

func orNothing(kinds []string) string {
	if len(kinds) == 0 {
		return "nothing"
	}
	return choices(kinds)
}

func (c *checker) optionalObject(members map[string]any, name string, at *place) map[string]any {
	value, ok := members[name]
	if !ok || (value == nil && name == "params") {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		c.refuse(member(at, name), "expected an object, got %s", got(value))
	}
	return object
}

// params checks a node's parameters. Unknown ones are refused: the format's validator lets them pass unless it is asked not to,
// but the renderer refuses to load such a view (validateTree, tree-validation.ts).
func (c *checker) params(k kind, n *node) {
	at := member(n.at, "params")
	known := k.params
	if k.selector != "" {
		at := member(at, k.selector)
		choice, ok := n.params[k.selector]
		word, _ := choice.(string)
		if known = k.cases[word]; known == nil {
			cases := choices(slices.Sorted(maps.Keys(k.cases)))
			if ok {
				c.refuse(at, "expected %s, got %s", cases, got(choice))
			} else {
				c.refuse(at, "is missing; expected %s", cases)
			}
			return
		}
	}
	c.members(known, n.params, at)
	for _, name := range slices.Sorted(maps.Keys(n.params)) {
		if _, ok := known[name]; !ok && name != k.selector {
			c.refuse(member(at, name), "is no parameter of %q; allowed are %s", n.kind, allowedParams(k, known))
		}
	}
}

func allowedParams(k kind, known fields) string {
	names := slices.Collect(maps.Keys(known))
	if k.selector != "" {
		names = append(names, k.selector)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "none"
	}
	return choices(names)
}

// below checks what a node needs of the one that it stands below, where the table of kinds does not say it.
func (c *checker) below(n, parent *node) {
	format, _ := parent.params["format"].(string)
	readable, asked := readableFrom[n.kind]
	if parent.kind != "parse" || !asked || !slices.Contains(parseFormats, format) {
		return
	}
	if !slices.Contains(readable, format) {
		c.refuse(member(n.at, "kind"), "%q cannot be made from a file in the format %q, only from %s", n.kind, format,
			choices(readable))
		return
	}
	if ref, _ := n.params["coordinates_ref"].(string); n.kind == "structure" && ref == "" && slices.Contains(topologies, format) {
		c.refuse(member(member(n.at, "params"), "coordinates_ref"),
			`is missing; a file in the format %q has no coordinates: expected the "ref" of a "coordinates" node`, format)
	}
}

// resolveLinks checks that what refers to another node of the view finds one, of a kind that will do. The renderer would leave
// out, without a word, what refers to none.
func (c *checker) resolveLinks() {
	for _, link := range c.links {
		if c.full() {
			return
		}
		if link.ref == "" {
			continue // the renderer takes it for none
		}
		kinds, found := c.named[link.ref]
		switch {
		case !found:
			c.refuse(link.at, `no node of this view has the "ref" %s`, quote(link.ref))
		case link.kinds != nil && !slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(link.kinds, kind) }):
			c.refuse(link.at, "expected a node of kind %s, but %s is %s", choices(link.kinds), quote(link.ref), choices(kinds))
		}
	}
}
