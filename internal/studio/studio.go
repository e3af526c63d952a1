// Package studio carries on a conversation about a scene: a message becomes operations, the operations a scene and a reply. It
// joins internal/director, which reads sentences, and internal/scene, which carries operations out. Whatever has no structure in
// hand yet asks a Library for it; everything else is pure, so that a conversation can be played again without any model.
package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/director"
	"github.com/molfabric/molfabric/internal/scene"
)

// ByGrammar and ByOperations tell who understood a message: the grammar, or nobody because it was operations already. Any other
// name is that of a model.
const (
	ByGrammar    = "grammar"
	ByOperations = "operations"
)

// Library finds what scenes are made from.
type Library interface {
	// File finds a structure or a map by its source, such as "pdb:1CBS". Errors: *UnfoundError.
	File(ctx context.Context, source string) (scene.File, error)
	// Names are other names of chemical components, by their ids.
	Names(ids []string) map[string][]string
}

// UnfoundError says that a source cannot be had, in words for whoever asked for it.
type UnfoundError struct{ Source, Reason string }

func (e *UnfoundError) Error() string { return e.Source + ": " + e.Reason }

// Model understands what the grammar does not.
type Model interface {
	Name() string
	// Understand reads a message. Check is a dry run of operations; what it refuses may be tried once more. A question that it
	// comes back with is an answer. The error is words for whoever spoke: why the model could not help.
	Understand(ctx context.Context, world director.Context, message string, check func([]scene.Operation) error) (
		[]scene.Operation, error)
}

// State is what a conversation has come to. It is a value that goes to JSON and back; nothing changes one that was given away.
type State struct {
	History scene.History `json:"history"`
	// Pending is the question that the last message left.
	Pending *director.Pending `json:"pending,omitempty"`
	// Proposed is the picture that was talked about last and waits for a yes.
	Proposed *scene.Render `json:"proposed,omitempty"`
	// LastOf is the last selection of a kind: "residue", "chain", "ligand", "water", "atom".
	LastOf map[string]string `json:"lastOf,omitempty"`
}

// NewState begins a conversation about nothing.
func NewState() State { return State{History: scene.NewHistory(scene.NewModel())} }

// Message is what somebody says: words, or operations.
type Message struct {
	Text       string
	Operations []scene.Operation
	// Selected is what is selected in the viewer, as a selection; "" for nothing.
	Selected string
}

// Turn is the answer to a message.
type Turn struct {
	Understood    string            `json:"understoodBy"`
	Reply         string            `json:"reply"`
	Operations    []scene.Operation `json:"operations"`
	Selections    []scene.Resolved  `json:"resolvedSelections"`
	Warnings      []string          `json:"warnings"`
	NotUnderstood []string          `json:"notUnderstood"`
	Question      *Question         `json:"question,omitempty"`
	Changed       bool              `json:"changed"` // the scene is another one than before
	Confirmed     *scene.Render     `json:"-"`       // the picture that a yes has ordered
	Outcomes      []scene.Outcome   `json:"-"`
}

// Question is what the turn asks back; the next message may be one of the choices.
type Question struct {
	About   string   `json:"about"`
	Choices []string `json:"choices"`
}

// Studio carries conversations on. It holds no conversation itself and is safe for concurrent use.
type Studio struct {
	library Library
	model   Model // nil for none
}

// New returns a Studio; model may be nil.
func New(library Library, model Model) *Studio { return &Studio{library: library, model: model} }

// Files finds the structures and maps of a scene. Errors: *UnfoundError, and those of the library.
func (s *Studio) Files(ctx context.Context, m scene.Model) (scene.Files, error) {
	files := scene.Files{}
	return files, s.add(ctx, files, m.Sources())
}

func (s *Studio) add(ctx context.Context, files scene.Files, sources []string) error {
	for _, source := range sources {
		if _, ok := files[source]; ok {
			continue
		}
		file, err := s.library.File(ctx, source)
		if err != nil {
			return err
		}
		files[source] = file
	}
	return nil
}

