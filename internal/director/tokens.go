package director

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells words from what is never repaired: numbers, codes, quotations.
type tokenKind byte

const (
	word   tokenKind = 'w'
	number tokenKind = 'n'
	code   tokenKind = 'c'
	quoted tokenKind = 'q'
	mark   tokenKind = 'm'
)

// token is a piece of a message: text in small letters and repaired, raw as it was written.
type token struct {
	text, raw string
	kind      tokenKind
}

// typography maps what keyboards and word processors make of plain characters.
var typography = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "«", `"`, "»", `"`, "–", "-", "—", " , ", "−", "-",
	"‑", "-",
	"×", "x", "α", "alpha", "β", "beta", "π", "pi", "…", " ", "\u00a0", " ", "Å", "Å", "Å", "Å", "₂", "2", "½", "0.5", "→", " to ")

var (
	numberPattern = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]+)?$`)
	unitPattern   = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)-?(å|a|°|%|s|sec|secs|x|fps|nm|px|deg|degs|degrees|degree|percent|angstroms?|` +
		`seconds?|min|ns|ps|frames|samples|spp|sigma|σ|dpi|times|fold|residues?|points?)$`)
	listPattern = regexp.MustCompile(`^[0-9]+[a-z]?(?:(?:-|\.\.|:)[0-9]+[a-z]?)?(?:\+[0-9]+[a-z]?(?:-[0-9]+[a-z]?)?)*$`)
	codePattern = regexp.MustCompile(`^(#[0-9a-f]{3}|#[0-9a-f]{6}|(pdb|alphafold|pose|artifact|project):[a-z0-9_]+|(pose|artifact|project)_[a-z0-9_]+|` +
		`af-[a-z0-9]+(-f[0-9]+)?(-model_v[0-9]+)?|[0-9]+x[0-9]+|[a-z]{1,3}-?[0-9]{1,4}[a-z]?|[a-z0-9]+[:/][a-z0-9:/-]*[0-9][a-z0-9:/-]*|` +
		`[a-z]{1,3}[0-9]*['*]{1,2}|[a-z0-9_]*[0-9][a-z0-9_]*|[0-9]+(st|nd|rd|th))$`)
)

// spacedRange is a range of numbers with spaces round its hyphen: "10 - 40".
var spacedRange = regexp.MustCompile(`\b([0-9]+) +- +([0-9]+)\b`)

// tokenise cuts a message into tokens.
func tokenise(message string) []token {
	var tokens []token
	rest := []rune(spacedRange.ReplaceAllString(typography.Replace(message), "$1-$2"))
	for len(rest) > 0 && len(tokens) <= maxTokens {
		switch first := rest[0]; {
		case unicode.IsSpace(first) || unicode.IsControl(first):
			rest = rest[1:]
		case (first == '"' || first == '\'' || first == '`') && quotation(rest) > 0:
			end := quotation(rest)
			text := strings.TrimSpace(string(rest[1:end]))
			tokens = append(tokens, token{text, text, quoted})
			rest = rest[end+1:]
		case strings.ContainsRune(`,;:!?()[]{}"'.`+"`", first):
			tokens = appendMark(tokens, first)
			rest = rest[1:]
		default:
			end := chunkEnd(rest)
			tokens = appendChunk(tokens, string(rest[:end]))
			rest = rest[end:]
		}
	}
	return tokens
}

// quotation is where the quotation that rest begins with ends, or 0: an apostrophe is not the end of one.
func quotation(rest []rune) int {
	for i := 2; i < len(rest); i++ {
		if rest[i] == rest[0] && (rest[0] == '"' || i+1 == len(rest) || !unicode.IsLetter(rest[i+1])) {
			return i
		}
	}
	return 0
}

// appendMark keeps what parts clauses; brackets and stray quotation marks mean nothing.
func appendMark(tokens []token, first rune) []token {
	switch first {
	case ',', ';', '.':
		return append(tokens, token{string(first), string(first), mark})
	case ':':
		return append(tokens, token{";", ":", mark})
	case '!', '?':
		return append(tokens, token{".", string(first), mark})
	}
	return tokens
}

// chunkEnd is the length of the run of characters up to a space or a mark; a point between digits belongs to the run.
func chunkEnd(rest []rune) int {
	for i, r := range rest {
		if unicode.IsSpace(r) || strings.ContainsRune(`,;!?()[]{}"`, r) {
			return i
		}
		last := i+1 == len(rest) || !(unicode.IsLetter(rest[i+1]) || unicode.IsDigit(rest[i+1]))
		if (r == '.' || r == '\'' || r == ':') && last && i > 0 && (i+1 == len(rest) || rest[i+1] != '.') {
			return i
		}
	}
	return len(rest)
}

// appendChunk classifies a run of characters, or cuts it further: at units, hyphens, slashes and apostrophes.
func appendChunk(tokens []token, raw string) []token {
	raw = strings.TrimRight(raw, ":")
	text := strings.ToLower(raw)
	switch {
	case text == "":
		return tokens
	case numberPattern.MatchString(text):
		return append(tokens, token{strings.TrimPrefix(text, "+"), raw, number})
	case theLexicon().known(text):
		return append(tokens, token{theLexicon().canonical(text), raw, word})
	case isUnit(raw, text) && !(strings.HasSuffix(text, "a") && len(tokens) > 0 && strings.HasPrefix(tokens[len(tokens)-1].text,
		"resi")):
		match := unitPattern.FindStringSubmatch(text)
		return append(tokens, token{match[1], match[1], number}, token{theLexicon().canonical(match[2]), match[2], word})
	case listPattern.MatchString(text) || codePattern.MatchString(text):
		return append(tokens, token{text, raw, code})
	}
	if at := strings.IndexAny(raw, "-'/&%°:=.<>~"); at >= 0 {
		return appendParts(tokens, raw, at)
	}
	return append(tokens, token{theLexicon().canonical(text), raw, word})
}

// isUnit tells "5A" and "30fps" from PDB ids: four characters with a capital are an id.
func isUnit(raw, text string) bool {
	return unitPattern.MatchString(text) && (len(raw) != 4 || raw == text)
}

// appendParts cuts a chunk at a character that is no letter. What the character means is kept where it means anything.
func appendParts(tokens []token, raw string, at int) []token {
	tokens = appendChunk(tokens, raw[:at])
	_, size := utf8.DecodeRuneInString(raw[at:])
	switch cut := raw[at : at+size]; cut {
	case "&", "%", "°":
		tokens = append(tokens, token{theLexicon().canonical(cut), cut, word})
	case "/", "=", "<", ">", "~":
		tokens = append(tokens, token{cut, cut, mark})
	}
	return appendChunk(tokens, raw[at+size:])
}
