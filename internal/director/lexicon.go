package director

import (
	"embed"
	"slices"
	"strings"
	"sync"
)

//go:embed words/*.txt
var wordFiles embed.FS

// sense is one meaning of a phrase: a category of the grammar and a value within it.
type sense struct{ category, value string }

// lexicon holds the word lists. It is read once and never changes.
type lexicon struct {
	// phrases maps a phrase, its words parted by single spaces, to its senses in the order of the files.
	phrases map[string][]sense
	// longest is the number of words of the longest phrase.
	longest int
	// variants maps other spellings to the one that the lists use.
	variants map[string]string
	// vocabulary are the single words of all phrases; byLetter are the same, for the repair of spelling.
	vocabulary map[string]bool
	byLength   [maxWordLength + 1][]string
	// letters maps one-letter codes of amino acids to residue names.
	letters map[string]string
	// ordinary are English words that look like ours and are not misspelt.
	ordinary map[string]bool
}

// maxWordLength is up to where words are repaired.
const maxWordLength = 20

// theLexicon reads the word lists on the first call.
var theLexicon = sync.OnceValue(readLexicon)

// wordFileOrder decides which sense of a phrase comes first.
var wordFileOrder = []string{"spelling", "verbs", "nouns", "residues", "looks", "colors", "grammar",
	"molecules", "refusals", "ordinary"}

func readLexicon() *lexicon {
	l := &lexicon{phrases: map[string][]sense{}, variants: map[string]string{}, vocabulary: map[string]bool{},
		letters: map[string]string{}, ordinary: map[string]bool{}}
	for _, name := range wordFileOrder {
		text, err := wordFiles.ReadFile("words/" + name + ".txt")
		if err != nil {
			continue // a test sees to it that all are there
		}
		l.readFile(string(text))
	}
	for word := range l.vocabulary {
		if len(word) <= maxWordLength {
			l.byLength[len(word)] = append(l.byLength[len(word)], word)
		}
	}
	for i := range l.byLength {
		slices.Sort(l.byLength[i])
	}
	return l
}

// readFile reads lines "value: phrase, phrase" below headings "[category]".
func (l *lexicon) readFile(text string) {
	category := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "["):
			category = strings.Trim(line, "[]")
		default:
			l.readLine(category, line)
		}
	}
}

func (l *lexicon) readLine(category, line string) {
	value, list, found := strings.Cut(line, ": ")
	if !found {
		value, list = "", line
	}
	for i, phrase := range strings.Split(list, ", ") {
		phrase = strings.TrimSpace(phrase)
		switch {
		case category == "variant":
			l.variants[phrase] = value
			l.vocabulary[phrase] = true
		case category == "ordinary":
			l.ordinary[phrase] = true
		case category == "css":
			l.add(phrase, sense{"color", strings.ReplaceAll(phrase, " ", "")})
			l.add(strings.ReplaceAll(phrase, " ", ""), sense{"color", strings.ReplaceAll(phrase, " ", "")})
		case (category == "aa" || category == "nucleotide") && i == 0:
			if phrase != "-" {
				l.letters[strings.ToLower(phrase)] = value
			}
		default:
			l.add(phrase, sense{category, value})
		}
	}
}

// add enters a phrase under the spelling that the lists use.
func (l *lexicon) add(phrase string, meaning sense) {
	words := strings.FieldsFunc(strings.ReplaceAll(phrase, "_", " "), func(r rune) bool { return r == ' ' || r == '-' })
	if strings.Contains(phrase, "_") {
		words = []string{phrase}
	}
	for i, word := range words {
		words[i] = l.canonical(word)
		l.vocabulary[words[i]] = true
	}
	key := strings.Join(words, " ")
	if !slices.Contains(l.phrases[key], meaning) {
		l.phrases[key] = append(l.phrases[key], meaning)
	}
	l.longest = max(l.longest, len(words))
}

// canonical is the spelling that the lists use of a word in small letters.
func (l *lexicon) canonical(word string) string {
	if plain, ok := l.variants[word]; ok {
		return plain
	}
	return word
}

// known tells whether a word in small letters stands in the lists.
func (l *lexicon) known(word string) bool { return l.vocabulary[word] || l.variants[word] != "" }

// lexeme is a phrase of the message with its senses; tokens first to end.
type lexeme struct {
	senses     []sense
	tokens     []token
	text       string
	first, end int
}

// value is the first value that the phrase has in a category.
func (x lexeme) value(category string) (string, bool) {
	for _, s := range x.senses {
		if s.category == category {
			return s.value, true
		}
	}
	return "", false
}

