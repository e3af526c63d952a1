package director

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	entryPattern     = regexp.MustCompile(`^(?:pdb:)?([0-9][a-z0-9]{3})$`)
	accessionPattern = regexp.MustCompile(`^(?:alphafold:|af-)?([opq][0-9][a-z0-9]{3}[0-9]|[a-nr-z][0-9](?:[a-z][a-z0-9]{2}[0-9]){1,2})(?:-f[0-9]+)?(?:-model_v[0-9]+)?$`)
	ownPattern       = regexp.MustCompile(`^(pose|artifact|project)[:_]([a-z0-9_]+)$`)
	sizePattern      = regexp.MustCompile(`^([0-9]{2,4})x([0-9]{2,4})$`)
	colorPattern     = regexp.MustCompile(`^#([0-9a-f]{3}|[0-9a-f]{6})$`)
)

// attribute reads one attribute with the preposition before it. False when none stands here; the place is then unchanged.
func (p *parser) attribute(f *frame) bool {
	start := p.mark()
	x := p.at(0)
	byWord := false
	if p.flag(f, x) {
		return true
	}
	for x.is("prep") && !x.has("prep", "between") || x.is("article") && !x.is("ref") && !p.isBareChain(x) ||
		x.text == "all" && (p.at(1).is("itype") || p.at(1).is("thing")) || x.is("filler") || x.has("verb", "colored") ||
		x.has("verb", "color") || x.has("thing", "colors") && (p.at(1).has("prep", "by") || p.at(1).is("prop")) ||
		x.text == "one" && p.at(1).has("thing", "movie") || x.is("size") && p.sizesLook() {
		if (x.is("verb") && f.verb == "" || x.is("thing") && f.verb == "" && !p.at(1).is("prop")) && p.pos != start.pos {
			break
		}
		if x.is("poss") && p.at(1).is("itype") && p.last != "" && !p.coordinates(p.at(1), p.at(2)) {
			f.attributes["its"] = true
		}
		byWord = byWord || x.has("prep", "by") || x.has("verb", "colored") || x.has("prep", "in")
		if x.is("filler") && (x.is("amount") || x.is("color") || x.is("view") || x.is("direction") || x.is("speed")) {
			break
		}
		p.pos++
		x = p.at(0)
	}
	before := p.at(-1)
	for _, read := range []func(*frame, lexeme) bool{p.numeric, p.look, p.headed, p.camera, p.output, p.source, p.flag} {
		if read(f, x) {
			return true
		}
	}
	if x.is("prop") && p.fitsProperty(f, x, byWord || before.has("prep", "by")) {
		value, _ := p.take("prop")
		p.takes("thing", "colors")
		if f.set("by", value) {
			return true
		}
	}
	p.back(start)
	return false
}

// fitsProperty tells whether a word that may be a property is one here: behind "by", or where it can be nothing else.
func (p *parser) fitsProperty(f *frame, x lexeme, byWord bool) bool {
	if byWord {
		return !(p.at(-1).has("prep", "in") && startsNoun(x))
	}
	plain := !startsNoun(x) && !x.is("level") && !x.is("thing")
	next := p.at(1)
	return plain && (f.verb == "color" || f.verb == "" || f.verb == "put" || f.has("rep") || f.verb == "show") || next.is("rep") ||
		next.has("thing", "colors") || next.has("verb", "color") && plain
}

// numeric reads numbers with units: degrees, seconds, samples, percentages, times.
func (p *parser) numeric(f *frame, x lexeme) bool {
	if x.kind() == code && len(x.tokens) == 1 {
		if size := sizePattern.FindStringSubmatch(x.text); size != nil {
			p.pos++
			p.takes("unit", "pixels")
			return f.set("width", atof(size[1])) && f.set("height", atof(size[2]))
		}
		return false
	}
	if x.is("opaque") {
		return p.opacity(f, "")
	}
	if x.is("color") || x.kind() != number && !x.is("number") {
		return false
	}
	start := p.mark()
	value, ok := p.number()
	if !ok {
		return false
	}
	if p.otherSide(f) {
		return f.set("width", atof(value))
	}
	p.skip("filler")
	unit := p.at(0)
	name, _ := unit.value("unit")
	switch {
	case name == "percent" || unit.is("opaque"):
		return p.opacity(f, value)
	case f.verb == "fade" || f.verb == "opacity":
		return f.set("opacity", atof(value))
	case p.counted(f, value, unit):
		return true
	case f.verb == "rotate" && (p.ended() || unit.is("conj") || unit.is("filler")):
		return f.set("degrees", atof(value)) // "rotate 180"
	case name == "angstrom" || name == "nanometer":
		p.back(start)
		length, read := p.length()
		if read && (!p.at(0).is("prep") || f.verb == "clip") && f.set("length", atof(length)) {
			return true
		}
	case p.timed(f, value, name):
		p.pos++
		return true
	}
	p.back(start)
	return false
}

