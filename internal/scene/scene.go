// Package scene is the model behind Molecular Studio: the operations that a conversation is made of, the language that says which
// atoms are meant, the small model of a scene that operations change, and the MolViewSpec that it is compiled to.
//
// An answer to a sentence is a list of operations. It is checked against a JSON Schema (Parse), carried out on a model as a whole
// or not at all (Apply), and is one step of undo (History). The model is compiled anew each time (Compile), so its tree is always
// valid, two scenes can be compared (Same), and what did not change keeps its refs.
//
// The package is pure: it opens no file and no connection, and knows no words of any language but its own. Whoever calls it loads
// structures; internal/director turns sentences into operations.
package scene