// Say answers a message: whole or not at all. The state is not changed; the one that is returned is new. What cannot be understood,
// is ambiguous, or cannot be done is no error: the turn says so and the scene stays.
//
// Errors: *scene.InvalidError and *scene.SelectionError, of operations and selections that came instead of words; those of the
// library but *UnfoundError; that of the context.
func (s *Studio) Say(ctx context.Context, state State, message Message) (State, Turn, error) {
	files, err := s.everFiles(ctx, state.History)
	if err != nil {
		return state, Turn{}, err
	}
	if message.Operations != nil {
		next, turn, err := s.carryOut(ctx, state, files, message.Operations)
		turn.Understood = ByOperations
		return next, turn, err
	}
	if state.Proposed != nil && isYes(message.Text) {
		render := *state.Proposed
		state.Proposed = nil
		turn := Turn{Understood: ByGrammar, Confirmed: &render, Operations: []scene.Operation{scene.Do(render)}}
		return state, turn, nil
	}
	if message.Selected != "" {
		if _, err := scene.ParseSelection(message.Selected); err != nil {
			return state, Turn{}, err
		}
	}
	world := s.world(state, files, message.Selected)
	understood := director.Understand(world, message.Text)
	if len(understood.NotUnderstood) > 0 || s.model != nil && isStrange(understood.Operations) {
		return s.askModel(ctx, state, files, world, message.Text, understood)
	}
	operations, err := operationsOf(understood.Operations)
	if err != nil {
		return state, Turn{}, err
	}
	state.Pending = understood.Pending
	next, turn, err := s.carryOut(ctx, state, files, operations)
	turn.Understood = ByGrammar
	for _, repair := range understood.Repairs {
		turn.Warnings = append(turn.Warnings, "read "+strings.Replace(repair, "→", "as", 1))
	}
	return next, turn, err
}