// is tells whether the phrase has a sense in a category.
func (x lexeme) is(category string) bool {
	_, ok := x.value(category)
	return ok
}

// has tells whether the phrase has a certain sense.
func (x lexeme) has(category, value string) bool {
	return slices.Contains(x.senses, sense{category, value})
}

// lexemes cuts the tokens into the longest phrases that the lists or the session know.
func (l *lexicon) lexemes(ctx *Context, tokens []token) []lexeme {
	own := l.sessionPhrases(ctx)
	var found []lexeme
	for at := 0; at < len(tokens); {
		next := l.longestPhrase(own, tokens, at)
		if len(found) > 0 && found[len(found)-1].is("unit") && len(next.tokens) > 1 && next.tokens[0].text == "of" {
			next = l.longestPhrase(own, tokens[:at+1], at) // "within 5 Å of it", where "of it" is more than a filler
		}
		if next.is("prep") && ctx.namesChain(next.tokens) {
			next = l.longestPhrase(own, tokens[:next.end-1], at) // "the haem in A"
		}
		found = append(found, next)
		at = next.end
	}
	for i := range found {
		if _, isChain := ctx.chain("I"); isChain && found[i].raw() == "I" && i+1 < len(found) && found[i+1].is("color") {
			found[i].senses = nil // "colour E teal and I orange" speaks of a chain
		}
		if i+1 < len(found) && found[i].text == "an" && isClippedAnd(found[i+1]) {
			found[i].text, found[i].senses = "and", l.phrases["and"]
		}
	}
	return found
}

// isClippedAnd tells, by what stands behind it, an "an" that should be "and": a verb that begins with a consonant.
func isClippedAnd(next lexeme) bool {
	return next.is("verb") && !strings.ContainsRune("aeiouh", rune(next.text[0]))
}

func (l *lexicon) longestPhrase(own map[string][]sense, tokens []token, at int) lexeme {
	best := lexeme{tokens: tokens[at : at+1], text: tokens[at].text, first: at, end: at + 1}
	if tokens[at].kind == quoted {
		return best
	}
	var key []byte
	for end := at + 1; end <= len(tokens) && end-at <= l.longest && tokens[end-1].kind != quoted; end++ {
		if end > at+1 {
			key = append(key, ' ')
		}
		key = append(key, tokens[end-1].text...)
		senses, session := l.phrases[string(key)], own[string(key)]
		if len(senses)+len(session) > 0 {
			best = lexeme{slices.Concat(session, senses), tokens[at:end], string(key), at, end}
		}
	}
	return best
}

// sessionPhrases are the names that only this session knows: components, their synonyms, and what it has named.
func (l *lexicon) sessionPhrases(ctx *Context) map[string][]sense {
	own := map[string][]sense{}
	add := func(phrase, category, value string) {
		words := strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
		for i := range words {
			words[i] = l.canonical(words[i])
		}
		key := strings.Join(words, " ")
		own[key] = append(own[key], sense{category, value})
	}
	for name := range ctx.Named {
		add(name, "mine", name)
	}
	for _, list := range [][]Component{ctx.Ligands, ctx.Ions, ctx.Modified} {
		for _, component := range list {
			add(component.Name, "component", component.Name)
		}
	}
	for word, component := range l.headNouns(ctx.Synonyms) {
		add(word, "component", component)
	}
	for name, component := range ctx.Synonyms {
		add(name, "component", component)
		if stem, isAcid := strings.CutSuffix(strings.ToLower(name), "ic acid"); isAcid {
			add(stem+"ate", "component", component) // retinoate
		}
		add(name+"s", "components", component)
		add(name+" molecules", "components", component)
		add(name+" molecule", "component", component)
		add(name+" groups", "components", component)
		add(name+" group", "component", component)
	}
	return own
}

// headNouns are the last words of names of several, where they are words of no list and one component alone has them: "the
// chromophore" of "peptide derived chromophore".
func (l *lexicon) headNouns(synonyms map[string]string) map[string]string {
	found := map[string]string{}
	for name, component := range synonyms {
		words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' })
		if len(words) < 2 {
			continue
		}
		last := words[len(words)-1]
		if len(last) < leastStem || l.known(last) {
			continue
		}
		if other, taken := found[last]; taken && other != component {
			component = "" // two have it
		}
		found[last] = component
	}
	for word, component := range found {
		if component == "" {
			delete(found, word)
		}
	}
	return found
}