// otherSide reads on in "3000 by 2000" and "3000 x 2000 px".
func (p *parser) otherSide(f *frame) bool {
	start := p.mark()
	if x := p.at(0); !x.has("prep", "by") && x.text != "x" || p.at(1).kind() != number {
		return false
	}
	p.pos++
	height, _ := p.number()
	p.takes("unit", "pixels")
	if atof(height) < leastPixels {
		p.back(start)
		return false
	}
	return f.set("height", atof(height))
}

// leastPixels is from where on a number may be the side of a picture.
const leastPixels = 16

// timed keeps numbers whose unit says what they are.
func (p *parser) timed(f *frame, value, unit string) bool {
	scale := map[string]float64{"minutes": 60}
	category := map[string]string{"degrees": "degrees", "seconds": "seconds", "minutes": "seconds",
		"fps": "fps", "frames": "frames",
		"samples": "samples", "sigma": "sigma", "pixels": "width", "high": "height", "times": "factor"}[unit]
	if category == "" {
		return false
	}
	number := atof(value)
	if scale[unit] > 0 {
		number *= scale[unit]
	}
	if category == "degrees" && f.verb == "put" {
		f.verb = "rotate"
	}
	return f.set(category, number)
}

// counted keeps numbers that count steps: "the last 3 changes", "twice", "two steps".
func (p *parser) counted(f *frame, value string, unit lexeme) bool {
	switch f.verb {
	case "undo", "redo":
		if !unit.has("thing", "change") && !p.ended() && !unit.is("conj") && !unit.is("filler") {
			return false
		}
		p.takes("thing", "change")
		p.takes("off", "off")
		return f.set("count", atof(value))
	case "zoomin", "zoomout", "focus":
		if unit.has("unit", "times") || p.ended() || unit.is("conj") || unit.is("thing") {
			p.takes("unit", "times")
			p.takes("thing", "change")
			return f.set("factor", atof(value))
		}
	}
	return false
}

// opacity reads how transparent or opaque something is, from a number before the word or behind it.
func (p *parser) opacity(f *frame, value string) bool {
	percent := p.takes("unit", "percent")
	kind, ok := p.take("opaque")
	if !ok {
		return value != "" && percent && (f.verb == "fade" || f.has("opaque_word")) && f.set("opacity", fraction(value, true))
	}
	if value == "" {
		start := p.mark()
		p.skip("prep", "article", "filler")
		if next, read := p.number(); read {
			value = next
			percent = p.takes("unit", "percent")
		} else {
			p.back(start)
		}
	}
	switch kind {
	case "half":
		return f.set("opacity", 0.5)
	case "quarter":
		return f.set("opacity", 0.25)
	case "solid":
		return f.set("opacity", 1.0)
	case "invisible":
		return f.set("opacity", 0.0)
	case "relative":
		return f.set("relative", true)
	case "opacity":
		if value == "" {
			return f.set("opacity", 1.0)
		}
		return f.set("opacity", fraction(value, percent))
	}
	if value == "" {
		return f.set("transparent", true)
	}
	return f.set("opacity", rounded(1-fraction(value, percent)))
}

// fraction is a share between 0 and 1, written as such or in percent.
func fraction(value string, percent bool) float64 {
	number := atof(value)
	if percent || number > 1 {
		return rounded(number / 100)
	}
	return number
}

func rounded(value float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', 4, 64), 64)
	if err != nil {
		return value
	}
	return short
}

