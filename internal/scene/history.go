package scene

import (
	"fmt"
	"slices"
)

// maxSteps bounds what a session remembers; the oldest steps go first.
const maxSteps = 200

// Step is a scene of a session, and the operations that led to it.
type Step struct {
	Operations []Operation `json:"operations,omitempty"`
	Scene      Model       `json:"scene"`
}

// History are the scenes of a session. At is the one that is seen; those behind it were undone.
type History struct {
	Steps []Step `json:"steps"`
	At    int    `json:"at"`
}

// NewHistory begins with an empty scene, or with one that was kept.
func NewHistory(first Model) History { return History{Steps: []Step{{Scene: first}}} }

// Scene is the scene that is seen.
func (h History) Scene() Model { return h.Steps[h.At].Scene }

// Apply carries a list of operations out: steps back and forth first, where the list begins with any, then the others as one step.
// The history is not changed; the one that is returned is new. What changes no scene is no step.
//
// Errors: those of the package's Apply.
func (h History) Apply(files Files, operations []Operation) (History, []Outcome, error) {
	if err := Validate(operations); err != nil {
		return h, nil, err
	}
	next, outcomes := h, []Outcome{}
	moves := 0
	for ; moves < len(operations); moves++ {
		outcome, moved, err := next.move(operations[moves])
		if err != nil {
			return h, nil, placed(err, moves)
		}
		if !moved {
			break
		}
		outcomes = append(outcomes, outcome)
	}
	rest := operations[moves:]
	if len(rest) == 0 {
		return next, outcomes, nil
	}
	scene, told, err := Apply(next.begun(), files, rest)
	if err != nil {
		return h, nil, shifted(err, moves)
	}
	return next.with(scene, rest), append(outcomes, told...), nil
}

// move goes back or forth when the operation says so.
func (h *History) move(operation Operation) (outcome Outcome, moved bool, err error) {
	outcome.Op = operation.Op
	var steps, room int
	var word string
	switch args := operation.Args.(type) {
	case Undo:
		steps, room, word = max(args.Steps, 1), h.At, "undo"
	case Redo:
		steps, room, word = max(args.Steps, 1), len(h.Steps)-1-h.At, "redo"
	default:
		return outcome, false, nil
	}
	if room == 0 {
		return outcome, false, refusal(notFound, "a step to "+word, "")
	}
	if steps > room {
		outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("there were only %d steps to %s", room, word))
		steps = room
	}
	if word == "undo" {
		steps = -steps
	}
	h.At += steps
	return outcome, true, nil
}

// begun is the scene that is seen, with a number for what is added that no step has used.
func (h History) begun() Model {
	m := h.Scene()
	for _, step := range h.Steps {
		m.NextID = max(m.NextID, step.Scene.NextID)
	}
	return m
}

// with is the history with a new scene. Operations that change none but what "it" means replace the scene that is seen.
func (h History) with(scene Model, operations []Operation) History {
	if !slices.ContainsFunc(operations, changes) {
		h.Steps = slices.Clone(h.Steps)
		h.Steps[h.At].Scene = scene
		return h
	}
	h.Steps = append(slices.Clone(h.Steps[:h.At+1]), Step{slices.Clone(operations), scene})
	if more := len(h.Steps) - maxSteps; more > 0 {
		h.Steps = h.Steps[more:]
	}
	h.At = len(h.Steps) - 1
	return h
}

// changes tells whether an operation changes what is seen.
func changes(operation Operation) bool {
	switch operation.Args.(type) {
	case Describe, Ask, Refuse, Render, Export, Select:
		return false
	}
	return true
}

// shifted counts the index of an error from the beginning of a longer list.
func shifted(err error, by int) error {
	switch err := err.(type) { //nolint:errorlint // Apply returns these as they are
	case *QuestionError:
		err.Index += by
	case *RefusedError:
		err.Index += by
	case *InvalidError:
		err.Index += by
	}
	return err
}
