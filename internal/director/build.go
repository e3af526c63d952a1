package director

import (
	"slices"
	"strings"
)

// build turns a frame into operations. False when the verb, the objects and the attributes do not make sense together; attributes
// that are left over are looked at by the caller.
func (p *parser) build(f, before *frame, done []Operation) ([]Operation, bool) {
	if _, ok := f.attributes["opaque_word"]; ok {
		return nil, false
	}
	if by, _ := f.attributes["by"].(string); by == "element" && p.lex[f.first].text == "leave" && len(f.attributes) == 1 {
		delete(f.attributes, "by")
		return []Operation{}, len(f.objects) == 0 // "… and leave the heteroatoms"
	}
	if f.has("asis") {
		delete(f.attributes, "asis")
		return []Operation{}, f.acts("", "put", "keep", "show") || f.carried
	}
	pointsBack := len(f.objects) == 1 && f.objects[0].kind == "ref" || len(f.objects) == 0
	p.inherit(f, before)
	if f.verb == "render" && (f.has("rep") || f.has("color") || !p.onWhole(f)) {
		f.verb = "show"
	}
	switch {
	case f.verb == "undo" && f.has("preset"):
		f.verb = "show"
	case f.verb == "undo" && (f.names("clip") || f.names("labels") || f.names("measurements") || f.names("highlights")):
		f.verb = "off" // what was added, not the last step
	}
	onlyLabels := f.verb == "label" && len(f.attributes) == 0 || f.names("labels") && len(f.attributes) == 1 && !f.negated &&
		f.acts("show", "add", "put", "label", "")
	if onlyLabels && pointsBack && labelsContacts(done) {
		f.drop("labels")
		return []Operation{}, true
	}
	if f.has("view") && !p.onWhole(f) && f.acts("show", "put", "color", "") && !f.hasHeadBesides("view") {
		view := f.takeText("view") // "show the trimer from above as a surface"
		p.skip("side")
		built, ok := p.build(f, before, done)
		return append(built, Operation{"orient", map[string]any{"view": view}}), ok
	}
	for _, builder := range []func(*frame) ([]Operation, bool, bool){
		p.buildSession, p.buildFile, p.buildScenery, p.buildBonds, p.buildNotes, p.buildCamera,
	} {
		if built, mine, ok := builder(f); mine {
			return built, ok
		}
	}
	if f.verb == "keep" {
		return p.buildKeep(f, done)
	}
	return p.buildLooks(f)
}

// labelsContacts has the contacts labelled that the message has just shown, and tells whether it has: "… and label them".
func labelsContacts(done []Operation) bool {
	if len(done) == 0 || done[len(done)-1].Op != "interactions" {
		return false
	}
	done[len(done)-1].Args["labels"] = true
	return true
}

// inherit gives a clause with a verb of its own and no object that of the clause before: "show the ligand and colour it by
// element".
func (p *parser) inherit(f, before *frame) {
	needs := f.acts("color", "colored", "label", "highlight", "hide", "show", "fade", "put", "surface") && !f.carried
	if before == nil || !needs || len(f.objects) > 0 || f.hasHead() || f.has("rep") && f.verb != "show" || len(p.mentioned) == 0 {
		return
	}
	if before.acts("hide", "off", "clear") && f.acts("show", "surface") {
		return // "hide the glycans, show a surface": not theirs
	}
	if f.verb == "show" && f.has("rep") && f.has("color") || f.has("distinct") {
		return
	}
	if len(before.objects) > 0 {
		f.objects = []phrase{before.objects[len(before.objects)-1]}
		f.objects[0].role = ""
	}
}

func one(op string, args map[string]any) []Operation { return []Operation{{op, args}} }

