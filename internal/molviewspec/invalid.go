package molviewspec

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxIssues is how many issues are told at once: enough to mend a document with, and no more work for one that is all wrong.
	maxIssues = 10
	// maxQuotedBytes bounds what a message quotes from the document.
	maxQuotedBytes = 60
)

// InvalidError says why a scene is refused. More tells that the check ended at the last issue, so that there may be others.
type InvalidError struct {
	Issues []Issue
	More   bool
}

// Issue is one thing that is wrong. Path is the place in the document, e.g. "root.children[0].children[2].params.target", or ""
// where the issue is with the whole. Message says what is allowed.
type Issue struct {
	Path    string
	Message string
}

func (i Issue) String() string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Issues))
	for i, issue := range e.Issues {
		texts[i] = issue.String()
	}
	text := "the scene is not valid MolViewSpec: " + strings.Join(texts, "; ")
	if e.More {
		text += fmt.Sprintf(" (these are the first %d issues)", len(e.Issues))
	}
	return text
}

func invalid(format string, values ...any) *InvalidError {
	return &InvalidError{Issues: []Issue{{Message: fmt.Sprintf(format, values...)}}}
}

// place is where in a document a value stands: a member of an object, or an entry of a list. nil is the whole document.
type place struct {
	up    *place
	name  string
	index int // of an entry; -1 for a member
}

func member(up *place, name string) *place { return &place{up: up, name: name, index: -1} }
func entry(up *place, index int) *place    { return &place{up: up, index: index} }
func (p *place) isMember() bool            { return p.index < 0 }
func (p *place) append(text []byte) []byte {
	if p.up != nil {
		text = p.up.append(text)
	}
	if !p.isMember() {
		return append(strconv.AppendInt(append(text, '['), int64(p.index), 10), ']')
	}
	if len(text) > 0 {
		text = append(text, '.')
	}
	return append(text, clip(p.name)...)
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	return string(p.append(nil))
}

// got says what a value is, for "expected …, got …".
func got(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	case string:
		return quote(value)
	case []any:
		return "a list of " + count(len(value))
	}
	return "an object"
}

// gotMember is got for a member that may be missing.
func gotMember(members map[string]any, name string) string {
	value, ok := members[name]
	if !ok {
		return "nothing"
	}
	return got(value)
}

func quote(text string) string { return strconv.Quote(clip(text)) }

func clip(text string) string {
	if len(text) <= maxQuotedBytes {
		return text
	}
	end := maxQuotedBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// count writes a small number as a word.
func count(number int) string {
	words := []string{"none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	if number < len(words) {
		return words[number]
	}
	return strconv.Itoa(number)
}

// choices writes words as "a", "b" or "c".
func choices(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = strconv.Quote(word)
	}
	return alternatives(quoted)
}

func alternatives(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}
