package director

import "slices"

// buildCamera handles where the camera stands and how things turn.
func (p *parser) buildCamera(f *frame) ([]Operation, bool, bool) {
	if f.names("spin") {
		built, ok := p.buildSpinning(f)
		return built, true, ok
	}
	if f.has("view") && f.acts("show", "focus", "rotate", "put", "", "undo", "align", "reset") && p.onWhole(f) {
		view := f.takeText("view")
		f.drop("camera")
		f.takeText("direction")
		return one("orient", map[string]any{"view": view}), true, !f.negated
	}
	if f.attributes["closeup"] != nil {
		delete(f.attributes, "closeup")
		built, ok := p.buildFocus(f)
		return built, true, ok && (f.verb == "show" || f.verb == "focus" || f.verb == "")
	}
	switch f.verb {
	case "zoomin", "zoomout":
		return p.buildZoom(f)
	case "focus":
		built, ok := p.buildFocus(f)
		return built, true, ok
	case "rotate":
		built, ok := p.buildRotate(f)
		return built, true, ok
	case "align":
		return nil, true, false
	case "spin", "rock", "stop":
		built, ok := p.buildSpinning(f)
		return built, true, ok
	case "put":
		if f.has("direction") && p.onWhole(f) {
			built, ok := p.buildRotate(f)
			return built, true, ok
		}
	}
	return nil, false, false
}

// buildZoom handles zooming without an object; with one it is a focus.
func (p *parser) buildZoom(f *frame) ([]Operation, bool, bool) {
	f.drop("camera")
	if len(f.objects) > 0 && !(f.objects[0].kind == "nothing") {
		if f.verb == "zoomout" && f.objects[0].kind != "all" && f.objects[0].kind != "structure" &&
			f.objects[0].kind != "protein" || p.onWhole(f) && f.objects[0].kind == "ref" && f.objects[0].role == "" {
			return nil, true, false
		}
		built, ok := p.buildFocus(f)
		return built, true, ok
	}
	if p.saysThere(f) && f.verb == "zoomin" {
		last, _ := p.pointed(p.last) // a question where nothing was spoken of
		return one("focus", map[string]any{"sel": p.single(last)}), true, !f.negated
	}
	factor := map[string]float64{"": 1.5, "bit": 1.25, "lot": 2.5}[f.takeText("amount")]
	if value, ok := f.takeNumber("factor"); ok {
		factor = value
	}
	if factor <= 0 || f.negated {
		return nil, true, false
	}
	if f.verb == "zoomout" && factor > 1 {
		factor = rounded(1 / factor)
	}
	return one("zoom", map[string]any{"factor": factor}), true, true
}

// saysThere tells "zoom there" from "zoom in".
func (p *parser) saysThere(f *frame) bool {
	for _, x := range p.lex[f.first:f.last] {
		if x.text == "there" || x.text == "here" {
			return true
		}
	}
	return false
}

func (p *parser) buildFocus(f *frame) ([]Operation, bool) {
	f.drop("camera")
	f.takeText("amount")
	if len(f.objects) != 1 || f.negated {
		return nil, false
	}
	object := f.objects[0]
	p.placeInterface(&object)
	args := map[string]any{"sel": p.single(object)}
	if value, ok := f.takeNumber("length"); ok {
		args["margin"] = value
	}
	operations := one("focus", args)
	if factor, ok := f.takeNumber("factor"); ok && factor > 0 {
		operations = append(operations, Operation{"zoom", map[string]any{"factor": factor}})
	}
	return operations, true
}

// buildRotate turns the view: to the right is positive about y, to the left negative; up and down are about x.
func (p *parser) buildRotate(f *frame) ([]Operation, bool) {
	f.drop("camera")
	if !p.turnable(f) || f.negated {
		return nil, false
	}
	direction, axis := f.takeText("direction"), f.takeText("axis")
	degrees, given := f.takeNumber("degrees")
	amount := f.takeText("amount")
	if f.has("speed") || !given && direction == "" && amount == "" && !p.flips(f) {
		return p.buildSpinningWith(f, axis)
	}
	if !given {
		degrees = 90
		if amount == "bit" {
			degrees = 15
		}
		if p.flips(f) || direction == "upside" || direction == "round" {
			degrees = 180
		}
	}
	turn := map[string]struct {
		axis string
		sign float64
	}{"left": {"y", -1}, "right": {"y", 1}, "up": {"x", -1}, "down": {"x", 1}, "top": {"x", -1}, "bottom": {"x",
		1}, "clockwise": {"z", -1},
		"anticlockwise": {"z", 1}, "upside": {"z", 1}, "back": {"y", 1}, "front": {"x", 1}}[direction]
	if turn.axis == "" {
		turn.axis, turn.sign = "y", 1
	}
	if axis != "" {
		turn.axis = axis
	}
	return one("orient", map[string]any{"axis": turn.axis, "degrees": degrees * turn.sign}), true
}

// flips tells whether the verb itself says half a turn.
func (p *parser) flips(f *frame) bool {
	for _, x := range p.lex[f.first:f.last] {
		if x.has("verb", "rotate") && (x.tokens[0].text == "flip" || x.text == "turn around" || x.text == "turn it around") {
			return true
		}
	}
	return false
}

// turnable tells whether a clause turns the whole scene: parts cannot turn alone.
func (p *parser) turnable(f *frame) bool {
	return !slices.ContainsFunc(f.objects, func(object phrase) bool {
		return !oneOf(object.kind, "all", "structure", "nothing", "ref", "protein", "polymer", "nucleic") || object.role == "to"
	})
}

// buildSpinning starts and stops what moves by itself.
func (p *parser) buildSpinning(f *frame) ([]Operation, bool) {
	f.drop("spin")
	f.drop("camera")
	if f.negated || p.removes(f) || f.verb == "stop" {
		return one("spin", map[string]any{"mode": "off"}), len(f.objects) == 0 || p.onWhole(f)
	}
	if !p.turnable(f) || f.verb == "focus" || f.verb == "render" {
		return nil, false
	}
	return p.buildSpinningWith(f, f.takeText("axis"))
}

func (p *parser) buildSpinningWith(f *frame, axis string) ([]Operation, bool) {
	args := map[string]any{"mode": "spin"}
	if f.verb == "rock" {
		args["mode"] = "rock"
		f.takeText("direction")
		f.takeText("view")
	}
	if axis != "" {
		args["axis"] = axis
	}
	if speed := f.takeText("speed"); speed != "" && speed != "normal" {
		args["speed"] = speed
	}
	f.takeText("amount")
	return one("spin", args), true
}