// buildSession handles undo, redo, resets, snapshots and help.
func (p *parser) buildSession(f *frame) (built []Operation, mine, ok bool) {
	steps := map[string]any{}
	if count, given := f.takeNumber("count"); given && count >= 1 && f.verb != "" {
		if count > 1 {
			steps["steps"] = int(count)
		}
	}
	switch f.verb {
	case "undo":
		f.drop("change")
		return one("undo", steps), true, len(f.objects) == 0 || f.objects[0].kind == "nothing" || f.objects[0].kind == "ref"
	case "redo":
		f.drop("change")
		return one("redo", steps), true, len(f.objects) == 0 || f.objects[0].kind == "ref" || f.objects[0].kind == "nothing"
	case "resetcamera":
		return one("reset", map[string]any{"what": "camera"}), true, len(f.objects) == 0
	case "resetcolors":
		return one("reset", map[string]any{"what": "colors"}), true, len(f.objects) == 0 || f.objects[0].kind == "all"
	case "showall":
		f.takeText("switch")
		return one("show", map[string]any{"sel": "all"}), true, len(f.objects) == 0
	case "reset":
		return p.buildReset(f)
	case "snapshot":
		return p.buildSnapshot(f)
	case "name":
		return nil, true, false
	}
	return nil, false, false
}

func (p *parser) buildReset(f *frame) ([]Operation, bool, bool) {
	what := "scene"
	switch {
	case f.drop("camera"):
		what = "camera"
	case f.drop("colors"):
		what = "colors"
	case f.drop("scene"):
	case len(f.attributes) > 0:
		return nil, true, false
	}
	return one("reset", map[string]any{"what": what}), true, p.onWhole(f)
}

func (p *parser) buildSnapshot(f *frame) ([]Operation, bool, bool) {
	args := map[string]any{}
	f.drop("camera")
	f.drop("scene")
	f.drop("figure")
	if title := f.takeText("text"); title != "" {
		args["title"] = clip(title, 100)
	}
	return one("snapshot", args), true, len(f.objects) == 0
}

// fileAlternatives are what there is instead of the formats that are not written.
const fileAlternative = "export as mvsj or mvsx, or render a png"

// buildFile handles loading, exporting and rendering.
func (p *parser) buildFile(f *frame) ([]Operation, bool, bool) {
	if f.has("source") {
		return p.buildLoad(f)
	}
	if f.verb == "load" && !f.has("thing") && !f.has("format") {
		p.stop, p.open = nil, nil
		p.halt(question("structure", nil))
		f.attributes = map[string]any{}
		return nil, true, true
	}
	if built, mine, ok := p.buildModel(f); mine {
		return built, mine, ok
	}
	format, _ := f.attributes["format"].(string)
	pictures := slices.Contains([]string{"png", "jpeg", "mp4", "webm"}, format)
	scenes := format == "mvsj" || format == "mvsx"
	switch {
	case format != "" && !pictures && !scenes:
		p.halt(refusal("unsupported", format, fileAlternative))
		f.attributes = map[string]any{}
		return nil, true, true
	case scenes || f.verb == "export" && !pictures && !f.names("figure") && !f.names("movie") && !f.has("text"):
		return p.buildExport(f)
	case f.verb == "export" && f.has("text") && !pictures:
		f.verb = "snapshot"
		return p.buildSnapshot(f)
	case p.isRender(f, pictures):
		return p.buildRender(f)
	}
	return nil, false, false
}

func (p *parser) buildLoad(f *frame) ([]Operation, bool, bool) {
	args := map[string]any{"source": f.takeText("source")}
	delete(f.attributes, "predicted")
	f.drop("scene")
	if p.ctx.Structure != "" && (f.verb == "add" || f.also) || f.carried {
		args["add"] = true
	}
	fits := f.acts("load", "add", "put", "show", "", "focus") && !f.negated
	for _, object := range f.objects {
		fits = fits && (object.kind == "nothing" || object.kind == "all" || object.kind == "ref" || object.kind == "structure")
	}
	return one("load", args), true, fits
}

