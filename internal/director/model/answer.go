package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/internal/scene"
)

const (
	// maxAnswerBytes bounds an answer: twenty operations with the longest selections take half of it.
	maxAnswerBytes = 32 << 10
	// maxStarts bounds where the JSON of an answer in prose is looked for.
	maxStarts = 40
)

// errNoJSON is what a model is told whose answer holds no list of operations.
var errNoJSON = errors.New(`the answer holds no {"operations": [{"op": …, "args": {…}}]}`)

// operationsIn reads the operations of an answer, which may stand in prose or in a block of code. Errors: *scene.InvalidError, and
// what a model can be told.
func operationsIn(said string) ([]scene.Operation, error) {
	if len(said) > maxAnswerBytes {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswerBytes)
	}
	if at := strings.LastIndex(said, "</think>"); at >= 0 {
		said = said[at+len("</think>"):]
	}
	for range maxStarts {
		at := strings.IndexAny(said, "{[")
		if at < 0 {
			return nil, errNoJSON
		}
		said = said[at:]
		if list, ok := listAt(said); ok {
			return scene.Parse(list)
		}
		said = said[1:]
	}
	return nil, errNoJSON
}

// listAt is the list of operations that a text begins with: {"operations": [...]}, or the list alone.
func listAt(text string) (json.RawMessage, bool) {
	var value json.RawMessage
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&value); err != nil {
		return nil, false
	}
	var object struct{ Operations json.RawMessage }
	if err := json.Unmarshal(value, &object); err == nil && len(object.Operations) > 0 {
		value = object.Operations
	}
	var list []struct{ Op string }
	if err := json.Unmarshal(value, &list); err != nil || len(list) == 0 || list[0].Op == "" {
		return nil, false
	}
	return value, true
}
