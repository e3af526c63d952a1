package director

import "strings"

// naming reads the naming of a selection: "call it the hinge", "name residues 316-321 hinge", "define the hinge as …", and the
// "as hinge" of a selection. It completes the frame as a selection with a name.
func (p *parser) naming(f *frame, x lexeme) bool {
	if f.verb == "select" && x.has("prep", "as") && len(f.objects) == 1 {
		p.pos++
		return p.nameHere(f)
	}
	if f.verb != "name" && !(f.verb == "snapshot" && p.calls(x)) {
		return false
	}
	if f.verb == "snapshot" {
		p.pos++
		return p.titleHere(f)
	}
	start := p.mark()
	if len(f.objects) == 0 {
		if p.object(f) && f.objects[0].kind != "nothing" && p.stop == nil {
			return true
		}
		f.objects = nil
		p.back(start)
		return p.nameFirst(f)
	}
	p.skip("prep", "conj")
	f.verb = "select"
	return p.nameHere(f)
}

// calls tells the words before a title.
func (p *parser) calls(x lexeme) bool {
	return x.text == "called" || x.text == "named" || x.has("verb", "name") || x.has("prep", "as")
}

// nameFirst reads "define the hinge as residues 316-321".
func (p *parser) nameFirst(f *frame) bool {
	start := p.mark()
	if !p.nameHere(f) {
		return false
	}
	p.skip("prep", "filler")
	if !p.at(-1).is("prep") || !p.object(f) {
		delete(f.attributes, "name")
		p.back(start)
		return false
	}
	f.objects[0].role = ""
	f.verb = "select"
	return true
}

// nameHere takes the words up to a preposition or the clause's end as a name.
func (p *parser) nameHere(f *frame) bool {
	p.skip("article", "filler")
	first := p.pos
	for !p.ended() && !p.at(0).is("conj") && !p.at(0).is("prep") && !p.at(0).is("filler") {
		p.pos++
	}
	name := slug(strings.Trim(p.quote(first, p.pos), `"'`))
	return name != "" && f.set("name", name)
}

// titleHere takes the words up to the clause's end as a snapshot's title.
func (p *parser) titleHere(f *frame) bool {
	first := p.pos
	for !p.ended() && !p.at(0).is("conj") && !p.at(0).is("filler") {
		p.pos++
	}
	return p.pos > first && f.set("text", p.quote(first, p.pos))
}