// buildModel handles models and assemblies.
func (p *parser) buildModel(f *frame) ([]Operation, bool, bool) {
	if number, given := f.takeNumber("model"); given {
		args := map[string]any{"model": int(number)}
		if number == 0 {
			args = map[string]any{"all_models": true}
		}
		if int(number) > max(1, p.ctx.Models) {
			p.halt(refusal("not_found", "model "+shortest(number), "the structure has "+shortest(float64(max(1,
				p.ctx.Models)))+" model(s)"))
		}
		return one("structure", args), true, len(f.objects) == 0 && f.verb != "hide"
	}
	id := f.takeText("assembly")
	if id == "" {
		return nil, false, false
	}
	if len(p.ctx.Assemblies) > 0 && !slices.Contains(p.ctx.Assemblies, id) {
		p.halt(refusal("not_found", "assembly "+id, "assemblies "+strings.Join(p.ctx.Assemblies, ", ")))
	}
	return one("structure", map[string]any{"assembly": id}), true, len(f.objects) == 0 && f.verb != "hide"
}

func (p *parser) buildExport(f *frame) ([]Operation, bool, bool) {
	format := f.takeText("format")
	if format == "" {
		format = "mvsj"
		if strings.Contains(p.ctx.Structure, ":") {
			format = "mvsx" // private coordinates travel inside
		}
	}
	f.drop("scene")
	f.drop("camera")
	fits := f.verb == "export" || f.verb == "show" || f.verb == "" || f.verb == "load" || f.verb == "snapshot" || f.verb == "put"
	return one("export", map[string]any{"format": format}), true, fits && p.onWhole(f)
}

// onWhole tells whether a clause speaks of the scene as a whole, if of anything.
func (p *parser) onWhole(f *frame) bool {
	return !slices.ContainsFunc(f.objects, func(object phrase) bool {
		return !oneOf(object.kind, "ref", "nothing", "all", "structure")
	})
}

// isRender tells whether a clause asks for a picture or a film.
func (p *parser) isRender(f *frame, pictures bool) bool {
	if f.verb == "render" || pictures && len(f.objects) == 0 {
		return true
	}
	wants := f.verb == "show" || f.verb == "take" || f.verb == "put" || f.verb == "export" || f.verb == "" || f.verb == "add"
	things := f.names("scene") && f.has("width") || f.names("figure") || f.names("movie") || f.has("quality") || f.has("figurative")
	if f.verb == "put" && len(f.objects) > 0 && !f.has("width") && !f.names("movie") {
		return false // "make it look like a figure" is a look
	}
	return wants && things && !f.has("effect") && !f.has("rep") && !f.has("color")
}

// buildRender handles pictures and films; what they cost is said before they run, which is not the grammar's to do.
func (p *parser) buildRender(f *frame) ([]Operation, bool, bool) {
	args := map[string]any{}
	film := f.names("movie") || p.saysFilm(f) || f.drop("spin") || f.has("seconds") || f.has("fps")
	for _, thing := range []string{"figure", "movie", "scene", "camera", "resolution", "spin", "background"} {
		if f.drop(thing) && thing == "background" && !f.has("transparent") {
			return nil, true, false
		}
	}
	if f.takeText("preset") != "" || f.attributes["quality"] != nil {
		args["engine"] = "cycles"
	}
	delete(f.attributes, "quality")
	delete(f.attributes, "figurative")
	if engine := f.takeText("engine"); engine != "" {
		args["engine"] = engine
	}
	if f.verb == "render" && strings.Contains(p.quote(f.first, f.last), "trace") {
		args["engine"] = "cycles"
	}
	for _, size := range []string{"width", "height", "samples"} {
		if value, ok := f.takeNumber(size); ok {
			args[size] = int(value)
		}
	}
	if f.attributes["transparent"] != nil {
		args["transparent"] = true
		delete(f.attributes, "transparent")
	}
	turntable := map[string]any{}
	if value, ok := f.takeNumber("seconds"); ok {
		turntable["seconds"] = value
	}
	for _, count := range []string{"fps", "frames"} {
		if value, ok := f.takeNumber(count); ok {
			turntable[count] = int(value)
		}
	}
	f.takeNumber("degrees")
	format := f.takeText("format")
	film = film || len(turntable) > 0 || format == "mp4" || format == "webm"
	if format == "" {
		format = map[bool]string{true: "mp4", false: "png"}[film]
	}
	args["format"] = format
	if film {
		args["turntable"] = turntable
	}
	if f.has("relative") || f.negated {
		return nil, true, false
	}
	return one("render", args), true, p.onWhole(f) || film && p.turnable(f)
}

