// Package strictjson says what a JSON body must be before any schema looks at it: UTF-8, well formed (RFC 8259), no member
// twice in one object, nesting of at most MaxDepth, no text that Postgres cannot store, no number beyond float64. It also
// refuses null where a schema does not allow it (nulls.go). It holds no HTTP and makes no values.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

const (
	// MaxDepth bounds nesting: the deepest legal request has about ten levels, and every level costs stack in each decoder
	// that reads the body afterwards.
	MaxDepth = 64
	// MaxValues bounds how many values a body holds: decoded, each takes some hundred bytes. The largest legal library of
	// ligands has a sixth of it.
	MaxValues = 2_000_000
	// maxNameChars bounds how much of a member's name a message repeats.
	maxNameChars = 64
	// plainNumberBytes is a length below which a literal without exponent cannot leave the range of float64.
	plainNumberBytes = 300
)

// Error is a body that is refused. Line and Column count from 1, the column in bytes; Path is the JSON path of the value, ""
// at the top.
type Error struct {
	Path         string
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	where := fmt.Sprintf("line %d, column %d", e.Line, e.Column)
	if e.Path == "" {
		return fmt.Sprintf("%s (%s)", e.Message, where)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Path, e.Message, where)
}

// Check scans raw once. hasNull tells whether a null stands anywhere in it, so that the caller can skip the search for
// forbidden ones. The error is an *Error and holds no value of the body, only names of members.
func Check(raw []byte) (hasNull bool, err error) {
	s := scanner{raw: raw}
	if !utf8.Valid(raw) {
		s.at = invalidUTF8(raw)
		return false, s.refuse("the body is not UTF-8")
	}
	if err := s.value(0); err != nil {
		return false, err
	}
	s.space()
	if s.at < len(s.raw) {
		return false, s.refuse("the body goes on after the end of its JSON value")
	}
	return s.hasNull, nil
}

type scanner struct {
	raw     []byte
	at      int
	values  int
	hasNull bool
	path    []segment
}

// segment is a member (name) or an element (index) on the way to a value.
type segment struct {
	name    string
	index   int
	element bool
}

func (s *scanner) value(depth int) error {
	s.space()
	if s.at >= len(s.raw) {
		return s.refuse("the JSON ends too early")
	}
	if s.values++; s.values > MaxValues {
		return s.refuse(fmt.Sprintf("the body holds more than %d values", MaxValues))
	}
	switch c := s.raw[s.at]; {
	case c == '{' || c == '[':
		if depth >= MaxDepth {
			return s.refuse(fmt.Sprintf("nesting is deeper than %d levels", MaxDepth))
		}
		if c == '{' {
			return s.object(depth)
		}
		return s.array(depth)
	case c == '"':
		_, err := s.text()
		return err
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case s.word("true"), s.word("false"):
		return nil
	case s.word("null"):
		s.hasNull = true
		return nil
	default:
		return s.refuse("this is not JSON: expected a value")
	}
}

func (s *scanner) object(depth int) error {
	var seen names
	s.at++
	if s.space(); s.take('}') {
		return nil
	}
	for {
		s.space()
		if s.at >= len(s.raw) || s.raw[s.at] != '"' {
			return s.refuse("this is not JSON: expected a member's name in double quotes")
		}
		start := s.at
		name, err := s.text()
		if err != nil {
			return err
		}
		s.path = append(s.path, segment{name: name})
		if !seen.add(name) {
			s.at = start
			return s.refuse("the member appears twice")
		}
		if s.space(); !s.take(':') {
			return s.refuse("this is not JSON: expected a colon")
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		if s.space(); s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.refuse("this is not JSON: expected a comma or a closing brace")
		}
	}
}

func (s *scanner) array(depth int) error {
	s.at++
	if s.space(); s.take(']') {
		return nil
	}
	for i := 0; ; i++ {
		s.path = append(s.path, segment{index: i, element: true})
		if err := s.value(depth + 1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		if s.space(); s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.refuse("this is not JSON: expected a comma or a closing bracket")
		}
	}
}

// text reads a string and returns it decoded.
func (s *scanner) text() (string, error) {
	start, escaped := s.at, false
	s.at++
	for s.at < len(s.raw) {
		switch c := s.raw[s.at]; {
		case c == '"':
			s.at++
			if !escaped {
				return string(s.raw[start+1 : s.at-1]), nil
			}
			var decoded string
			err := json.Unmarshal(s.raw[start:s.at], &decoded)
			return decoded, err
		case c < ' ':
			return "", s.refuse("a control character in a string must be escaped")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return "", err
			}
		default:
			s.at++
		}
	}
	return "", s.refuse("the JSON ends inside a string")
}