// look reads representations and colours.
func (p *parser) look(f *frame, x lexeme) bool {
	if x.kind() == code && colorPattern.MatchString(x.text) {
		p.pos++
		return f.set("color", longHex(x.text))
	}
	if value, ok := x.value("rep"); ok && !(x.text == "line" && p.at(1).is("article")) {
		before := p.at(-1)
		p.pos++
		f.upon = f.upon || before.has("prep", "on") || before.is("article") && p.at(-3).has("prep", "on")
		f.styled = f.styled || before.has("prep", "as") || before.has("prep", "in")
		if kind, ok := x.value("surfacetype"); ok && !f.set("surfacetype", kind) {
			return false
		}
		if before.has("prep", "with") || p.at(-2).is("article") && p.at(-3).has("prep", "with") {
			return f.set("withrep", value)
		}
		if f.joined && f.has("rep") {
			f.joined = false
			return f.put("reps", value)
		}
		return f.set("rep", value)
	}
	if value, ok := x.value("surfacetype"); ok && p.at(1).is("rep") {
		p.pos++
		return f.set("surfacetype", value)
	}
	if value, ok := x.value("color"); ok {
		p.pos++
		if p.at(0).has("element", "C") {
			p.pos++
			f.attributes["carbons"] = true
		}
		p.takes("thing", "colors")
		if f.joined && f.has("color") {
			f.joined = false
			return f.put("colors", value)
		}
		return f.set("color", value)
	}
	if x.is("coloradj") {
		p.pos++
		return f.set("anycolor", true)
	}
	if x.is("distinct") {
		p.pos++
		return f.set("distinct", true)
	}
	if ahead := p.carbonColor(x); ahead > 0 {
		p.pos += ahead
		color, _ := p.take("color")
		f.attributes["carbons"] = true
		return f.set("color", color)
	}
	return false
}

// carbonColor is how far behind "carbons" their colour stands, in "with carbons in green"; 0 when there is none.
func (p *parser) carbonColor(x lexeme) int {
	if !x.has("element", "C") || !p.at(-1).has("prep", "with") && !(p.at(-1).is("article") && p.at(-2).has("prep", "with")) {
		return 0
	}
	for ahead := 1; ahead < 4; ahead++ {
		if p.at(ahead).is("color") {
			return ahead
		}
		if !p.at(ahead).is("prep") && !p.at(ahead).has("verb", "colored") {
			return 0
		}
	}
	return 0
}

func longHex(text string) string {
	if len(text) != 4 {
		return text
	}
	var long strings.Builder
	long.WriteByte('#')
	for _, digit := range text[1:] {
		long.WriteString(strings.Repeat(string(digit), 2))
	}
	return long.String()
}

// headed reads what a clause may be about besides atoms: the background, effects, labels, interactions, models, presets.
func (p *parser) headed(f *frame, x lexeme) bool {
	if name, ok := p.betweenAtoms(x); ok {
		return f.set("ends", name)
	}
	if p.modelled(f, x) {
		return true
	}
	switch {
	case x.is("effect"):
		value, _ := p.take("effect")
		return f.put("effect", value)
	case x.is("itype") && !p.coordinates(x, p.at(1)):
		value, _ := p.take("itype")
		f.bridging = f.bridging || value == "water_bridge" && strings.HasPrefix(x.text, "water") && strings.Contains(x.text, " ") &&
			!strings.HasPrefix(x.text, "water mediated") && !strings.HasPrefix(x.text, "water bridge")
		return f.put("itype", value)
	case x.is("level") && (f.verb == "label" || f.names("labels")) && !p.nounBehind(x):
		value, _ := p.take("level")
		return f.set("level", value)
	case x.is("preset") && (!x.has("preset", "plddt") || !p.at(-1).has("prep", "by")):
		value, _ := p.take("preset")
		if strings.Contains(x.text, "figure") || strings.Contains(x.text, "image") || strings.Contains(x.text, "quality") {
			f.attributes["figurative"] = true
		}
		return f.set("preset", value)
	case x.is("textsize") && (f.verb == "label" || f.names("labels")):
		value, _ := p.take("textsize")
		return f.set("textsize", atof(value))
	case x.is("closeup"):
		p.pos++
		return f.set("closeup", true)
	case x.is("quality"):
		p.pos++
		return f.set("quality", true)
	case x.has("thing", "front") && x.is("view") && f.verb != "clip" && p.standsBehindFrom():
		return p.viewpoint(f, false)
	case x.is("thing") && !(x.is("clip") && f.verb == ""):
		return p.thing(f, x)
	}
	return false
}

// standsBehindFrom tells "from the front" of a view from what is clipped.
func (p *parser) standsBehindFrom() bool {
	return p.at(-1).has("prep", "from") || p.at(-1).is("article") && p.at(-2).has("prep", "from")
}