// saysFilm tells whether the verb of a clause has the film in it: "make a movie".
func (p *parser) saysFilm(f *frame) bool {
	return slices.ContainsFunc(p.lex[f.first:f.last], func(x lexeme) bool {
		return x.has("verb", "render") && slices.ContainsFunc(strings.Fields(x.text), func(word string) bool {
			return oneOf(word, "movie", "video", "film", "animate", "animation")
		})
	})
}

// buildScenery handles the background, effects, clipping, maps and presets.
func (p *parser) buildScenery(f *frame) ([]Operation, bool, bool) {
	switch {
	case f.names("background"):
		return p.buildBackground(f)
	case f.has("effect"):
		return p.buildEffects(f)
	case f.names("volume"):
		return p.buildVolume(f)
	case f.verb == "clip" || f.names("clip") || f.names("slab"):
		return p.buildClip(f)
	case f.has("preset"):
		return p.buildPreset(f)
	}
	return nil, false, false
}

func (p *parser) buildBackground(f *frame) ([]Operation, bool, bool) {
	f.drop("background")
	f.drop("colors")
	if len(f.objects) > 0 && !p.onWhole(f) {
		return nil, true, false
	}
	hides := f.negated || f.verb == "hide" || f.verb == "off" || f.verb == "clear" || f.takeText("switch") == "off"
	if f.attributes["transparent"] != nil || hides {
		delete(f.attributes, "transparent")
		return one("background", map[string]any{"transparent": true}), true, true
	}
	if f.attributes["opacity"] == 0.0 {
		delete(f.attributes, "opacity")
		return one("background", map[string]any{"transparent": true}), true, true
	}
	color := f.takeText("color")
	if color == "" {
		delete(f.attributes, "anycolor")
		p.halt(question("color", nil))
		return nil, true, len(f.attributes) == 0
	}
	return one("background", map[string]any{"color": color}), true, true
}

func (p *parser) buildEffects(f *frame) ([]Operation, bool, bool) {
	enable := p.enabling(f)
	args := map[string]any{}
	for _, effect := range f.takeList("effect") {
		args[effect] = enable
	}
	if color := f.takeText("color"); color != "" && color != "black" {
		return nil, true, false
	}
	fits := f.acts("", "on", "off", "show", "hide", "add", "put", "clear", "highlight", "stop")
	return one("effects", args), true, fits && p.onWhole(f)
}

// enabling tells whether a clause turns something on.
func (p *parser) enabling(f *frame) bool {
	off := f.verb == "off" || f.verb == "hide" || f.verb == "clear" || f.verb == "stop" || f.takeText("switch") == "off"
	return off == f.negated
}

// buildVolume shows a map of the account; there is none otherwise.
func (p *parser) buildVolume(f *frame) ([]Operation, bool, bool) {
	if f.negated || f.verb == "hide" || f.verb == "off" || f.verb == "clear" {
		f.drop("volume")
		return one("clear", map[string]any{"what": "volumes"}), true, len(f.objects) == 0
	}
	f.drop("volume")
	f.drop("volume")
	if len(p.ctx.Volumes) == 0 {
		p.halt(refusal("needs_data", "electron density", "upload a map to the account and load it"))
		f.attributes = map[string]any{}
		return nil, true, true
	}
	args := map[string]any{"source": p.ctx.Volumes[0]}
	if value, ok := f.takeNumber("sigma"); ok {
		args["isovalue"], args["scale"] = value, "sigma"
	}
	if rep := f.takeText("rep"); rep != "" {
		args["style"] = map[bool]string{true: "surface", false: "mesh"}[rep == "surface"]
	}
	if color := f.takeText("color"); color != "" {
		args["color"] = color
	}
	if value, ok := f.takeNumber("length"); ok {
		args["radius"] = value
	}
	if len(f.objects) > 0 {
		args["around"] = p.single(f.objects[0])
	}
	if len(p.ctx.Volumes) > 1 {
		p.halt(question("target", p.ctx.Volumes))
	}
	return one("volume", args), true, len(f.objects) < 2
}

