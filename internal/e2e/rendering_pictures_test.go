package e2e

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// picture reads a job's PNG.
func (c *chemist) picture(jobID, name string) image.Image {
	c.t.Helper()
	shown, err := png.Decode(bytes.NewReader(output(c.t, c.api, jobID, name)))
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	return shown
}

// sized expects a picture of so many pixels.
func (c *chemist) sized(shown image.Image, width, height int) {
	c.t.Helper()
	if size := shown.Bounds().Size(); size != image.Pt(width, height) {
		c.t.Errorf("the picture has %v pixels, want %dx%d", size, width, height)
	}
}

// pixelAt is a pixel with straight alpha.
func pixelAt(shown image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(shown.At(x, y)).(color.NRGBA)
}

// share is the part of a picture's pixels that are as wanted.
func share(shown image.Image, wanted func(color.NRGBA) bool) float64 {
	found, size := 0, shown.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			if wanted(pixelAt(shown, x, y)) {
				found++
			}
		}
	}
	return float64(found) / float64(size.X*size.Y)
}

// solid tells a pixel of what is shown from one of a transparent background.
func solid(c color.NRGBA) bool { return c.A > math.MaxUint8/2 }

// overlap is how much two silhouettes of the same size have in common: their intersection over their union.
func overlap(one, other image.Image) float64 {
	both, either, size := 0, 0, one.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			first, second := solid(pixelAt(one, x, y)), solid(pixelAt(other, x, y))
			if first || second {
				either++
			}
			if first && second {
				both++
			}
		}
	}
	return float64(both) / float64(max(either, 1))
}

// cellPixels is the edge of the cells that pictures are compared by: edges and noise of single pixels are nothing that a reader
// sees.
const cellPixels = 4

// lab is a colour in CIELAB (CIE 15:2004, white point D65).
type lab struct{ l, a, b float64 }

// linear undoes the transfer function of sRGB (IEC 61966-2-1); the result is in [0, 1].
func linear(value uint8) float64 {
	v := float64(value) / math.MaxUint8
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func labOf(red, green, blue float64) lab {
	root := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := root((0.4124*red + 0.3576*green + 0.1805*blue) / 0.9505)
	y := root(0.2126*red + 0.7152*green + 0.0722*blue)
	z := root((0.0193*red + 0.1192*green + 0.9505*blue) / 1.089)
	return lab{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// cell is the mean colour of a square of a picture, in light.
func cell(shown image.Image, left, top int) lab {
	var red, green, blue float64
	for y := range cellPixels {
		for x := range cellPixels {
			c := pixelAt(shown, left+x, top+y)
			red, green, blue = red+linear(c.R), green+linear(c.G), blue+linear(c.B)
		}
	}
	const area = cellPixels * cellPixels
	return labOf(red/area, green/area, blue/area)
}

// distance is how differently two pictures of the same size look: the mean difference in CIELAB (CIE 1976) of their cells. A
// difference of 2.3 can just be noticed (Mahy et al. 1994); that of black and white is 100.
func distance(one, other image.Image) float64 {
	size, sum, cells := one.Bounds().Size(), 0.0, 0
	if other.Bounds().Size() != size {
		return math.Inf(1)
	}
	for y := 0; y+cellPixels <= size.Y; y += cellPixels {
		for x := 0; x+cellPixels <= size.X; x += cellPixels {
			a, b := cell(one, x, y), cell(other, x, y)
			sum += math.Sqrt((a.l-b.l)*(a.l-b.l) + (a.a-b.a)*(a.a-b.a) + (a.b-b.b)*(a.b-b.b))
			cells++
		}
	}
	return sum / float64(cells)
}

// maxDistance is less than can be seen, and more than other drivers and processors make of the same scene.
const maxDistance = 1.0

// checkGolden expects a picture to look like the one in testdata, which -update writes.
func checkGolden(t *testing.T, name string, shown image.Image) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if flag.Lookup("update").Value.String() == "true" {
		var content bytes.Buffer
		if err := png.Encode(&content, shown); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := distance(shown, golden(t, name))
	t.Logf("%s: distance %.2f", name, found)
	if found > maxDistance {
		t.Errorf("the picture looks other than %s: the distance is %.2f, want at most %.1f (go test -update rewrites it)", path,
			found, maxDistance)
	}
}

func golden(t *testing.T, name string) image.Image {
	t.Helper()
	shown, err := png.Decode(bytes.NewReader([]byte(readText(t, filepath.Join("testdata", name)))))
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// altered is a picture with another colour for each of its pixels.
type altered struct {
	image.Image
	at func(shown image.Image, x, y int) color.Color
}

func (a altered) At(x, y int) color.Color { return a.at(a.Image, x, y) }

// TestDistance: the measure takes changes that nobody sees for none, and sees those that everybody does.
func TestDistance(t *testing.T) {
	t.Parallel()
	shown := golden(t, goldenRaster)
	for _, test := range []struct {
		name   string
		change func(shown image.Image, x, y int) color.Color
		seen   bool
	}{
		{"itself", func(shown image.Image, x, y int) color.Color { return shown.At(x, y) }, false},
		{"a trace of noise", func(shown image.Image, x, y int) color.Color {
			c := pixelAt(shown, x, y)
			c.G ^= uint8((x + y) % 3)
			return c
		}, false},
		{"moved by a few pixels", func(shown image.Image, x, y int) color.Color { return shown.At(max(x-6, 0), y) }, true},
		{"from the other side", func(shown image.Image, x, y int) color.Color { return shown.At(shown.Bounds().Dx()-1-x, y) },
			true},
		{"red for blue", func(shown image.Image, x, y int) color.Color {
			c := pixelAt(shown, x, y)
			c.R, c.B = c.B, c.R
			return c
		}, true},
		{"blank", func(image.Image, int, int) color.Color { return color.White }, true},
	} {
		found := distance(shown, altered{shown, test.change})
		t.Logf("%s: %.2f", test.name, found)
		if (found > maxDistance) != test.seen {
			t.Errorf("%s: the distance is %.2f of at most %.1f, to be seen: %v", test.name, found, maxDistance, test.seen)
		}
	}
}
