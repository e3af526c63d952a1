package director

import (
	"slices"
	"strings"
)

// subjects are the categories that show that a message is about the scene at all.
var subjects = []string{"noun", "aa", "group", "pocket", "rep", "color", "prop", "effect",
	"itype", "element", "component", "components", "mine",
	"region", "preset", "opaque", "named", "nucleotide", "terminus", "axis", "oligomer"}

// foul tells whether a message gives orders to the machinery, in or outside quotation marks.
func (p *parser) foul() bool {
	for _, x := range p.lex {
		if p.orders(x) {
			return true
		}
		if x.kind() != quoted {
			continue
		}
		if slices.ContainsFunc(p.lexicon.lexemes(p.ctx, tokenise(x.raw())), p.orders) {
			return true
		}
	}
	return false
}

// orders tells a phrase by which people try to command the machinery.
func (p *parser) orders(x lexeme) bool {
	value, _ := x.value("feature")
	return strings.HasPrefix(value, "out_of_scope | instructions") || x.text == "api key" || x.text == "api keys" ||
		x.text == "password" ||
		x.text == "passwords" || x.text == "drop table"
}

// giveUp answers a message that was not understood as a whole: what is known not to be possible is refused by its name, what a
// clause asked back stays a question, what has nothing to do with the scene is out of scope. The rest is quoted.
func (p *parser) giveUp(unread []string) Understanding {
	for _, x := range p.lex {
		if value, ok := x.value("feature"); ok {
			parts := strings.SplitN(value, " | ", 3)
			if len(parts) == 3 {
				return refused(parts[0], parts[1], parts[2])
			}
		}
	}
	if format, ok := p.unwritten(); ok {
		return refused("unsupported", format, fileAlternative)
	}
	if p.mutation() {
		return refused("unsupported", "mutate", "highlight the residue and label it")
	}
	if p.stop != nil {
		return Understanding{Operations: []Operation{*p.stop}}
	}
	if !slices.ContainsFunc(p.lex, p.onSubject) || p.lex[0].is("question") && p.hasUnknown() {
		return refused("out_of_scope", p.quote(0, len(p.lex)), "say what the picture should show, or ask for help")
	}
	return Understanding{NotUnderstood: unread}
}

// unwritten is a format that somebody wants and that is not written.
func (p *parser) unwritten() (string, bool) {
	for _, x := range p.lex {
		format, ok := x.value("format")
		if ok && len(x.senses) == 1 && !slices.Contains([]string{"png", "jpeg", "mp4", "webm", "mvsj", "mvsx"}, format) {
			return format, true
		}
	}
	return "", false
}

// onSubject tells whether a phrase is about the scene.
func (p *parser) onSubject(x lexeme) bool {
	if x.is("word") && !x.is("filler") && !x.has("word", "copy") && !x.has("word", "structureword") || p.isResidue(x) {
		return true
	}
	return !x.is("filler") && slices.ContainsFunc(subjects, x.is) && !x.has("noun", "all") && !x.is("article") ||
		x.has("thing", "labels")
}

func (p *parser) hasUnknown() bool {
	return slices.ContainsFunc(p.lex, func(x lexeme) bool { return len(x.senses) == 0 && x.kind() == word })
}

// mutation tells whether a message would change a residue: T315I, "make Lys48 an alanine".
func (p *parser) mutation() bool {
	first := p.lex[0]
	for first.is("filler") && len(p.lex) > 1 {
		first = p.lex[1]
		break
	}
	changes := first.has("verb", "put") || first.has("verb", "align")
	residues, types := 0, 0
	for _, x := range p.lex {
		if x.kind() == code && len(x.tokens) == 1 && isMutation(p.lexicon, x.text) {
			return true
		}
		if _, _, ok := p.lexicon.residueCode(x.text); ok || x.has("word", "residue") {
			residues++
		}
		if x.is("aa") {
			types++
		}
	}
	return changes && types > 0 && (residues > 0 || types > 1)
}

// isMutation tells T315I.
func isMutation(l *lexicon, text string) bool {
	match := residuePattern.FindStringSubmatch(text)
	return len(match) > 3 && len(match[1]) == 1 && l.letters[match[1]] != "" && l.letters[match[3]] != ""
}