func (p *parser) buildClip(f *frame) ([]Operation, bool, bool) {
	if f.verb == "show" && !f.has("length") && !f.names("slab") || f.verb == "render" {
		return nil, false, false
	}
	off := f.negated || f.verb == "off" || f.verb == "hide" || f.verb == "clear" || f.verb == "stop" ||
		f.takeText("switch") == "off"
	slab := f.drop("slab")
	f.drop("clip")
	front := f.drop("front") || f.takeText("view") == "front"
	f.drop("halfway")
	if off {
		return one("clip", map[string]any{"mode": "off"}), true, len(f.objects) == 0
	}
	words := p.quote(f.first, f.last)
	slab = slab || strings.Contains(strings.ToLower(words), "slice") || strings.Contains(strings.ToLower(words), "section") ||
		f.has("length")
	args := map[string]any{"mode": map[bool]string{true: "slab", false: "front"}[slab && !front]}
	if value, ok := f.takeNumber("length"); ok {
		args["thickness"] = value
	}
	for _, object := range f.objects {
		if object.centre != nil {
			object = *object.centre
		}
		if object.kind != "nothing" {
			args["through"] = p.single(object)
		}
	}
	return one("clip", args), true, len(f.objects) < 3
}

func (p *parser) buildPreset(f *frame) ([]Operation, bool, bool) {
	name := f.takeText("preset")
	delete(f.attributes, "figurative")
	f.drop("camera")
	f.drop("scene")
	f.drop("figure")
	f.drop("colors")
	if name == "plddt" && !p.ctx.Predicted {
		p.halt(noConfidence())
	}
	args := map[string]any{"name": name}
	if len(f.objects) == 1 && !p.onWhole(f) {
		args["sel"] = f.objects[0].text()
	}
	fits := f.acts("", "put", "show", "color", "reset", "undo", "focus", "add", "on", "label")
	return one("preset", args), true, fits && !f.negated && len(f.objects) < 2
}

// noConfidence refuses the pLDDT of a structure that was not predicted: its B-factors must not pass for one.
func noConfidence() Operation { return refusal("needs_data", "plddt", "colour by B-factor") }

// buildKeep handles "keep X": nothing is done to it. After "hide everything" it is what stays, and alone it is what stays too.
func (p *parser) buildKeep(f *frame, done []Operation) ([]Operation, bool) {
	if len(f.objects) == 0 && f.has("rep") && len(f.attributes) == 1 && len(done) > 0 && done[len(done)-1].Op == "show" {
		f.takeText("rep")
		done[len(done)-1].Args["add"] = true // "show Arg132 as sticks but keep the cartoon"
		return []Operation{}, true
	}
	if len(f.objects) != 1 {
		return nil, false
	}
	if len(done) == 0 {
		f.takeText("rep")
		return one("isolate", map[string]any{"sel": f.objects[0].text()}), true
	}
	last := &done[len(done)-1]
	if last.Op == "hide" && last.Args["sel"] == "all" {
		*last = Operation{"isolate", map[string]any{"sel": f.objects[0].text()}}
	}
	if f.has("rep") || f.has("color") || f.has("by") {
		f.verb = "show"
		return p.buildLooks(f)
	}
	return []Operation{}, true
}
