package structures

import "strings"

// block is the first data block of a CIF file: its name, and the values of every item by its tag in lower case. An item outside
// a loop has one value. Unknown ("?") and inapplicable (".") values are "". (S. R. Hall, F. H. Allen, I. D. Brown, "The
// Crystallographic Information File", Acta Cryst. A47, 655-685, 1991.)
type block struct {
	name  string
	items map[string][]string
}

// first is an item's first value, or "".
func (b block) first(tag string) string {
	if values := b.items[tag]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// readBlock reads the first data block of a text, or as much of it as the text has. It takes any text: what is no CIF has no
// name and no items.
func readBlock(text string) block {
	b := block{items: map[string][]string{}}
	reader := cifReader{rest: text, lineStart: true}
	started, inLoop := false, false
	var tags []string // that the values to come belong to
	next := 0         // of tags
	for {
		word, bare, ok := reader.next()
		lower := strings.ToLower(word)
		switch {
		case !ok:
			return b
		case bare && strings.HasPrefix(lower, "data_"):
			if started {
				return b
			}
			started, b.name, tags, inLoop = true, word[len("data_"):], nil, false
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
			b.items[tag] = append(b.items[tag], word)
			next++
		}
	}
}

// cifReader cuts a text into words.
type cifReader struct {
	rest      string
	lineStart bool // rest begins a line
}

const cifSpace = " \t\r\n"

// next returns the next word without its quotes; bare says that it had none. ok is false at the end.
func (r *cifReader) next() (word string, bare, ok bool) {
	for {
		trimmed := strings.TrimLeft(r.rest, cifSpace)
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
		return r.take(strings.IndexAny(trimmed, cifSpace)), true, true
	}
}

// take cuts the next n bytes off, or all that is left when n is negative.
func (r *cifReader) take(n int) string {
	if n < 0 {
		n = len(r.rest)
	}
	word := r.rest[:n]
	r.rest, r.lineStart = r.rest[n:], false
	return word
}

// textField reads from a semicolon at the start of a line to the next one there.
func (r *cifReader) textField() string {
	_ = r.take(1)
	text := r.take(strings.Index(r.rest, "\n;"))
	_ = r.take(min(len("\n;"), len(r.rest)))
	return strings.TrimSpace(text)
}

// quoted reads to the same quote with white space behind it; an unfinished one ends with its line.
func (r *cifReader) quoted() string {
	quote := r.take(1)[0]
	for i := 0; i < len(r.rest) && r.rest[i] != '\n'; i++ {
		if r.rest[i] == quote && (i+1 == len(r.rest) || strings.IndexByte(cifSpace, r.rest[i+1]) >= 0) {
			word := r.take(i)
			_ = r.take(1)
			return word
		}
	}
	return r.take(strings.IndexByte(r.rest, '\n'))
}