func (s *scanner) escape() error {
	if s.at+1 >= len(s.raw) {
		return s.refuse("the JSON ends inside a string")
	}
	switch s.raw[s.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at += 2
		return nil
	case 'u':
		return s.unicode()
	default:
		return s.refuse("this is not JSON: unknown escape in a string")
	}
}

// unicode reads \uXXXX. NUL and lone surrogates are refused because neither Postgres text nor jsonb can hold them.
func (s *scanner) unicode() error {
	r, ok := s.hex4(s.at)
	switch {
	case !ok:
		return s.refuse("this is not JSON: \\u needs four hexadecimal digits")
	case r == 0:
		return s.refuse("the character U+0000 is not allowed")
	case r < 0xD800 || r > 0xDFFF:
		s.at += 6
		return nil
	}
	low, ok := s.hex4(s.at + 6)
	if r > 0xDBFF || !ok || low < 0xDC00 || low > 0xDFFF {
		return s.refuse("half of a surrogate pair is not a character")
	}
	s.at += 12
	return nil
}

func (s *scanner) hex4(at int) (uint64, bool) {
	if at+6 > len(s.raw) || s.raw[at] != '\\' || s.raw[at+1] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(s.raw[at+2:at+6]), 16, 32)
	return r, err == nil
}

func (s *scanner) number() error {
	start := s.at
	plain := true
	s.take('-')
	switch {
	case s.take('0'):
	case !s.digits():
		return s.refuse("this is not JSON: a number needs a digit")
	}
	if s.take('.') && !s.digits() {
		return s.refuse("this is not JSON: a number needs a digit after its point")
	}
	if s.take('e') || s.take('E') {
		plain = false
		_ = s.take('+') || s.take('-')
		if !s.digits() {
			return s.refuse("this is not JSON: a number needs a digit in its exponent")
		}
	}
	if plain && s.at-start < plainNumberBytes {
		return nil
	}
	if _, err := strconv.ParseFloat(string(s.raw[start:s.at]), 64); errors.Is(err, strconv.ErrRange) {
		s.at = start
		return s.refuse("the number is too large")
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.raw) && '0' <= s.raw[s.at] && s.raw[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

func (s *scanner) space() {
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.raw) && s.raw[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) word(w string) bool {
	if bytes.HasPrefix(s.raw[s.at:], []byte(w)) {
		s.at += len(w)
		return true
	}
	return false
}

func (s *scanner) refuse(message string) error {
	before := s.raw[:min(s.at, len(s.raw))]
	return &Error{
		Path:    pathText(s.path),
		Line:    1 + bytes.Count(before, []byte("\n")),
		Column:  len(before) - bytes.LastIndexByte(before, '\n'),
		Message: message,
	}
}

func pathText(path []segment) string {
	var b []byte
	for _, one := range path {
		switch {
		case one.element:
			b = append(strconv.AppendInt(append(b, '['), int64(one.index), 10), ']')
		case len(b) > 0:
			b = append(append(b, '.'), shorten(one.name)...)
		default:
			b = append(b, shorten(one.name)...)
		}
	}
	return string(b)
}

func shorten(name string) string {
	if utf8.RuneCountInString(name) <= maxNameChars {
		return name
	}
	return string([]rune(name)[:maxNameChars]) + "…"
}

func invalidUTF8(raw []byte) int {
	for at := 0; at < len(raw); {
		r, size := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(raw)
}

// names is the set of an object's members: a short list for the usual few, a map beyond.
type names struct {
	few  []string
	many map[string]bool
}

// fewNames is where a map starts to be faster than a walk through a list.
const fewNames = 16

func (n *names) add(name string) bool {
	if n.many != nil {
		if n.many[name] {
			return false
		}
		n.many[name] = true
		return true
	}
	for _, one := range n.few {
		if one == name {
			return false
		}
	}
	n.few = append(n.few, name)
	if len(n.few) > fewNames {
		n.many = make(map[string]bool, 2*len(n.few))
		for _, one := range n.few {
			n.many[one] = true
		}
	}
	return true
}