// nounBehind tells whether a word such as "residue" is followed by what makes it a noun phrase.
func (p *parser) nounBehind(x lexeme) bool {
	next := p.at(1)
	if !startsNoun(x) {
		return false
	}
	return next.kind() == number || next.kind() == code || p.isChainLetter(next) || next.is("prep") || startsNoun(next) ||
		next.is("number") ||
		p.pos+1 == len(p.lex)
}

// thing keeps a thing of the scene; among several senses the verb decides.
func (p *parser) thing(f *frame, x lexeme) bool {
	value, _ := x.value("thing")
	for _, s := range x.senses {
		if s.category != "thing" {
			continue
		}
		picture := s.value == "figure" || s.value == "movie"
		if f.verb == "render" && picture || f.verb == "off" && s.value == "spin" || f.verb == "clip" && s.value == "slab" {
			value = s.value
		}
		if picture && f.acts("show", "put", "export", "take") && value != "scene" {
			value = s.value
		}
	}
	if value == "change" && f.verb != "undo" && f.verb != "redo" {
		return false
	}
	p.pos++
	return f.put("thing", value)
}

// modelled reads "model 3", "the third model", "all models", "assembly 1".
func (p *parser) modelled(f *frame, x lexeme) bool {
	start := p.mark()
	ordinals := []string{"first", "second", "third", "fourth", "fifth", "sixth"}
	ordinal := slices.IndexFunc(ordinals, func(o string) bool { return x.has("ordinal", o) })
	if ordinal >= 0 || x.has("ordinal", "last") {
		p.pos++
	}
	all := x.text == "all" || x.text == "all the" || p.at(-1).text == "all the" || x.text == "every" || p.at(-1).text == "every"
	if x.text == "all" || x.text == "all the" {
		p.pos++
		p.skip("article")
	}
	next := p.at(0)
	switch {
	case next.has("word", "asymmetric"):
		p.pos++
		return f.set("model", 1.0)
	case next.has("word", "model") && p.multiple(next, all):
		p.pos++
		return p.whichModel(f, ordinal, all, x)
	case p.exceedsChains(next):
		p.pos++
		return f.set("assembly", p.ctx.Assemblies[0])
	case next.has("word", "assembly"):
		p.pos++
		id := "1"
		if ordinal >= 0 {
			id = strconv.Itoa(ordinal + 1)
		} else if number, ok := p.number(); ok {
			id = number
		}
		return f.set("assembly", id)
	}
	p.back(start)
	return false
}

// exceedsChains tells an oligomer of more chains than were deposited, where an assembly can have them.
func (p *parser) exceedsChains(x lexeme) bool {
	count, ok := x.value("oligomer")
	return ok && atoi(count) > len(p.ctx.Chains) && len(p.ctx.Assemblies) > 0
}

// multiple tells whether "model" means one of several, and not the structure as a whole.
func (p *parser) multiple(x lexeme, all bool) bool {
	next := p.at(1)
	return next.kind() == number || next.is("number") || p.pos > 0 && p.at(-1).is("ordinal") || all &&
		strings.HasSuffix(x.text, "s")
}

func (p *parser) whichModel(f *frame, ordinal int, all bool, x lexeme) bool {
	if number, ok := p.number(); ok {
		return f.set("model", atof(number))
	}
	switch {
	case ordinal >= 0:
		return f.set("model", float64(ordinal+1))
	case x.has("ordinal", "last"):
		return f.set("model", float64(max(1, p.ctx.Models)))
	case all:
		return f.set("model", 0.0)
	}
	return false
}

// camera reads views, axes, directions and speeds.
func (p *parser) camera(f *frame, x lexeme) bool {
	turns := f.verb == "rotate" || f.verb == "spin" || f.verb == "rock" || f.verb == "align"
	switch {
	case x.is("view") && !(x.text == "right" && f.verb == ""):
		return p.viewpoint(f, turns)
	case x.is("side"):
		p.pos++
		return f.set("view", "right")
	case x.is("direction") && (turns || f.verb == "put"):
		value, _ := p.take("direction")
		return f.set("direction", value)
	case x.is("axis") && (turns || f.has("degrees")):
		value, _ := p.take("axis")
		return f.set("axis", value)
	case x.is("speed") && (turns || f.verb == "put" || f.names("spin")):
		value, _ := p.take("speed")
		return f.set("speed", value)
	case x.is("amount") && (p.at(1).has("verb", "zoomin") || p.at(1).has("verb", "zoomout")), // "a bit closer"
		x.is("amount") && (turns || f.verb == "zoomin" || f.verb == "zoomout" || f.verb == "focus" || f.verb == "put"):
		value, _ := p.take("amount")
		return f.set("amount", value)
	}
	return false
}

