// Package cif reads the words of CIF files (S. R. Hall, F. H. Allen, I. D. Brown, "The Crystallographic Information File", Acta
// Cryst. A47, 655-685, 1991): as a block of items, or one by one where a file is too large for that. It knows no dictionary: what
// an item means is its reader's business.
package cif

import "strings"

// Block is the first data block of a CIF file: its name, and the values of every item by its tag in lower case. An item outside
// a loop has one value. Unknown ("?") and inapplicable (".") values are "".
type Block struct {
	Name  string
	Items map[string][]string
}

// First is an item's first value, or "".
func (b Block) First(tag string) string {
	if values := b.Items[tag]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// ReadBlock reads the first data block of a text, or as much of it as the text has. It takes any text: what is no CIF has no
// name and no items.
func ReadBlock(text string) Block {
	b := Block{Items: map[string][]string{}}
	reader := NewReader(text)
	started, inLoop := false, false
	var tags []string // that the values to come belong to
	next := 0         // of tags
	for {
		word, bare, ok := reader.Next()
		lower := strings.ToLower(word)
		switch {
		case !ok:
			return b
		case bare && strings.HasPrefix(lower, "data_"):
			if started {
				return b
			}
			started, b.Name, tags, inLoop = true, word[len("data_"):], nil, false
		case !started:
			return b // only comments may stand before
		case bare && lower == "loop_":
			tags, next, inLoop = nil, 0, true
		case bare && strings.HasPrefix(word, "_"):
			if !inLoop || next > 0 { // behind the values of a loop, an item of its own begins
				tags, inLoop = nil, false
			}
			tags, next = append(tags, lower), 0
		case len(tags) > 0:
			if bare && (word == "?" || word == ".") {
				word = ""
			}
			tag := tags[next%len(tags)]
			b.Items[tag] = append(b.Items[tag], word)
			next++
		}
	}
}

// Reader cuts a text into words.
type Reader struct {
	rest      string
	lineStart bool // rest begins a line
}

const space = " \t\r\n"

// NewReader reads a text from its beginning.
func NewReader(text string) *Reader { return &Reader{rest: text, lineStart: true} }

// Next returns the next word without its quotes; bare says that it had none. ok is false at the end.
func (r *Reader) Next() (word string, bare, ok bool) {
	for {
		trimmed := strings.TrimLeft(r.rest, space)
		if skipped := r.rest[:len(r.rest)-len(trimmed)]; skipped != "" {
			r.lineStart = strings.HasSuffix(skipped, "\n")
		}
		r.rest = trimmed
		switch {
		case trimmed == "":
			return "", false, false
		case trimmed[0] == '#':
			_ = r.take(strings.IndexByte(trimmed, '\n'))
			continue
		case trimmed[0] == ';' && r.lineStart:
			return r.textField(), false, true
		case trimmed[0] == '\'' || trimmed[0] == '"':
			return r.quoted(), false, true
		}
		return r.take(strings.IndexAny(trimmed, space)), true, true
	}
}

// take cuts the next n bytes off, or all that is left when n is negative.
func (r *Reader) take(n int) string {
	if n < 0 {
		n = len(r.rest)
	}
	word := r.rest[:n]
	r.rest, r.lineStart = r.rest[n:], false
	return word
}

// textField reads from a semicolon at the start of a line to the next one there.
func (r *Reader) textField() string {
	_ = r.take(1)
	text := r.take(strings.Index(r.rest, "\n;"))
	_ = r.take(min(len("\n;"), len(r.rest)))
	return strings.TrimSpace(text)
}

// quoted reads to the same quote with white space behind it; an unfinished one ends with its line.
func (r *Reader) quoted() string {
	quote := r.take(1)[0]
	for i := 0; i < len(r.rest) && r.rest[i] != '\n'; i++ {
		if r.rest[i] == quote && (i+1 == len(r.rest) || strings.IndexByte(space, r.rest[i+1]) >= 0) {
			word := r.take(i)
			_ = r.take(1)
			return word
		}
	}
	return r.take(strings.IndexByte(r.rest, '\n'))
}
