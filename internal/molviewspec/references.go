package molviewspec

import (
	"maps"
	"slices"
)

// url checks a reference and takes it up.
func (c *checker) url(value any, at *place) {
	url, ok := value.(string)
	switch {
	case !ok || url == "":
		c.refuse(at, "expected the name or address of a file, got %s", got(value))
	case len(url) > MaxURLBytes:
		c.refuse(at, "has more than %d characters; data belongs into a file beside the scene", MaxURLBytes)
	case c.seen == nil || c.seen[url]:
	case len(c.references) == MaxReferences:
		c.refuse(at, "the scene refers to more than %d files", MaxReferences)
	default:
		c.seen[url] = true
		c.references = append(c.references, Reference{URL: url, Path: at.String()})
	}
}

// extras looks at those custom members that make the renderer fetch something; the package comment lists them.
func (c *checker) extras(n *node) {
	at := member(n.at, "custom")
	switch n.kind {
	case "root":
		// A command may bring the state back whose beginning runs it.
		const name = "molstar_on_load_markdown_commands"
		if n.custom[name] != nil {
			c.refuse(member(at, name), "is for people who look on: a renderer runs no commands; leave it out")
		}
	case "canvas":
		const name = "molstar_postprocessing"
		if effects, ok := n.custom[name].(map[string]any); ok {
			c.backdrop(effects["background"], member(member(at, name), "background"))
		}
	case "structure":
		const name = "molstar_volume_streaming"
		switch n.custom[name] {
		case nil, false, "", 0.0:
		default:
			c.refuse(member(at, name),
				`needs a server, which a renderer does not reach: give the map as a file, with "download", "parse" and "volume"`)
		}
	}
}

// backdrop takes up the pictures behind a scene: one in params.source, or those of a sky box in params.faces (background.ts).
func (c *checker) backdrop(value any, at *place) {
	background, _ := value.(map[string]any)
	params, _ := background["params"].(map[string]any)
	for _, name := range []string{"faces", "source"} {
		if source, ok := params[name].(map[string]any); ok {
			c.pictures(source["params"], member(member(member(at, "params"), name), "params"))
		}
	}
}

// pictures takes up a picture, or each of several by name. An empty text stands for none.
func (c *checker) pictures(value any, at *place) {
	switch value := value.(type) {
	case string:
		if value != "" {
			c.url(value, at)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if picture, ok := value[name].(string); ok && picture != "" {
				c.url(picture, member(at, name))
			}
		}
	}
}
