// Package fasta reads the records of a FASTA text as people upload it: proteins to be folded, one or many; and judges which of them
// can be, so that the front door and the command line say the same before anything is sent or charged. The files of sequence
// databases, which are too large to be held, are read by internal/sequences.
package fasta

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxRecords bounds what is read of one file.
	MaxRecords = 10_000
	// MaxNameBytes bounds a record's name, which every result repeats; a longer one is cut.
	MaxNameBytes = 120
)

// Record is one sequence. Name is the first word of its header, or "record 3" where that has none; Letters are its lines without
// white space, as they stand.
type Record struct {
	Name    string
	Letters string
}

// UnreadableError says why a text is no FASTA; the reason is a clause for "the file …".
type UnreadableError struct{ Reason string }

func (e *UnreadableError) Error() string { return "the file " + e.Reason }

// Read reads all records. A text without a header is one sequence. Errors: *UnreadableError.
func Read(content []byte) ([]Record, error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(content)) == 0:
		return nil, &UnreadableError{"is empty; give sequences as FASTA"}
	case bytes.HasPrefix(content, []byte{0x1f, 0x8b}):
		return nil, &UnreadableError{"is compressed; upload plain FASTA"}
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return nil, &UnreadableError{"is no text; give sequences as FASTA"}
	}
	var records []Record
	var letters strings.Builder
	name, begun := "", false
	end := func() {
		if begun {
			records = append(records, Record{Name: name, Letters: letters.String()})
		}
		letters.Reset()
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(strings.TrimRight(line, "\r\n"))
		switch {
		case strings.HasPrefix(line, ">"):
			end()
			name, begun = nameOf(line[1:], len(records)+1), true
		case line == "" || strings.HasPrefix(line, ";"):
		default:
			if !begun {
				name, begun = nameOf("", 1), true
			}
			letters.WriteString(strings.Join(strings.Fields(line), ""))
		}
		if len(records) >= MaxRecords {
			return nil, &UnreadableError{fmt.Sprintf("has more than %d sequences; cut it into several", MaxRecords)}
		}
	}
	end()
	return records, nil
}

// nameOf is the first word of a header, printable and bounded.
func nameOf(header string, number int) string {
	words := strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, header))
	if len(words) == 0 {
		return fmt.Sprintf("record %d", number)
	}
	name := words[0]
	for len(name) > MaxNameBytes {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
