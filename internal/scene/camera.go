package scene

import (
	"cmp"
	"math"
	"slices"
)

// focus looks at atoms.
func (a *applier) focus(args Focus) error {
	query, sets, err := a.meant(args.Sel)
	if err == nil {
		query, _, err = a.one(query, sets)
	}
	if err != nil {
		return err
	}
	margin := defaultMarginAngstrom
	if args.Margin != nil {
		margin = *args.Margin
	}
	a.look(query, margin)
	return nil
}

// look points the camera at atoms, from where it looks.
func (a *applier) look(query string, margin float64) {
	a.Camera.Sel, a.Camera.MarginAngstrom, a.Camera.Zoom = query, margin, 1
}

// zoom brings the camera nearer, within bounds beyond which nothing is seen.
func (a *applier) zoom(args Zoom) {
	zoom := a.Camera.Zoom * args.Factor
	a.Camera.Zoom = max(leastZoom, min(mostZoom, zoom))
	if a.Camera.Zoom != zoom {
		a.warn("the camera goes no %s", map[bool]string{true: "nearer", false: "farther"}[args.Factor > 1])
	}
}

// views are where the camera looks and what is up, by the side that it looks from.
var views = map[string][2][3]float64{
	"front": {frontDirection, frontUp}, "back": {{0, 0, 1}, {0, 1, 0}}, "left": {{1, 0, 0}, {0, 1, 0}},
	"right": {{-1, 0, 0}, {0, 1, 0}}, "top": {{0, -1, 0}, {0, 0, -1}}, "bottom": {{0, 1, 0}, {0, 0, 1}},
}

// orient turns the camera to a view, or the scene by degrees about an axis of the screen.
func (a *applier) orient(args Orient) error {
	c := &a.Camera
	if view, ok := views[args.View]; ok {
		c.Direction, c.Up = view[0], view[1]
		return nil
	}
	if args.View == "principal" {
		c.Direction, c.Up = a.principal()
		return nil
	}
	axis := map[string][3]float64{"x": cross(c.Direction, c.Up), "y": c.Up, "z": times(c.Direction, -1)}[args.Axis]
	turn := -*args.Degrees * math.Pi / 180 // the scene turns one way when the camera turns the other
	c.Direction, c.Up = tidy(rotated(c.Direction, axis, turn)), tidy(rotated(c.Up, axis, turn))
	return nil
}

// rotated turns a vector about an axis of length 1 (O. Rodrigues, 1840).
func rotated(v, axis [3]float64, angle float64) [3]float64 {
	sine, cosine := math.Sincos(angle)
	along := times(axis, dot(axis, v)*(1-cosine))
	return plus(plus(times(v, cosine), times(cross(axis, v), sine)), along)
}

// tidy makes a direction one of length 1 without the dust of rounding.
func tidy(v [3]float64) [3]float64 {
	const dust = 1e9
	v = times(v, 1/math.Sqrt(dot(v, v)))
	for i := range v {
		v[i] = math.Round(v[i]*dust)/dust + 0 // no negative zero
	}
	return v
}

// principal looks along the shortest axis of what is looked at, with the longest one across.
func (a *applier) principal() (direction, up [3]float64) {
	var points [][3]float64
	for i, t := range a.tables {
		a.lookedAt(i).each(func(atom int) { points = append(points, t.Atoms[atom].Position) })
	}
	axes := principalAxes(points)
	direction, up = axes[2], axes[1]
	if direction[2] > 0 { // rather from the front than from the back
		direction = times(direction, -1)
	}
	if up[1] < 0 {
		up = times(up, -1)
	}
	return tidy(direction), tidy(up)
}

// lookedAt are the atoms of a structure that the camera looks at.
func (a *applier) lookedAt(structure int) Set {
	if a.Camera.Sel == "" {
		t := a.tables[structure]
		return t.all().less(t.ofKind(Water))
	}
	return a.set(structure, a.Camera.Sel)
}

// principalAxes are the directions in which points spread, the widest first. The matrix of their covariance is turned until it is
// diagonal (C. G. J. Jacobi, 1846).
func principalAxes(points [][3]float64) [3][3]float64 {
	m, axes := covariance(points), [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	const sweeps = 30
	for range sweeps {
		for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
			turnAway(&m, &axes, pair[0], pair[1])
		}
	}
	order := []int{0, 1, 2}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(m[j][j], m[i][i]) })
	return [3][3]float64{axes[order[0]], axes[order[1]], axes[order[2]]}
}

func covariance(points [][3]float64) [3][3]float64 {
	var middle [3]float64
	for _, p := range points {
		middle = plus(middle, times(p, 1/float64(len(points))))
	}
	var m [3][3]float64
	for _, p := range points {
		d := minus(p, middle)
		for i := range 3 {
			for j := range 3 {
				m[i][j] += d[i] * d[j]
			}
		}
	}
	return m
}

// turnAway makes one pair of a symmetric matrix zero, and turns the axes with it.
func turnAway(m, axes *[3][3]float64, p, q int) {
	if m[p][q] == 0 {
		return
	}
	angle := math.Atan2(2*m[p][q], m[q][q]-m[p][p]) / 2
	sine, cosine := math.Sincos(angle)
	for k := range 3 {
		m[k][p], m[k][q] = cosine*m[k][p]-sine*m[k][q], sine*m[k][p]+cosine*m[k][q]
	}
	for k := range 3 {
		m[p][k], m[q][k] = cosine*m[p][k]-sine*m[q][k], sine*m[p][k]+cosine*m[q][k]
		axes[p][k], axes[q][k] = cosine*axes[p][k]-sine*axes[q][k], sine*axes[p][k]+cosine*axes[q][k]
	}
}
