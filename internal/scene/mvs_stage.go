package scene

import "math"

// focusParams are how the camera looks, at what it hangs below. Being twice as near is showing half the radius.
func (c *compiler) focusParams() map[string]any {
	params := map[string]any{"direction": c.Camera.Direction, "up": c.Camera.Up}
	if c.Camera.Sel != "" {
		params["radius_extent"] = c.Camera.MarginAngstrom
	}
	if c.Camera.Zoom != 1 {
		params["radius_factor"] = 1 / c.Camera.Zoom
	}
	return params
}

// clips are the planes that cut what is before the middle of the clip's atoms, or all but a slab there. They face the camera; what
// a plane's normal points to is taken away.
func (c *compiler) clips() []*treeNode {
	if c.Clip == nil {
		return nil
	}
	low, high, ok := c.box(c.clipped(), 0)
	if !ok {
		return nil
	}
	middle, ahead := times(plus(low, high), 0.5), c.Camera.Direction
	back := minus([3]float64{}, ahead) // without negative zeros
	if c.Clip.Mode == "front" {
		return []*treeNode{clipPlane(back, middle)}
	}
	half := c.Clip.ThicknessAngstrom / 2
	return []*treeNode{clipPlane(back, plus(middle, times(back, half))), clipPlane(ahead, plus(middle, times(ahead, half)))}
}

// clipped is the selection that a clip passes through, everything where none is named.
func (c *compiler) clipped() string {
	if c.Clip.Through == "" {
		return "all"
	}
	return c.Clip.Through
}

func clipPlane(normal, point [3]float64) *treeNode {
	return &treeNode{Kind: "clip", Params: map[string]any{"type": "plane", "normal": normal, "point": point}}
}

// canvas writes the background and the effects that somebody has turned on or off.
func (c *compiler) canvas() *treeNode {
	n := &treeNode{Kind: "canvas", Params: map[string]any{"background_color": c.Canvas.Color}}
	effects, on := map[string]any{}, c.Canvas.Effects
	for name, value := range map[string]*bool{
		"enable_outline": on.Outline, "enable_shadow": on.Shadow, "enable_ssao": on.Occlusion, "enable_fog": on.Fog,
		"enable_depth_of_field": on.DepthOfField,
	} {
		if value != nil {
			effects[name] = *value
		}
	}
	if len(effects) > 0 {
		n.Custom = map[string]any{"molstar_postprocessing": effects}
	}
	return n
}

// spinsPerSecond are the speeds of turning; swinging has its own pace.
var (
	spinsPerSecond = map[string]float64{"slow": 0.03, "normal": 0.1, "fast": 0.3}
	rocksPerSecond = map[string]float64{"slow": 0.1, "normal": 0.3, "fast": 0.8}
	spinAxes       = map[string][3]float64{"x": {-1, 0, 0}, "y": {0, -1, 0}, "z": {0, 0, -1}} // of the camera
)

// animation writes that the scene turns while it is looked at; nil where it does not.
func (c *compiler) animation() *treeNode {
	spin := c.Canvas.Spin
	if spin == nil {
		return nil
	}
	speed := spinsPerSecond[spin.Speed]
	if spin.Mode == "rock" {
		speed = rocksPerSecond[spin.Speed]
	}
	return &treeNode{Kind: "animation", Custom: map[string]any{"molstar_trackball": map[string]any{
		"name": spin.Mode, "params": map[string]any{"speed": speed, "axis": spinAxes[spin.Axis]},
	}}}
}

// axes writes arrows along the axes, from the corner of the box around everything. The format has no axes of its own.
func (c *compiler) axes() *treeNode {
	low, high, _ := c.box("all", 0)
	length := 0.0
	for k := range low {
		length = math.Max(length, (high[k]-low[k])/4)
	}
	shapes := &treeNode{Kind: "primitives", Ref: "axes"}
	for k, color := range []string{"red", "green", "blue"} {
		end := low
		end[k] += length
		shapes.under(&treeNode{Kind: "primitive", Params: map[string]any{"kind": "arrow", "start": low, "end": end, "color": color,
			"show_end_cap": true, "tube_radius": length / 40, "end_cap_radius": length / 20, "end_cap_length": length / 8}})
		end[k] += length / 12
		shapes.under(&treeNode{Kind: "primitive", Params: map[string]any{"kind": "label", "position": end, "text": "xyz"[k : k+1],
			"label_size": length / 6, "label_color": color}})
	}
	return shapes
}