// everFiles are the files of every step, so that undo and redo need no others.
func (s *Studio) everFiles(ctx context.Context, h scene.History) (scene.Files, error) {
	files := scene.Files{}
	for i, step := range h.Steps {
		err := s.add(ctx, files, step.Scene.Sources())
		if _, gone := errors.AsType[*UnfoundError](err); gone && i != h.At {
			continue // it is told when somebody goes back there
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// askModel lets the model read what the grammar could not, or says what was not understood.
func (s *Studio) askModel(
	ctx context.Context, state State, files scene.Files, world director.Context, text string, understood director.Understanding,
) (State, Turn, error) {
	var warnings []string
	if s.model != nil {
		operations, err := s.model.Understand(ctx, world, text, func(operations []scene.Operation) error {
			return s.dryRun(ctx, state, files, operations)
		})
		if err == nil {
			state.Pending = nil
			next, turn, err := s.carryOut(ctx, state, files, operations)
			turn.Understood = s.model.Name()
			return next, turn, err
		}
		if ctx.Err() != nil {
			return state, Turn{}, ctx.Err()
		}
		warnings = []string{"The model could not help: " + err.Error()}
	}
	state.Pending = nil
	if len(understood.NotUnderstood) == 0 {
		operations, err := operationsOf(understood.Operations)
		if err != nil {
			return state, Turn{}, err
		}
		next, turn, err := s.carryOut(ctx, state, files, operations)
		turn.Understood, turn.Warnings = ByGrammar, warnings
		return next, turn, err
	}
	return state, Turn{Understood: ByGrammar, Reply: notUnderstood(understood.NotUnderstood), Warnings: warnings,
		NotUnderstood: understood.NotUnderstood}, nil
}

// isStrange tells whether the grammar took a message for none about a scene. A model may see more in it.
func isStrange(operations []director.Operation) bool {
	return len(operations) == 1 && operations[0].Op == "refuse" && operations[0].Args["reason"] == "out_of_scope"
}

// dryRun tells why operations cannot be carried out, for a model to mend.
func (s *Studio) dryRun(ctx context.Context, state State, files scene.Files, operations []scene.Operation) error {
	_, _, err := s.apply(ctx, state.History, maps.Clone(files), operations)
	return err
}

// apply carries operations out on a history, after their files were found. Errors: those of scene.History.Apply, *UnfoundError.
func (s *Studio) apply(
	ctx context.Context, h scene.History, files scene.Files, operations []scene.Operation,
) (scene.History, []scene.Outcome, error) {
	if err := scene.Validate(operations); err != nil {
		return h, nil, err
	}
	if err := s.add(ctx, files, scene.Sources(operations)); err != nil {
		return h, nil, err
	}
	return h.Apply(files, operations)
}

// carryOut carries operations out and puts what came of it into words.
func (s *Studio) carryOut(
	ctx context.Context, state State, files scene.Files, operations []scene.Operation,
) (State, Turn, error) {
	next, outcomes, err := s.apply(ctx, state.History, files, operations)
	if err != nil {
		return s.stopped(state, operations, err)
	}
	turn := Turn{Operations: operations, Outcomes: outcomes, Changed: !sameScene(state.History, next)}
	for _, outcome := range outcomes {
		for _, selection := range outcome.Selections {
			if !slices.ContainsFunc(turn.Selections, func(r scene.Resolved) bool { return r.Query == selection.Query }) {
				turn.Selections = append(turn.Selections, selection)
			}
		}
		turn.Warnings = append(turn.Warnings, outcome.Warnings...)
	}
	turn.Reply = inWords(operations, outcomes)
	turn.Warnings = append(turn.Warnings, unchanged(state.History.Scene(), next.Scene(), operations)...)
	after := State{History: next, LastOf: lastOf(state.LastOf, next.Scene(), files)}
	for _, operation := range operations {
		if render, ok := operation.Args.(scene.Render); ok {
			after.Proposed = &render
		}
	}
	return after, turn, nil
}

// stopped is the turn of operations that ask back or are refused; the scene stays. Errors: those that are neither.
func (s *Studio) stopped(state State, operations []scene.Operation, err error) (State, Turn, error) {
	if question, ok := errors.AsType[*scene.QuestionError](err); ok {
		if state.Pending == nil {
			state.Pending = pendingOf(operations, question)
		}
		ask := question.Operation()
		choices := ask.Args.(scene.Ask).Choices
		return state, Turn{Operations: []scene.Operation{ask}, Reply: questionInWords(question.About, choices),
			Question: &Question{About: question.About, Choices: choices}}, nil
	}
	state.Pending = nil
	if refused, ok := errors.AsType[*scene.RefusedError](err); ok {
		return state, Turn{Operations: []scene.Operation{refused.Operation()}, Reply: refusalInWords(refused)}, nil
	}
	if unfound, ok := errors.AsType[*UnfoundError](err); ok {
		refused := &scene.RefusedError{Reason: "not_found", Feature: unfound.Source}
		return state, Turn{Operations: []scene.Operation{refused.Operation()},
			Reply: "There is no " + unfound.Source + " to load: " + unfound.Reason + "."}, nil
	}
	return state, Turn{}, err
}

// pendingOf is a question of the scene's as the grammar takes its answer; nil where the answer has to be a message of its own.
func pendingOf(operations []scene.Operation, question *scene.QuestionError) *director.Pending {
	if len(question.Selections) == 0 || question.Index >= len(operations) {
		return nil
	}
	given, err := directed(operations)
	if err != nil {
		return nil
	}
	pending := &director.Pending{Operations: given, Index: question.Index, About: question.About}
	for i, selection := range question.Selections {
		pending.Choices = append(pending.Choices, director.Choice{Name: question.Choices[i], Selection: selection})
	}
	args := given[question.Index].Args
	for _, argument := range []string{"of", "sel", "between"} {
		switch value := args[argument].(type) {
		case string:
			pending.Argument = argument
			return pending
		case []any:
			ends := make([]string, len(value))
			for i, end := range value {
				ends[i], _ = end.(string)
			}
			args[argument], pending.Argument = ends, argument
			pending.Position = max(slices.IndexFunc(ends, func(end string) bool { return isQuery(end, question.Query) }), 0)
			return pending
		}
	}
	return nil
}

// operationsOf are the grammar's operations as the scene takes them. Errors: *scene.InvalidError.
func operationsOf(operations []director.Operation) ([]scene.Operation, error) {
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("write the operations of a sentence: %w", err)
	}
	return scene.Parse(text)
}

// directed is the way back.
func directed(operations []scene.Operation) ([]director.Operation, error) {
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("write operations: %w", err)
	}
	var given []director.Operation
	err = json.Unmarshal(text, &given)
	return given, err
}

// sameScene tells whether two histories show the same step of the same list.
func sameScene(before, after scene.History) bool {
	one, errOne := json.Marshal(before.Scene())
	other, errOther := json.Marshal(after.Scene())
	return errOne == nil && errOther == nil && bytes.Equal(one, other)
}

// isYes tells whether a message agrees to what was proposed.
func isYes(text string) bool {
	words := strings.ToLower(strings.Trim(strings.TrimSpace(text), ".!"))
	return slices.Contains([]string{"yes", "y", "yes please", "ok", "okay", "go ahead", "do it", "render it", "sure", "please do",
		"yes, go ahead", "yes, render it", "make it", "confirm"}, words)
}
