package scene

import (
	"fmt"
	"strings"
)

// QuestionError says that operations fit several things of which one must be meant. Nothing was carried out. Index counts
// operations from 0.
type QuestionError struct {
	Index   int
	About   string   // as Ask has it
	Query   string   // the selection that fits several; "" where something is not said at all
	Choices []string // what may be meant, such as STI/A/201 for a ligand
	// Selections are the choices in the selection language.
	Selections []string
}

func (e *QuestionError) Error() string {
	return fmt.Sprintf("operation %d: which %s is meant: %s?", e.Index+1, e.About, strings.Join(e.Choices, ", "))
}

// Operation is the question as an operation.
func (e *QuestionError) Operation() Operation {
	return Do(Ask{About: e.About, Choices: e.Choices[:min(len(e.Choices), maxChoices)]})
}

// maxChoices is how many choices a question has, as the schema says.
const maxChoices = 12

// RefusedError says why operations cannot be carried out. Nothing was carried out. Index counts operations from 0.
type RefusedError struct {
	Index       int
	Reason      string // as Refuse has it
	Feature     string
	Alternative string
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("operation %d: %s: %s", e.Index+1, strings.ReplaceAll(e.Reason, "_", " "), e.Feature)
	if e.Alternative != "" {
		text += "; instead: " + e.Alternative
	}
	return text
}

// Operation is the refusal as an operation.
func (e *RefusedError) Operation() Operation {
	return Do(Refuse{Reason: e.Reason, Feature: clip(e.Feature, 79), Alternative: clip(e.Alternative, 199)})
}

// MissingError says that a structure or a map must be loaded before operations can be carried out.
type MissingError struct{ Source string }

func (e *MissingError) Error() string { return e.Source + " is not loaded" }

// The reasons of refusals.
const (
	unsupported = "unsupported"
	notFound    = "not_found"
	needsData   = "needs_data"
)

func refusal(reason, feature, alternative string) error {
	return &RefusedError{Reason: reason, Feature: feature, Alternative: alternative}
}