// viewpoint keeps a view, or a direction where something is turned.
func (p *parser) viewpoint(f *frame, turns bool) bool {
	value, _ := p.take("view")
	p.skip("side")
	p.takes("thing", "camera")
	switch {
	case turns && (value == "left" || value == "right") && p.at(-2).has("prep", "to") || turns && f.has("degrees"):
		return f.set("direction", value)
	case turns && (value == "left" || value == "right"):
		return f.set("direction", value)
	}
	return f.set("view", value)
}

// output reads what pictures and files are made of: resolution, engine, format.
func (p *parser) output(f *frame, x lexeme) bool {
	makes := f.verb == "render" || f.verb == "take" || f.verb == "export" || f.verb == "show" || f.verb == "put" || f.verb == "" ||
		f.verb == "snapshot" || f.verb == "load"
	switch {
	case x.is("resolution"):
		value, _ := p.take("resolution")
		p.takes("thing", "resolution")
		width, height, _ := strings.Cut(value, "x")
		return f.set("width", atof(width)) && f.set("height", atof(height))
	case x.is("engine") && makes && (f.verb == "render" || !x.is("format")):
		value, _ := p.take("engine")
		return f.set("engine", value)
	case x.is("format") && makes && f.verb != "load":
		value, _ := p.take("format")
		p.skipFile()
		return f.set("format", value)
	}
	return false
}

// skipFile passes over "file", "image", "movie" behind a format.
func (p *parser) skipFile() {
	for p.at(0).text == "file" || p.at(0).has("thing", "figure") || p.at(0).has("thing", "movie") {
		p.pos++
	}
}

// source reads what is loaded: a PDB id, an AlphaFold accession, a pose.
func (p *parser) source(f *frame, x lexeme) bool {
	if x.is("word") && x.has("word", "structureword") && (f.verb == "load" || f.verb == "add" || f.has("source")) {
		next := p.at(1)
		if strings.HasSuffix(x.text, " of") || next.is("prep") || next.is("word") || next.kind() == code ||
			p.pos+1 == len(p.lex) || f.has("source") {
			p.pos++
			if strings.Contains(x.text, "alphafold") || strings.Contains(x.text, "predict") || strings.Contains(x.text, "uniprot") {
				f.attributes["predicted"] = true
			}
			p.takes("prep", "of")
			return true
		}
	}
	if x.kind() != code || len(x.tokens) != 1 || p.numbers {
		return false
	}
	loads := f.acts("load", "add", "put", "show", "", "export", "focus")
	if !loads {
		return false
	}
	if match := ownPattern.FindStringSubmatch(x.text); match != nil {
		p.pos++
		id := x.raw()
		if strings.Contains(id, ":") {
			id = id[strings.Index(id, ":")+1:]
		}
		return f.set("source", match[1]+":"+id)
	}
	if match := entryPattern.FindStringSubmatch(x.text); len(match) > 1 && strings.Trim(match[1], "0123456789") != "" {
		p.pos++
		return f.set("source", "pdb:"+strings.ToUpper(match[1]))
	}
	if match := accessionPattern.FindStringSubmatch(x.text); match != nil {
		p.pos++
		return f.set("source", "alphafold:"+strings.ToUpper(match[1]))
	}
	return false
}

// flag reads quotations, "on" and "off", and what tells effects on or off.
func (p *parser) flag(f *frame, x lexeme) bool {
	switch {
	case x.kind() == quoted:
		p.pos++
		return f.set("text", x.raw())
	case x.is("on") && (p.pos+1 == len(p.lex) || p.at(1).is("conj")) && !f.empty():
		p.pos++
		return f.set("switch", "on")
	case x.text == "away" && f.verb == "clip":
		p.pos++
		return true
	case x.has("off", "off") && (f.has("thing") || f.has("effect") || f.has("rep") || len(f.objects) > 0 || f.verb == "put" ||
		f.has("itype")):
		p.pos++
		return f.set("switch", "off")
	}
	return false
}
