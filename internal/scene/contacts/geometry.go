package contacts

import "math"

type vector = [3]float64

func minus(a, b vector) vector          { return vector{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func plus(a, b vector) vector           { return vector{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func times(a vector, k float64) vector  { return vector{a[0] * k, a[1] * k, a[2] * k} }
func dot(a, b vector) float64           { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func length(a vector) float64           { return math.Sqrt(dot(a, a)) }
func distance(a, b vector) float64      { return length(minus(a, b)) }
func squareBetween(a, b vector) float64 { d := minus(a, b); return dot(d, d) }
func cross(a, b vector) vector {
	return vector{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// unit is a vector of length 1, or zero where there is no direction.
func unit(a vector) vector {
	if l := length(a); l > 0 {
		return times(a, 1/l)
	}
	return vector{}
}

// between is the angle of two directions, in degrees.
func between(a, b vector) float64 {
	return math.Acos(max(-1, min(1, dot(unit(a), unit(b))))) * 180 / math.Pi
}

// angleAt is the angle at b between a and c, in degrees.
func angleAt(a, b, c vector) float64 { return between(minus(a, b), minus(c, b)) }

// upright is the angle of two lines without direction, at most 90 degrees.
func upright(a, b vector) float64 {
	angle := between(a, b)
	return min(angle, 180-angle)
}

// middle is the mean of points.
func middle(points []vector) vector {
	var sum vector
	for _, p := range points {
		sum = plus(sum, p)
	}
	return times(sum, 1/float64(max(len(points), 1)))
}
