// Package molviewspec reads scenes of MolViewSpec, the open format of molecular views: it says whether a document is valid, which
// states it has, and which files it refers to. It follows the tree of the format's reference implementation (Mol* 5.11) and is
// strict where that one would draw something else than what stands there. It holds no renderer, opens no file and no connection,
// and never fetches what a scene refers to.
//
// Beside the parameters of its nodes a scene may carry "custom" members. They are free; of those that the renderer reads, two
// can make it fetch something: a picture behind the scene (canvas, molstar_postprocessing.background), which is among the
// references, and streamed volumes (structure, molstar_volume_streaming), which need a server and are refused. Commands
// that run when a state is loaded (root, molstar_on_load_markdown_commands) are refused too. Addresses anywhere else in "custom"
// are ignored by the renderer.
package molviewspec

import "time"

// Bounds on a scene, so that a document of a stranger costs little to read and to draw.
const (
	// MaxDocumentBytes bounds a document: inline primitives and meshes fit, structures belong into files of their own.
	MaxDocumentBytes = 8 << 20
	// MaxStates bounds the states of a scene: each is loaded by itself before the first is drawn.
	MaxStates = 1000
	// MaxReferences bounds the files that a scene refers to: each becomes an input of every shard.
	MaxReferences = 1000
	// MaxURLBytes bounds one reference: longer ones carry their content in themselves and belong into a file.
	MaxURLBytes = 4096
	// MaxStateDuration bounds how long a state is shown.
	MaxStateDuration = time.Hour
	// MaxAnimationFrames bounds the frames of a state's animation, ten minutes at 60 a second: the renderer makes a whole tree
	// for each before it draws the first.
	MaxAnimationFrames = 36_000
)

// Scene is what a valid document holds.
type Scene struct {
	Multiple bool // it is a sequence of snapshots, even of one
	States   []State
	// References are the files that it refers to, each once, in the order of the document.
	References []Reference
	Version    string // of MolViewSpec, as the document states it
	Title      string
}

// State is one state ("snapshot") of a scene. That of a single view has neither key nor duration, and takes the scene's title.
type State struct {
	Key, Title string
	// Duration is how long it is shown: what its metadata say, or where its animation ends, whichever is later; 0 where neither
	// says anything.
	Duration time.Duration
	Animated bool // it has an animation that changes it while it is shown
}

// Reference is a file that a scene refers to. URL is foreign text, letter by letter as it stands in the document.
type Reference struct {
	URL  string
	Path string // of the first place, e.g. "root.children[0].params.url"
}

// Parse reads a document (".mvsj"). A document that is not valid gives an *InvalidError. It is pure and may be called concurrently.
func Parse(document []byte) (Scene, error) {
	value, err := decode(document)
	if err != nil {
		return Scene{}, err
	}
	c := &checker{limit: maxIssues, seen: map[string]bool{}}
	scene := c.document(value)
	if len(c.issues) > 0 {
		return Scene{}, &InvalidError{Issues: c.issues, More: c.full()}
	}
	scene.References = c.references
	return scene, nil
}

// document checks a whole document and lists its states.
func (c *checker) document(value any) Scene {
	top, ok := value.(map[string]any)
	if !ok {
		c.refuse(nil, "expected an object with metadata and a root, got %s", got(value))
		return Scene{}
	}
	scene := c.metadata(top)
	kind, stated := top["kind"]
	switch {
	case !stated || kind == "single":
		c.snapshot(top, nil)
		scene.States = []State{{Title: scene.Title}}
	case kind == "multiple":
		scene.Multiple = true
		scene.States = c.snapshots(top["snapshots"])
	default:
		c.refuse(member(nil, "kind"), `expected "single" or "multiple", got %s`, got(kind))
	}
	return scene
}

// metadata checks what stands above the views and takes the scene's version and title from it.
func (c *checker) metadata(top map[string]any) Scene {
	at := member(nil, "metadata")
	metadata, ok := top["metadata"].(map[string]any)
	if !ok {
		c.refuse(at, "expected an object with the version of MolViewSpec, got %s", gotMember(top, "metadata"))
		return Scene{}
	}
	version, ok := metadata["version"].(string)
	if !ok {
		c.refuse(member(at, "version"), "expected text, got %s", gotMember(metadata, "version"))
	}
	return Scene{Version: version, Title: c.text(metadata, "title", at)}
}

func (c *checker) snapshots(value any) []State {
	at := member(nil, "snapshots")
	list, ok := value.([]any)
	if !ok || len(list) == 0 || len(list) > MaxStates {
		c.refuse(at, "expected a list of 1 to %d snapshots, got %s", MaxStates, got(value))
		return nil
	}
	states := make([]State, 0, len(list))
	transition := time.Duration(0)
	for i, element := range list {
		if c.full() {
			return nil
		}
		at := entry(at, i)
		snapshot, ok := element.(map[string]any)
		if !ok {
			c.refuse(at, "expected an object with metadata and a root, got %s", got(element))
			continue
		}
		c.snapshot(snapshot, at)
		var state State
		state, transition = c.state(snapshot, transition, at)
		states = append(states, state)
	}
	return states
}

// snapshot checks the trees of one view, and that references from node to node find their node.
func (c *checker) snapshot(snapshot map[string]any, at *place) {
	c.named, c.links = map[string][]string{}, nil
	root, ok := snapshot["root"]
	if !ok {
		c.refuse(member(at, "root"), "is missing; it holds the tree of the view")
		return
	}
	c.tree(&sceneTree, root, member(at, "root"))
	if animation, ok := snapshot["animation"]; ok {
		c.tree(&animationTree, animation, member(at, "animation"))
	}
	if len(c.issues) == 0 { // else what they refer to may stand in what could not be read
		c.resolveLinks()
	}
}

// text is an optional member that is text or null.
func (c *checker) text(members map[string]any, name string, at *place) string {
	value, ok := members[name]
	if !ok || value == nil {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		c.refuse(member(at, name), "expected text, got %s", got(value))
	}
	return text
}
