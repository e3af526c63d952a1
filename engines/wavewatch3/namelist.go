package wavewatch3

import (
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines/waves"
)

// namelists is a file of Fortran namelists: groups that begin with "&NAME" and end with "/", assignments in them, "!" before
// remarks. What stands between groups is passed over, as Fortran does.
type namelists struct {
	file   string // within the case
	groups []group
}

// group is one namelist with its assignments in order.
type group struct {
	line        int
	name        string // in capitals
	assignments []assignment
}

// assignment is one "key = values". The key is in capitals and has no blanks: "DATE%FIELD", "OUTBND_LINE(1)%X0".
type assignment struct {
	line   int
	key    string
	values []value
}

// value is a text that stood in quotation marks, or a word.
type value struct {
	text   string
	quoted bool
}

// token is a word, a text, "=" or the end of a group.
type token struct {
	value
	line   int
	equals bool
	end    bool
}

const maxDeckLines = 20_000

// readNamelists reads a file of namelists. Errors: *waves.WrongError.
func readNamelists(file, text string) (namelists, error) {
	found := namelists{file: file}
	s := scanner{file: file, open: -1}
	for number, line := range strings.Split(text, "\n") {
		if number == maxDeckLines {
			return found, waves.Wrong(file, number+1, "has more than %d lines", maxDeckLines)
		}
		if err := s.line(number+1, strings.TrimSuffix(line, "\r")); err != nil {
			return found, err
		}
	}
	if s.open >= 0 {
		return found, waves.Wrong(file, s.groups[s.open].line, "&%s does not end with \"/\"", s.groups[s.open].name)
	}
	found.groups = s.groups
	return found, nil
}

// scanner cuts lines into tokens, and tokens into assignments of the group that is open.
type scanner struct {
	file   string
	groups []group
	open   int // the group that is read; -1 between groups
	tokens []token
}

func (s *scanner) line(number int, line string) error {
	for rest := line; ; {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" || rest[0] == '!' {
			return nil
		}
		if s.open < 0 {
			if rest[0] != '&' {
				return nil // between groups
			}
			end := strings.IndexAny(rest, " \t!")
			if end < 0 {
				end = len(rest)
			}
			s.groups = append(s.groups, group{line: number, name: strings.ToUpper(rest[1:end])})
			s.open, s.tokens, rest = len(s.groups)-1, nil, rest[end:]
			continue
		}
		one, behind, err := s.next(number, rest)
		if err != nil {
			return err
		}
		rest = behind
		if !one.end {
			s.tokens = append(s.tokens, one)
			continue
		}
		if err := s.close(); err != nil {
			return err
		}
	}
}

// next cuts one token off, which the rest begins with.
func (s *scanner) next(number int, rest string) (token, string, error) {
	switch {
	case rest[0] == '/' || strings.HasPrefix(strings.ToUpper(rest), "&END"):
		return token{line: number, end: true}, strings.TrimPrefix(rest[1:], "END"), nil
	case rest[0] == '=':
		return token{line: number, equals: true}, rest[1:], nil
	case rest[0] == '\'' || rest[0] == '"':
		text, behind, closed := quoted(rest)
		if !closed {
			return token{}, "", waves.Wrong(s.file, number, "has a text without its second quotation mark")
		}
		return token{line: number, value: value{text, true}}, behind, nil
	case rest[0] == '&':
		g := s.groups[s.open]
		return token{}, "", waves.Wrong(s.file, g.line, "&%s does not end with \"/\" before line %d", g.name, number)
	case rest[0] == '%':
		return token{}, "", waves.Wrong(s.file, number, "has a name with a blank in it; write it in one piece, as GRID%%NAME")
	}
	end, depth := len(rest), 0
	for i, c := range rest {
		if c == '(' {
			depth++
		}
		if c == ')' {
			depth--
		}
		if depth == 0 && strings.ContainsRune(" \t,=/'\"!", c) {
			end = i
			break
		}
	}
	return token{line: number, value: value{text: rest[:end]}}, rest[end:], nil
}

// quoted cuts a text off; two quotation marks within it are one.
func quoted(rest string) (text, behind string, closed bool) {
	mark := rest[:1]
	for at := 1; ; {
		end := strings.Index(rest[at:], mark)
		if end < 0 {
			return "", "", false
		}
		text += rest[at : at+end]
		at += end + 1
		if !strings.HasPrefix(rest[at:], mark) {
			return text, rest[at:], true
		}
		text, at = text+mark, at+1
	}
}

// close makes the tokens of the open group its assignments.
func (s *scanner) close() error {
	g := &s.groups[s.open]
	for i, one := range s.tokens {
		next := i+1 < len(s.tokens) && s.tokens[i+1].equals
		switch {
		case one.equals && (i == 0 || s.tokens[i-1].equals || s.tokens[i-1].quoted):
			return waves.Wrong(s.file, one.line, "&%s has a \"=\" without a name before it", g.name)
		case one.equals:
		case next:
			key := strings.ToUpper(strings.Join(strings.Fields(one.text), ""))
			g.assignments = append(g.assignments, assignment{line: one.line, key: key})
		case len(g.assignments) == 0:
			return waves.Wrong(s.file, one.line, "&%s has %.40q where a name and \"=\" must stand", g.name, one.text)
		default:
			last := &g.assignments[len(g.assignments)-1]
			last.values = append(last.values, one.value)
		}
	}
	s.open = -1
	return nil
}

// find returns the last assignment of a key, which is the one that counts.
func (n namelists) find(groupName, key string) (assignment, bool) {
	for _, g := range slices.Backward(n.groups) {
		if g.name != groupName {
			continue
		}
		for _, one := range slices.Backward(g.assignments) {
			if one.key == key && len(one.values) > 0 {
				return one, true
			}
		}
		return assignment{}, false
	}
	return assignment{}, false
}

// text is the first value of a key; otherwise where it is not set.
func (n namelists) text(groupName, key, otherwise string) string {
	if found, ok := n.find(groupName, key); ok {
		return strings.TrimSpace(found.values[0].text)
	}
	return otherwise
}

// number is the same as a number, 0 where it is not set. Errors: *waves.WrongError.
func (n namelists) number(groupName, key string) (float64, error) {
	found, ok := n.find(groupName, key)
	if !ok {
		return 0, nil
	}
	number, err := strconv.ParseFloat(strings.NewReplacer("d", "e", "D", "e").Replace(found.values[0].text), 64)
	if err != nil || found.values[0].quoted {
		return 0, waves.Wrong(n.file, found.line, "%s is %.40q, which is no number", key, found.values[0].text)
	}
	return number, nil
}

// yes is the same as a logical value, which Fortran knows by its first letter.
func (n namelists) yes(groupName, key string) bool {
	text := strings.ToUpper(strings.TrimPrefix(n.text(groupName, key, "F"), "."))
	return strings.HasPrefix(text, "T")
}

// line is where a key is set, else where its group begins, else 0.
func (n namelists) line(groupName, key string) int {
	if found, ok := n.find(groupName, key); ok {
		return found.line
	}
	for _, g := range n.groups {
		if g.name == groupName {
			return g.line
		}
	}
	return 0
}
