package molviewspec

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

const (
	// maxDepth bounds the nesting of lists and objects. A node is two levels below its parent and the longest chain of kinds has
	// eight nodes, so half of it would do for anything but odd "custom" members.
	maxDepth = 64
	// maxValues bounds the values of a document: a mesh of 8 MiB has about a million numbers, and a value takes some 50 bytes here.
	maxValues = 1 << 20
)

// decode reads one JSON document within the bounds. Of a member that stands twice the last counts, as in every browser.
func decode(document []byte) (any, error) {
	if len(document) > MaxDocumentBytes {
		return nil, invalid("the document has more than %d MiB; structures and annotations belong into files of their own",
			MaxDocumentBytes>>20)
	}
	if !utf8.Valid(document) {
		return nil, invalid("the document is not JSON in UTF-8")
	}
	depth, values := extent(document)
	if depth > maxDepth {
		return nil, invalid("the document is nested more than %d levels deep", maxDepth)
	}
	if values > maxValues {
		return nil, invalid("the document holds more than %d values; long lists belong into files of their own", maxValues)
	}
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		return nil, notJSON(document, err)
	}
	return value, nil
}

// extent tells how deep a text is nested and how many values it has at most, if it is JSON.
func extent(document []byte) (depth, values int) {
	level, inText := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			level++
			values++
			depth = max(depth, level)
		case c == '}' || c == ']':
			level--
		case c == ',':
			values++
		}
	}
	return depth, values
}

// notJSON says where a text stops to be JSON.
func notJSON(document []byte, err error) error {
	offset, reason := int64(-1), err.Error()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	if number, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset, reason = number.Offset, "the "+clip(number.Value)+" is out of range"
	}
	if offset < 1 || offset > int64(len(document)) {
		return invalid("the document is not JSON: %s", reason)
	}
	before := document[:offset-1]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := int(offset) - 1 - bytes.LastIndexByte(before, '\n')
	return invalid("the document is not JSON: line %d, column %d: %s", line, column, reason)
}
