package scene

// treeNode is a node of a MolViewSpec tree.
type treeNode struct {
	Kind     string         `json:"kind"`
	Ref      string         `json:"ref,omitempty"`
	Params   map[string]any `json:"params,omitempty"`
	Custom   map[string]any `json:"custom,omitempty"`
	Children []*treeNode    `json:"children,omitempty"`
}

// under adds a child and returns it.
func (n *treeNode) under(child *treeNode) *treeNode {
	n.Children = append(n.Children, child)
	return child
}

// view is a MolViewSpec document: of one state, or of several.
type view struct {
	Kind      string      `json:"kind"`
	Metadata  viewMeta    `json:"metadata"`
	Root      *treeNode   `json:"root,omitempty"`
	Snapshots []viewState `json:"snapshots,omitempty"`
}

type viewMeta struct {
	Version   string `json:"version"`
	Timestamp string `json:"timestamp"`
	Title     string `json:"title,omitempty"`
}

type viewState struct {
	Metadata  stateMeta `json:"metadata"`
	Root      *treeNode `json:"root"`
	Animation *treeNode `json:"animation,omitempty"`
}

type stateMeta struct {
	Key          string `json:"key,omitempty"`
	Title        string `json:"title,omitempty"`
	LingerMs     int64  `json:"linger_duration_ms"`
	TransitionMs int64  `json:"transition_duration_ms,omitempty"`
}
